//! Numbers of bytes and times in units that suit them.

use super::*;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("format_bytes", (1, 1), unit_text, |args, _, ctx| {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let bytes = known!(double(&args[0], ctx)?);
        if bytes.abs() < 1024.0 {
            return Ok(Val::string(format!("{:4} bytes", bytes as i64)));
        }
        let steps = UNITS
            .iter()
            .zip(1..)
            .map(|(unit, power)| (1024f64.powi(power), *unit));
        Ok(Val::string(in_unit(bytes, steps)))
    })
    .takes(&[ParamKind::Double]),
    def("format_pico_time", (1, 1), unit_text, |args, _, ctx| {
        let picoseconds = known!(double(&args[0], ctx)?);
        Ok(Val::string(pico_time(picoseconds)))
    })
    .takes(&[ParamKind::Double]),
];

/// So many picoseconds, as FORMAT_PICO_TIME() writes them.
fn pico_time(picoseconds: f64) -> String {
    const UNITS: [(f64, &str); 7] = [
        (1e3, "ns"),
        (1e6, "us"),
        (1e9, "ms"),
        (1e12, "s"),
        (60e12, "min"),
        (3_600e12, "h"),
        (86_400e12, "d"),
    ];
    if picoseconds.abs() < 1e3 {
        return format!("{:3} ps", picoseconds as i64);
    }
    in_unit(picoseconds, UNITS.into_iter())
}

fn unit_text(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    numbers(args);
    Ok(server_text(11, true, bind))
}

/// The amount in the greatest unit that is not greater than it.
fn in_unit(amount: f64, units: impl Iterator<Item = (f64, &'static str)>) -> String {
    let fitting = units.take_while(|(size, _)| *size <= amount.abs()).last();
    let (size, unit) = fitting.expect("the caller has looked at the smallest");
    let number = amount / size;
    if number.abs() < 100_000.0 {
        return format!("{number:.2} {unit}");
    }
    // As C writes an exponent: with its sign, and two digits.
    let written = format!("{number:.2e}");
    let (digits, exponent) = written.split_once('e').expect("it was asked for");
    format!("{digits}e+{exponent:0>2} {unit}")
}
