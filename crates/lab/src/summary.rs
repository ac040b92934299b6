//! Results as tables of text: a line for each cell, a column for each server, medians and their spread.

use crate::results::{self, Finding, Line};
use crate::stats::Sample;
use crate::table::Table;
use std::fmt::Write;

/// What is shown of an experiment's figures, where its cells have them.
pub(crate) const SHOWN: &[&str] = &[
    "tps",
    "p99_us",
    "deadlocks",
    "lock_wait_timeouts",
    "server_cpu_us",
    "client_cpu_us",
    "before_per_s",
    "first_ratio",
    "first_read_ms",
    "second_ratio",
    "second_read_ms",
    "reading_ratio",
    "history_max",
    "held_ratio",
    "read_ms",
];

/// All experiments at one scale.
pub fn text(lines: &[Line], experiments: &[&str], scale: &str) -> String {
    let lines = results::cells(lines);
    let mut out = String::new();
    for experiment in experiments {
        let table = Table::new(&lines, experiment, scale);
        if !table.cells.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "\n{experiment}");
            put_values(&table, &mut out);
            put_findings(&table, &mut out);
            put_errors(&table, &mut out);
        }
    }
    out
}

fn put_values(table: &Table<'_>, out: &mut String) {
    let there = table.names(|line| line.found.values.keys().map(String::as_str).collect());
    for value in SHOWN.iter().filter(|value| there.contains(value)) {
        let row = |cell: &str| {
            let figures = table
                .servers
                .iter()
                .map(|server| table.sample(cell, server, value));
            figures
                .map(|sample| sample.map_or("–".to_owned(), shown))
                .collect()
        };
        put_grid(value, table, row, out);
    }
}

fn put_findings(table: &Table<'_>, out: &mut String) {
    let names = table.names(|line| line.found.findings.keys().map(String::as_str).collect());
    // What happens nowhere and may happen nowhere needs no grid.
    let (quiet, loud): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| {
        let cells = table.cells.iter();
        let mut findings = cells.flat_map(|cell| {
            let of_server = |server: &&str| table.finding(cell, server, name);
            table.servers.iter().filter_map(of_server)
        });
        findings.all(|finding| !finding.possible && !finding.promised_possible)
    });
    for name in loud {
        let row = |cell: &str| {
            let findings = table
                .servers
                .iter()
                .map(|server| table.finding(cell, server, name));
            findings
                .map(|finding| finding.map_or("–", meaning).to_owned())
                .collect()
        };
        put_grid(name, table, row, out);
    }
    if !quiet.is_empty() {
        let _ = writeln!(out, "  prevented everywhere: {}", quiet.join("; "));
    }
}

fn put_errors(table: &Table<'_>, out: &mut String) {
    for cell in &table.cells {
        for server in &table.servers {
            if let Some(error) = table.error(cell, server) {
                let _ = writeln!(out, "  {cell}  {server}: could not be measured: {error}");
            }
        }
    }
}

/// What was found, beside what the documentation says where that differs. What may happen need not.
fn meaning(finding: Finding) -> &'static str {
    match (finding.possible, finding.promised_possible) {
        (true, true) => "possible",
        (false, false) => "prevented",
        (true, false) => "possible, AGAINST THE DOCUMENTATION",
        (false, true) => "prevented (need not be)",
    }
}

fn put_grid(name: &str, table: &Table<'_>, row: impl Fn(&str) -> Vec<String>, out: &mut String) {
    let rows: Vec<Vec<String>> = table.cells.iter().map(|cell| row(cell)).collect();
    let first = table
        .cells
        .iter()
        .map(|cell| cell.len())
        .chain([name.len()])
        .max()
        .unwrap_or(0);
    let widths: Vec<usize> = (0..table.servers.len())
        .map(|at| {
            let cells = rows.iter().map(|row| row[at].chars().count());
            cells.chain([table.servers[at].len()]).max().unwrap_or(0)
        })
        .collect();
    let mut line = |head: &str, values: &[&str]| {
        let _ = write!(out, "  {head:first$}");
        for (value, width) in values.iter().zip(&widths) {
            let _ = write!(out, "  {value:>width$}");
        }
        out.push('\n');
    };
    line(name, &table.servers);
    for (cell, row) in table.cells.iter().zip(&rows) {
        line(cell, &row.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// A median and its spread, where it was measured more than once.
fn shown(sample: Sample) -> String {
    match sample.len {
        1 => figure(sample.median),
        _ => format!("{} ±{:.0}%", figure(sample.median), sample.spread() * 100.0),
    }
}

/// Four digits, or all in front of the point.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1000.0.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        10.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::cell;

    #[test]
    fn medians_stand_beside_each_other() {
        let lines = [
            cell("a", 1, 90.0),
            cell("b", 1, 5000.0),
            cell("a", 2, 110.0),
            cell("a", 3, 100.0),
        ];
        let text = text(&lines, &["points", "others"], "quick");
        let expected =
            "\npoints\n  tps                          a     b\n  level=RC clients=1  100.0 ±10%  5000\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_the_documentation_rules_out_is_loud() {
        let of = |possible, promised_possible| {
            meaning(Finding {
                possible,
                promised_possible,
            })
        };
        assert!(of(true, false).contains("AGAINST"));
        assert_eq!(of(false, false), "prevented");
    }
}
