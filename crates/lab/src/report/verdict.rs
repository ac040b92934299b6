//! What an experiment says, in one sentence with a clause for each server: computed from the results, with figures and their spread.
//!
//! Two sets of repeats differ if [`Sample::change_to`] says so, the rule of `lab compare`; else the sentence says that the difference
//! is within the noise, however large it looks. A server without figures is no part of the sentence: its rows say why.

use crate::experiments::catalogue::find;
use crate::level::Level;
use crate::stats::Sample;
use crate::summary::figure;
use crate::table::{Table, part};
use std::fmt;

const TPS: &str = "transactions per second";

/// The sentence. Without clauses the lead is all that can be said.
pub(super) struct Verdict {
    pub(super) lead: &'static str,
    pub(super) clauses: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.clauses.is_empty() {
            true => write!(f, "{}.", self.lead),
            false => write!(f, "{}: {}.", self.lead, self.clauses.join("; ")),
        }
    }
}

/// The verdict on an experiment.
pub(super) fn verdict(experiment: &str, table: &Table<'_>) -> Verdict {
    let (lead, of): (&'static str, fn(&Table<'_>, &str) -> Option<String>) = match experiment {
        "clients-2010" | "clients-2017" => ("READ COMMITTED against REPEATABLE READ", by_clients),
        "three-points-79005" => ("READ COMMITTED against REPEATABLE READ", short_transactions),
        "ratio-2015" => (
            "The weaker levels against REPEATABLE READ where most transactions write",
            by_ratio,
        ),
        "open-writers" => (
            "Beside the most open transactions against beside none",
            open_writers,
        ),
        "tpcc-2015" => ("TPC-C against REPEATABLE READ", tpcc),
        "hot-row-2015" => ("While the second snapshot is held", hot_row),
        "queue" => ("While the snapshot is held", queue),
        "meaning" => ("Against the documentation", meaning),
        _ => ("Throughput", |_, _| None),
    };
    let clauses: Vec<String> = table
        .servers
        .iter()
        .filter_map(|server| Some(format!("on {server} {}", of(table, server)?)))
        .collect();
    let lead = match clauses.is_empty() {
        true if find(experiment).is_none() => "This version of the lab does not know the experiment",
        true => "No server was measured far enough for a verdict",
        false => lead,
    };
    Verdict { lead, clauses }
}

/// `98 % (1180 ±5 % against 1204 ±3 % tps, within the noise)`
fn against(new: &Sample, old: &Sample, unit: &str) -> String {
    let share = match old.median {
        0.0 => "–".to_owned(),
        median => format!("{:.0} %", new.median / median * 100.0),
    };
    let noise = match old.change_to(new) {
        Some(_) => "beyond the noise",
        None if new.len < 2 || old.len < 2 => "measured once",
        None => "within the noise",
    };
    format!(
        "{share} ({} against {} {unit}, {noise})",
        spread(new),
        spread(old)
    )
}

/// A median and its spread.
pub(super) fn spread(sample: &Sample) -> String {
    format!("{}{}", figure(sample.median), plus_minus(sample))
}

/// The spread behind a figure, where it was measured more than once.
fn plus_minus(sample: &Sample) -> String {
    match sample.len {
        1 => String::new(),
        _ => format!(" ±{:.0} %", sample.spread() * 100.0),
    }
}

/// The same cell at another level, or with another number.
fn with(cell: &str, name: &str, value: &str) -> String {
    let words = cell.split(' ').map(|word| match word.split_once('=') {
        Some((of, _)) if of == name => format!("{name}={value}"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The cells in which both were measured that differ by one part of the label, the first of them with the greatest number of `by`.
fn greatest<'a>(
    table: &Table<'a>,
    server: &str,
    by: &str,
    name: &str,
    values: [&str; 2],
) -> Option<(&'a str, Sample, Sample)> {
    let pairs = table
        .cells
        .iter()
        .filter(|cell| part(cell, name) == Some(values[0]))
        .filter_map(|cell| {
            let new = table.sample(cell, server, "tps")?;
            let old = table.sample(&with(cell, name, values[1]), server, "tps")?;
            Some((*cell, new, old))
        });
    pairs.max_by_key(|(cell, ..)| number(cell, by))
}

fn number(cell: &str, name: &str) -> u64 {
    part(cell, name).and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// The number of clients at which a level is fastest.
fn peak(table: &Table<'_>, server: &str, level: &str) -> Option<u64> {
    let of_level = table
        .cells
        .iter()
        .filter(|cell| part(cell, "level") == Some(level));
    let rated = of_level
        .filter_map(|cell| Some((table.sample(cell, server, "tps")?.median, number(cell, "clients"))));
    rated
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, clients)| clients)
}

fn by_clients(table: &Table<'_>, server: &str) -> Option<String> {
    let (cell, rc, rr) = greatest(table, server, "clients", "level", ["RC", "RR"])?;
    Some(format!(
        "{} with {} clients, RC fastest with {} and RR with {}",
        against(&rc, &rr, TPS),
        number(cell, "clients"),
        peak(table, server, "RC")?,
        peak(table, server, "RR")?
    ))
}

fn short_transactions(table: &Table<'_>, server: &str) -> Option<String> {
    let (cell, rc, rr) = greatest(table, server, "clients", "level", ["RC", "RR"])?;
    let wait = table
        .lines(cell, server)
        .iter()
        .find_map(|line| line.found.waits.first());
    let waits = match wait {
        Some(wait) => format!(
            "waiting longest for {} ({} times, {} µs each)",
            wait.event,
            wait.count,
            figure(wait.mean_us)
        ),
        None => "which counts no waits".to_owned(),
    };
    Some(format!(
        "{} with {} clients, {waits}",
        against(&rc, &rr, TPS),
        number(cell, "clients")
    ))
}

fn by_ratio(table: &Table<'_>, server: &str) -> Option<String> {
    let mut clauses = Vec::new();
    for (reads, name) in [("classic", "with ranges"), ("points", "with ten points")] {
        for level in ["RC", "RU"] {
            let of_reads = table
                .cells
                .iter()
                .filter(|cell| part(cell, "reads") == Some(reads) && part(cell, "level") == Some(level));
            let measured = of_reads.filter_map(|cell| {
                let new = table.sample(cell, server, "tps")?;
                let old = table.sample(&with(cell, "level", "RR"), server, "tps")?;
                Some((number(cell, "ratio"), new, old))
            });
            if let Some((_, new, old)) = measured.min_by_key(|(ratio, ..)| *ratio) {
                clauses.push(format!("{level} {name} {}", against(&new, &old, "tps")));
            }
        }
    }
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

fn open_writers(table: &Table<'_>, server: &str) -> Option<String> {
    let of = |level: &str| {
        let cells = table
            .cells
            .iter()
            .filter(|cell| part(cell, "level") == Some(level));
        let measured = cells.filter_map(|cell| {
            let new = table.sample(cell, server, "tps")?;
            let old = table.sample(&with(cell, "open", "0"), server, "tps")?;
            Some((number(cell, "open"), new, old))
        });
        let beside_some = measured.filter(|(open, ..)| *open > 0);
        let (open, new, old) = beside_some.max_by_key(|(open, ..)| *open)?;
        Some(format!("{level} {} beside {open}", against(&new, &old, "tps")))
    };
    let clauses: Vec<String> = ["RR", "RC"].into_iter().filter_map(of).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

/// Throughput of each level with the most clients; how many transactions were tried again; which conditions are broken.
fn tpcc(table: &Table<'_>, server: &str) -> Option<String> {
    let of_level = |level: Level| {
        let (cell, new, old) = greatest(table, server, "clients", "level", [level.short(), "RR"])?;
        let retried = table
            .sample(cell, server, "retried")
            .map_or(0.0, |retried| retried.median);
        Some((number(cell, "clients"), level.short(), new, old, retried))
    };
    let levels: Vec<_> = Level::ALL.into_iter().filter_map(of_level).collect();
    let clients = levels.first()?.0;
    let shares = levels
        .iter()
        .filter(|(_, level, ..)| *level != "RR")
        .map(|(_, level, new, old, _)| format!("{level} {}", against(new, old, TPS)));
    let retried = levels
        .iter()
        .map(|(_, level, .., retried)| format!("{level} {retried:.0}"));
    let (mut checked, mut broken) = (0, Vec::new());
    for cell in &table.cells {
        for name in findings(table) {
            if let Some(finding) = table.finding(cell, server, name) {
                checked += 1;
                if finding.possible {
                    broken.push(format!("{} at {}", name, part(cell, "level").unwrap_or(cell)));
                }
            }
        }
    }
    let consistency = match broken.is_empty() {
        true => format!("all {checked} consistency checks hold"),
        false => format!(
            "{} of {checked} consistency checks are broken ({})",
            broken.len(),
            broken.join(", ")
        ),
    };
    Some(format!(
        "with {clients} clients {}, transactions tried again {}, and {consistency}",
        shares.collect::<Vec<_>>().join(", "),
        retried.collect::<Vec<_>>().join(", ")
    ))
}

fn hot_row(table: &Table<'_>, server: &str) -> Option<String> {
    of_cells(table, |cell| {
        let before = table.sample(cell, server, "before_per_s")?;
        let held = table.sample(cell, server, "second_held_per_s")?;
        let read = table.sample(cell, server, "second_read_ms")?;
        let reading = table.sample(cell, server, "reading_per_s");
        let beside = reading.map(|reading| {
            format!(
                "; while it is read over and over {}",
                against(&reading, &before, "updates per second")
            )
        });
        Some(format!(
            "{}, and a read of the row in the snapshot takes {} ms{}, with {cell}{}",
            against(&held, &before, "updates per second"),
            figure(read.median),
            plus_minus(&read),
            beside.unwrap_or_default()
        ))
    })
}

fn queue(table: &Table<'_>, server: &str) -> Option<String> {
    of_cells(table, |cell| {
        let before = table.sample(cell, server, "before_per_s")?;
        let held = table.sample(cell, server, "held_per_s")?;
        Some(format!(
            "{} with {cell}",
            against(&held, &before, "messages taken per second")
        ))
    })
}

fn of_cells<'a>(table: &Table<'a>, of: impl Fn(&'a str) -> Option<String>) -> Option<String> {
    let clauses: Vec<String> = table.cells.iter().filter_map(|cell| of(cell)).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

fn meaning(table: &Table<'_>, server: &str) -> Option<String> {
    let (mut tried, mut against) = (0, Vec::new());
    for cell in &table.cells {
        for name in findings(table) {
            if let Some(finding) = table.finding(cell, server, name) {
                tried += 1;
                if finding.possible && !finding.promised_possible {
                    against.push(format!("{name} at {}", part(cell, "level").unwrap_or(cell)));
                }
            }
        }
    }
    match (tried, against.is_empty()) {
        (0, _) => None,
        (_, true) => Some(format!(
            "none of {tried} anomalies tried happens where the documentation rules it out"
        )),
        (_, false) => Some(format!(
            "{} of {tried} anomalies tried: {}",
            against.len(),
            against.join(", ")
        )),
    }
}

/// The anomalies that were tried.
pub(super) fn findings<'a>(table: &Table<'a>) -> Vec<&'a str> {
    table.names(|line| line.found.findings.keys().map(String::as_str).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{line, lines, timeline};
    use crate::results::{self, Found, Line};

    fn of(lines: &[Line], experiment: &str) -> String {
        let lines = results::cells(lines);
        verdict(experiment, &Table::new(&lines, experiment, "quick")).to_string()
    }

    #[test]
    fn the_figures_are_those_of_the_results() {
        assert_eq!(
            of(&lines(), "clients-2017"),
            "READ COMMITTED against REPEATABLE READ: on one 50 % (500.0 ±2 % against 1000 ±1 % transactions per second, beyond the noise) with 16 \
             clients, RC fastest with 16 and RR with 16; on two 100 % (1000 ±1 % against 1000 ±1 % transactions per second, within the noise) with \
             16 clients, RC fastest with 1 and RR with 1."
        );
        let hot = of(&[timeline()], "hot-row-2015");
        assert!(
            hot.contains("on one 40 % (400.0 against 1000 updates per second, measured once)"),
            "{hot}"
        );
    }

    /// A server that takes no 500 connections is judged by those that it takes.
    #[test]
    fn cells_that_could_not_be_measured_are_no_part_of_it() {
        let lines = |experiment: &str, cells: &[(&str, Option<f64>)]| -> Vec<Line> {
            cells
                .iter()
                .map(|(cell, tps)| {
                    let mut found = Found::default();
                    match tps {
                        Some(tps) => drop(found.values.insert("tps".to_owned(), *tps)),
                        None => found.error = Some("too many connections".to_owned()),
                    }
                    line(experiment, cell, "one", 1, found)
                })
                .collect()
        };
        let open = lines(
            "open-writers",
            &[
                ("open=0 clients=8 level=RC", Some(100.0)),
                ("open=100 clients=8 level=RC", Some(80.0)),
                ("open=500 clients=8 level=RC", None),
            ],
        );
        assert_eq!(
            of(&open, "open-writers"),
            "Beside the most open transactions against beside none: on one RC 80 % (80.00 against 100.0 tps, measured once) beside 100."
        );
        assert!(of(&open[..1], "open-writers").starts_with("No server was measured"));
        let ratio = lines(
            "ratio-2015",
            &[
                ("reads=classic ratio=4 clients=16 level=RR", Some(100.0)),
                ("reads=classic ratio=4 clients=16 level=RC", Some(90.0)),
                ("reads=classic ratio=1 clients=16 level=RR", Some(100.0)),
                ("reads=classic ratio=1 clients=16 level=RC", None),
            ],
        );
        assert!(of(&ratio, "ratio-2015").contains("RC with ranges 90 %"));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert!(of(&[], "clients-2017").starts_with("No server was measured"));
        assert!(of(&[], "tea").contains("does not know"));
    }
}
