//! What has changed between two files of results, beyond the noise that each shows.
//!
//! Compared are cells of the same experiment, scale and server. A level that lets something else happen than before has
//! changed, however often it was tried, and so has a cell that could be measured in one file only. Figures that were measured once have
//! no noise to go by; their cells are counted.

use crate::results::{self, CellLine, Line};
use crate::summary::figure;
use crate::table::Table;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Figures of which a change matters; the others follow from them or are too rough.
const COMPARED: &[&str] = &[
    "tps",
    "p50_us",
    "p99_us",
    "server_cpu_us",
    "before_per_s",
    "first_ratio",
    "second_ratio",
    "second_read_ms",
    "reading_ratio",
    "held_ratio",
    "read_ms",
];

/// The changes as text.
pub fn text(old: &[Line], new: &[Line]) -> String {
    let (old, new) = (results::cells(old), results::cells(new));
    let mut out = String::new();
    let (mut compared, mut once) = (0, 0);
    for (experiment, scale) in both(&old, &new) {
        let before = Table::new(&old, experiment, scale);
        let after = Table::new(&new, experiment, scale);
        for cell in &after.cells {
            for server in &after.servers {
                let name = format!("{experiment}  {cell}  {server}");
                match (before.measured(cell, server), after.measured(cell, server)) {
                    (0, 0) => continue,
                    (0, _) if before.error(cell, server).is_none() => continue,
                    (0, _) => {
                        compared += 1;
                        let _ = writeln!(out, "{name}  could not be measured → measured");
                        continue;
                    }
                    (_, 0) => {
                        // The table has a cell's lines, and none of these is without an error.
                        let Some(why) = after.error(cell, server) else {
                            continue;
                        };
                        compared += 1;
                        let _ = writeln!(out, "{name}  measured → could not be measured: {why}");
                        continue;
                    }
                    (old, new) => once += usize::from(old == 1 || new == 1),
                }
                compared += 1;
                put_values(&before, &after, cell, server, &name, &mut out);
                put_findings(&before, &after, cell, server, &name, &mut out);
            }
        }
    }
    if compared == 0 {
        return "The two have no cell of the same experiment, scale and server that was measured.\n"
            .to_owned();
    }
    if out.is_empty() {
        let _ = writeln!(out, "Nothing has changed beyond the noise, in {compared} cells.");
    } else {
        let _ = writeln!(out, "\n{compared} cells were compared.");
    }
    if once > 0 {
        let _ = writeln!(
            out,
            "{once} of them were measured once only, so that their figures have no noise to go by."
        );
    }
    out
}

/// Experiments and scales that are in both.
fn both<'a>(old: &[&'a CellLine], new: &[&'a CellLine]) -> BTreeSet<(&'a str, &'a str)> {
    let of = |lines: &[&'a CellLine]| -> BTreeSet<(&'a str, &'a str)> {
        lines
            .iter()
            .map(|line| (line.key.experiment.as_str(), line.key.scale.as_str()))
            .collect()
    };
    of(old).intersection(&of(new)).copied().collect()
}

fn put_values(before: &Table<'_>, after: &Table<'_>, cell: &str, server: &str, name: &str, out: &mut String) {
    for value in COMPARED {
        let samples = (
            before.sample(cell, server, value),
            after.sample(cell, server, value),
        );
        if let (Some(old), Some(new)) = samples
            && let Some(change) = old.change_to(&new)
        {
            let _ = writeln!(
                out,
                "{name}  {value}  {} → {}  {:+.1}%",
                figure(old.median),
                figure(new.median),
                change * 100.0
            );
        }
    }
}

fn put_findings(
    before: &Table<'_>,
    after: &Table<'_>,
    cell: &str,
    server: &str,
    name: &str,
    out: &mut String,
) {
    let names: BTreeSet<&String> = after
        .lines(cell, server)
        .iter()
        .flat_map(|line| line.found.findings.keys())
        .collect();
    for anomaly in names {
        let found = (
            before.finding(cell, server, anomaly),
            after.finding(cell, server, anomaly),
        );
        if let (Some(old), Some(new)) = found
            && old.possible != new.possible
        {
            let word = |possible| if possible { "possible" } else { "prevented" };
            let _ = writeln!(
                out,
                "{name}  {anomaly}  {} → {}",
                word(old.possible),
                word(new.possible)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{cell, failed};

    #[test]
    fn only_what_is_beyond_the_noise_is_told() {
        let set = |server: &str, values: [f64; 3]| -> Vec<Line> {
            values
                .iter()
                .zip(1..)
                .map(|(tps, repeat)| cell(server, repeat, *tps))
                .collect()
        };
        let old = [set("a", [100.0, 101.0, 102.0]), set("b", [50.0, 51.0, 52.0])].concat();
        let new = [set("a", [101.0, 102.0, 103.0]), set("b", [70.0, 71.0, 72.0])].concat();
        let told = text(&old, &new);
        assert_eq!(
            told,
            "points  level=RC clients=1  b  tps  51.00 → 71.00  +39.2%\n\n2 cells were compared.\n"
        );
        assert_eq!(
            text(&old, &old),
            "Nothing has changed beyond the noise, in 2 cells.\n"
        );
        let once = text(&old[..1], &new[..1]);
        assert!(
            once.ends_with(
                "1 of them were measured once only, so that their figures have no noise to go by.\n"
            )
        );
        assert!(text(&old, &set("c", [1.0; 3])).starts_with("The two have no cell"));
    }

    #[test]
    fn a_server_that_has_died_since_is_a_change() {
        let (good, bad) = (cell("a", 1, 100.0), failed(&cell("a", 1, 100.0)));
        let cells = ([good], [bad]);
        assert_eq!(
            text(&cells.0, &cells.1),
            "points  level=RC clients=1  a  measured → could not be measured: gone\n\n1 cells were compared.\n"
        );
        assert_eq!(
            text(&cells.1, &cells.0),
            "points  level=RC clients=1  a  could not be measured → measured\n\n1 cells were compared.\n"
        );
        assert!(text(&cells.1, &cells.1).starts_with("The two have no cell"));
    }
}
