//! The simulator's page: plots, the checks, and every assumption.

use super::curves::{CLIENTS_2010, CLIENTS_2017, CORES, Check, Pair, Simulated, TOLERANCE};
use super::figures::Figures;
use super::hardware;
use crate::failure::Failure;
use crate::report::chart::{Below, Chart, Curve, Point};
use crate::report::html::{escape, said, table};
use crate::report::{PAGE, alone, document};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const SHARE: &str = "RC ÷ RR";
const TPS: &str = "transactions per second";

pub(super) fn write(figures: &Figures, simulated: &Simulated, dir: &Path) -> Result<PathBuf, Failure> {
    let named = |path: &Path, e: std::io::Error| Failure::because(format!("{}: {e}", path.display()));
    fs::create_dir_all(dir).map_err(|e| named(dir, e))?;
    let mut plots = String::new();
    for (at, (chart, caption)) in charts(simulated).into_iter().enumerate() {
        let svg = chart.svg().map_err(Failure::Because)?;
        let path = dir.join(format!("simulated-{}.svg", at + 1));
        fs::write(&path, alone(&svg)).map_err(|e| named(&path, e))?;
        let _ = writeln!(
            plots,
            "<figure>{svg}<figcaption>{}</figcaption></figure>",
            escape(caption)
        );
    }
    let path = dir.join(PAGE);
    let page = document(
        "Isolation lab: simulated cores",
        &body(figures, simulated, &plots),
    );
    fs::write(&path, page).map_err(|e| named(&path, e))?;
    Ok(path)
}

fn body(figures: &Figures, simulated: &Simulated, plots: &str) -> String {
    let mut out = said(
        "Question:",
        "How does READ COMMITTED scale against REPEATABLE READ on more cores than there are here, by the way in which views are made?",
    );
    let _ = writeln!(out, "<p class=\"verdict\">{}</p>", escape(&verdict(simulated)));
    let _ = writeln!(out, "<div class=\"plots\">\n{plots}</div>");
    out.push_str("<h2>What is assumed</h2>\n<ul>\n");
    for line in assumptions(figures) {
        let _ = writeln!(out, "<li>{}</li>", escape(&line));
    }
    out.push_str("</ul>\n<h2>Checks</h2>\n");
    let rows = |checks: &[Check]| -> Vec<Vec<String>> {
        checks
            .iter()
            .map(|check| {
                vec![
                    check.what.clone(),
                    check.known_text(),
                    format!("{:.2}", check.simulated),
                ]
            })
            .collect()
    };
    out.push_str(&table(
        "RC ÷ RR, published and simulated",
        &["study", "published", "simulated"],
        &rows(&simulated.studies),
    ));
    out.push_str(&table(
        "RC ÷ RR on the cores that there are, measured and simulated",
        &["exhibit", "measured", "simulated"],
        &rows(&simulated.here),
    ));
    out.push_str(&table(
        "Service times, from results of the lab",
        &[
            "exhibit",
            "a view, ns",
            "… for each open transaction, ns",
            "server and client, µs: clients-2010",
            "clients-2017",
            "open-writers",
        ],
        &services(figures),
    ));
    out
}

fn verdict(simulated: &Simulated) -> String {
    let (inside, all) = (
        simulated
            .studies
            .iter()
            .filter(|check| check.distance() <= TOLERANCE)
            .count(),
        simulated.studies.len(),
    );
    let farthest = simulated.studies.iter().map(Check::distance).fold(0.0, f64::max);
    let of_here = simulated.here.iter().map(Check::distance).fold(0.0, f64::max);
    format!(
        "{inside} of {all} ratios of the studies are met within {TOLERANCE}, the farthest is off by {farthest:.2}; on the cores that there are the {} ratios \
         that were measured are met within {of_here:.2}.",
        simulated.here.len()
    )
}

fn services(figures: &Figures) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (name, of) in &figures.exhibits {
        let Ok(price) = figures.price(name) else {
            continue;
        };
        let demand = |experiment: &str| {
            of.demands.get(experiment).map_or_else(
                || "–".to_owned(),
                |demand| format!("{:.0} + {:.0}", demand.server_us, demand.client_us),
            )
        };
        rows.push(vec![
            name.clone(),
            format!("{:.0} + {:.0}", price.outside_ns, price.view_ns),
            format!("{:.2}", price.entry_ns),
            demand("clients-2010"),
            demand("clients-2017"),
            demand("open-writers"),
        ]);
    }
    rows
}

fn assumptions(figures: &Figures) -> Vec<String> {
    vec![
        format!(
            "Measured here ({}), processor time per transaction of server and client, by the lab's experiments on the museum's exhibits, the least of the repeats; the price of a \
             view by the number of open transactions, by the engine's benchmark (a line of least squares, less the tide's); a cache line between two cores, {:.0} ns; waking a thread, {:.1} µs.",
            figures.machine,
            figures.line_ns,
            figures.switch_ns / 1e3
        ),
        format!(
            "Larger machines: a line that another core has modified takes {:.0} ns within a socket and {:.0} ns from another (109 and 289 cycles at 2.13 GHz: David, Guerraoui, \
             Trigonakis, SOSP 2013), on the machine of 2010, too. Sockets have 18 cores; 4 on the machine of 2010.",
            hardware::NEAR_NS,
            hardware::FAR_NS
        ),
        "Lines that move with the latch: two as built here (its word, the list's head). In MySQL 5.7 five: its views are a list, of which an entry and a leave write two neighbours, \
         and a view reads the oldest transaction that is being numbered; and RC goes through the mutex a second time when a view is closed. Of its sources, not of a curve."
            .to_owned(),
        "The list: dense as built here and in 5.7 (eight entries a line, ten misses at once: the line fill buffers of a core). In MySQL 5.0 a struct for each transaction, also for one \
         that only reads: a miss each, one after the other."
            .to_owned(),
        format!(
            "Whoever finds the latch taken spins for {:.0} µs (this engine: 3 µs) and then sleeps; {:.0} µs is what InnoDB's defaults come to. On release the latch's line comes back from those that look at it, and the one that spins takes over. This engine wakes one of those \
             that sleep if nobody spins, InnoDB's mutexes wake all of them in any case (MySQL's bug #52806, reported by the author of the study of 2010; the mutexes that 5.7 is built with by default, too), who take cores to find the latch taken. Meanwhile the latch is free for others.",
            hardware::SPIN_OF_INNODB_NS / 1e3,
            hardware::SPIN_OF_INNODB_NS / 1e3
        ),
        "2010: processor time per transaction is what the study's best rate at RR says (8 cores ÷ 1,137 per second), clients on the same cores. Its curve at RC is the test."
            .to_owned(),
        format!(
            "2017: 72 cores in four sockets with two threads each, which together do {} of what one does alone (OLTP: Marr et al., Intel Technology Journal, 2002); processor \
             time is this engine's, since that study's is not known; clients on the same cores.",
            hardware::BOTH_THREADS
        ),
        "Over cores: four clients a core, clients-2017's transactions, clients on the same cores.".to_owned(),
        "Times on a core are exponentially distributed; no core is faster alone than beside others.".to_owned(),
        "Not in it: row locks, the log and its disk, other latches and their lines, the memory's bandwidth, what many threads that spin do to the line they look at, the scheduler's \
         mistakes. A rate over cores is therefore an upper bound; ratios of RC to RR are what it is for. A shared latch (procarray) has its word move and no writer waits for readers."
            .to_owned(),
    ]
}

fn names(numbers: &[usize]) -> Below {
    Below::Names(numbers.iter().map(usize::to_string).collect())
}

fn curve(name: &str, kind: usize, values: impl Iterator<Item = f64>) -> Curve {
    Curve {
        name: name.to_owned(),
        kind,
        points: (0..)
            .zip(values)
            .map(|(x, y)| Point {
                x: f64::from(x),
                y,
                range: None,
            })
            .collect(),
    }
}

fn ratios(name: &str, kind: usize, pairs: &[Pair]) -> Curve {
    curve(name, kind, pairs.iter().map(|pair| pair.ratio()))
}

fn charts(simulated: &Simulated) -> Vec<(Chart, &'static str)> {
    let chart = |title: &str, below, below_label, left_label, curves| Chart {
        title: title.to_owned(),
        below,
        below_label,
        left_label,
        curves,
        bands: Vec::new(),
    };
    let (then, now) = (&simulated.published_2010, &simulated.of_2010);
    let over_cores = |of: fn(&Pair) -> f64| {
        let exhibits = simulated.exhibits.iter().enumerate();
        exhibits
            .map(|(kind, (name, pairs))| curve(name, kind, pairs.iter().map(of)))
            .collect::<Vec<_>>()
    };
    vec![
        (
            chart(
                "2010: 8 cores, MySQL 5.0",
                names(&CLIENTS_2010),
                "clients",
                TPS,
                vec![
                    curve("RR, literature", 0, then.iter().map(|pair| pair.rr)),
                    curve("RC, literature", 1, then.iter().map(|pair| pair.rc)),
                    curve("RR, simulated", 2, now.iter().map(|pair| pair.rr)),
                    curve("RC, simulated", 3, now.iter().map(|pair| pair.rc)),
                ],
            ),
            "Callaghan, 2010 (literature), and the simulator; its level at RR is the study's, the rest is not",
        ),
        (
            chart(
                "2010: RC ÷ RR on 8 cores",
                names(&CLIENTS_2010),
                "clients",
                SHARE,
                vec![
                    ratios("literature", 0, then),
                    ratios("MySQL 5.0, simulated", 1, now),
                    ratios("tide, simulated", 2, &simulated.tide_2010),
                ],
            ),
            "The same as ratios, and the tide's",
        ),
        (
            chart(
                "2017: RC ÷ RR on 72 cores",
                names(&CLIENTS_2017),
                "clients",
                SHARE,
                vec![
                    ratios("MySQL 5.7, simulated", 1, &simulated.of_2017),
                    ratios("tide, simulated", 2, &simulated.tide_2017),
                    curve("about a third, literature", 0, CLIENTS_2017.iter().map(|_| 0.33)),
                ],
            ),
            "Tkachenko, 2017: with many clients RC stayed at a third of RR",
        ),
        (
            chart(
                "RC, each exhibit",
                names(&CORES),
                "cores",
                TPS,
                over_cores(|pair| pair.rc),
            ),
            "Each exhibit of the museum as it is built here, at READ COMMITTED: what the latch leaves of the cores",
        ),
        (
            chart(
                "RC ÷ RR, each exhibit",
                names(&CORES),
                "cores",
                SHARE,
                over_cores(|pair| pair.ratio()),
            ),
            "The same against REPEATABLE READ",
        ),
    ]
}
