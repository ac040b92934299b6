//! Values at the ends of their ranges and beyond, as arguments of everything: whatever the result, nothing panics.

use super::*;

const NASTY: &[&str] = &[
    "NULL",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "-0.5e-300",
    "99999999999999999999999999999999999999999999999999999999999999999",
    "0.000000000000000000000000000001",
    "''",
    "'abc'",
    "'ä€😀'",
    "'1e-2147483648'",
    "x'FF00C3'",
    "'9999-12-31 23:59:59.999999'",
    "DATE '0001-01-01'",
    "TIME '-838:59:59'",
    "'[1, {\"a\": null}]'",
    "'$.a[*]'",
];

#[test]
fn no_argument_makes_a_function_panic() {
    let zone = TimeZone::UTC;
    let session = TestSession::default();
    let scope = Scope::default();
    let values: Vec<Expr> = NASTY
        .iter()
        .map(|e| bind(e, &scope, &session, SqlMode::DEFAULT).expect("a value"))
        .collect();
    let ctx = BindCtx::default();
    let mut calls = 0;
    for name in crate::func::names().filter(|n| !matches!(*n, "sleep" | "benchmark")) {
        for arity in 0..=3u32 {
            for at in 0..values.len().pow(arity) {
                // Of three arguments, a seventh of the combinations.
                if arity == 3 && at % 7 != 0 {
                    continue;
                }
                let mut rest = at;
                let mut args = Vec::new();
                for _ in 0..arity {
                    args.push(values[rest % values.len()].clone());
                    rest /= values.len();
                }
                let Ok(call) = crate::call(name, args, &ctx) else {
                    continue;
                };
                let warnings = Warnings::default();
                let mut env = Env::new(&session, &NoSubqueries, &warnings, &zone);
                env.max_allowed_packet = 4096;
                calls += call.eval_owned(&env.ctx()).is_ok() as usize;
            }
        }
    }
    assert!(calls > 10_000, "{calls}");
}

#[test]
fn no_operand_makes_an_operator_panic() {
    let operators = [
        "+", "-", "*", "/", "DIV", "%", "&", "|", "^", "<<", ">>", "=", "<", "<=>", "LIKE", "REGEXP", "AND",
        "XOR",
    ];
    let units = [
        "MICROSECOND",
        "SECOND",
        "DAY",
        "WEEK",
        "MONTH",
        "YEAR",
        "DAY_MICROSECOND",
        "YEAR_MONTH",
    ];
    for a in NASTY {
        for b in NASTY {
            for op in operators {
                answer(&format!("({a}) {op} ({b})"), &Scope::default(), &NoRow);
            }
            for unit in units {
                answer(
                    &format!("DATE_ADD({a}, INTERVAL ({b}) {unit})"),
                    &Scope::default(),
                    &NoRow,
                );
                answer(&format!("EXTRACT({unit} FROM ({a}))"), &Scope::default(), &NoRow);
            }
            answer(&format!("({a}) BETWEEN ({b}) AND 5"), &Scope::default(), &NoRow);
            answer(&format!("-({a}) IN (1, ({b}))"), &Scope::default(), &NoRow);
        }
    }
}

#[test]
fn no_value_makes_a_conversion_panic() {
    let casts = [
        "SIGNED",
        "UNSIGNED",
        "CHAR(2)",
        "BINARY(3)",
        "DECIMAL(65,30)",
        "DECIMAL(1)",
        "DOUBLE",
        "FLOAT",
        "DATE",
        "DATETIME(6)",
        "TIME(3)",
        "YEAR",
        "JSON",
    ];
    let columns = [
        "tinyint",
        "bigint unsigned",
        "float",
        "double",
        "float(5,2)",
        "decimal(65,30)",
        "decimal(30,30)",
        "char(2)",
        "varchar(2) character set latin1",
        "tinytext",
        "binary(4)",
        "blob",
        "date",
        "time(6)",
        "datetime(6)",
        "timestamp",
        "year",
        "enum('a','b')",
        "set('a','b')",
        "bit(64)",
        "bit(1)",
        "json",
    ];
    for value in NASTY {
        for ty in casts {
            answer(&format!("CAST({value} AS {ty})"), &Scope::default(), &NoRow);
        }
        for ty in columns {
            let ty = type_named(ty);
            for mode in [SqlMode::DEFAULT, SqlMode(0)] {
                with_env(mode, |env, session| {
                    stored(value, &ty, env, session).map(|_| String::new())
                });
            }
        }
    }
}
