//! Runs experiments: every cell, several times, on all servers in turn.
//!
//! ```text
//!  for each experiment, for each cell
//!     for each repeat
//!        for each server             the first of one repeat is the last of the next
//!           measured already? else measure it, and add a line to the results
//! ```
//!
//! A machine gets faster and slower while a run goes on, by more than servers or levels may differ. Servers that take turns within
//! minutes see the same of it. What goes wrong on a server is a line of the results like any other.

use crate::experiments::{Cell, Experiment, Scale};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::results::{CellLine, Found, Key, Line, Results, ServerLine};
use crate::server::Contender;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is to be run.
pub struct Plan {
    /// Which, in this order.
    pub experiments: Vec<&'static Experiment>,
    /// Where.
    pub contenders: Vec<Contender>,
    /// How large and how long.
    pub scale: Scale,
}

/// One measurement that is missing.
struct Step {
    key: Key,
    cell: Cell,
    /// Its place among the contenders.
    contender: usize,
}

/// Runs what the results lack. Fails if none of it could be measured.
pub fn run(mut plan: Plan, results: &mut Results, interrupt: &Interrupt) -> Result<(), Failure> {
    for line in left_out(&plan) {
        println!("{line}");
    }
    let steps = steps(&plan, results);
    let total: Duration = steps.iter().map(|step| step.cell.expected(&plan.scale)).sum();
    if steps.is_empty() {
        println!("All of it is in the results.");
        return Ok(());
    }
    println!(
        "{} measurements to do, about {} and what tables take.",
        steps.len(),
        minutes(total)
    );
    introduce(&mut plan, results)?;
    // It is drawn from here on, so what is said before has lines of its own.
    let bar = progress_bar(total);
    let (count, mut failed) = (steps.len(), 0);
    for step in steps {
        interrupt.check()?;
        let Key {
            experiment,
            cell,
            server,
            ..
        } = &step.key;
        bar.set_message(format!("{experiment} {cell} {server}"));
        let measured = plan.contenders[step.contender]
            .server()
            .and_then(|server| step.cell.measure(&server, &plan.scale, interrupt));
        let found = match measured {
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(Failure::Because(why)) => {
                // A server that goes down by the same Ctrl-C has not failed.
                interrupt.check()?;
                failed += 1;
                Found {
                    error: Some(why),
                    ..Found::default()
                }
            }
            Ok(found) => found,
        };
        bar.suspend(|| println!("{}", told(&step.key, &found)));
        results.add(Line::Cell(CellLine {
            key: step.key,
            at_unix_s: now(),
            found,
        }))?;
        bar.inc(step.cell.expected(&plan.scale).as_millis() as u64);
    }
    bar.finish_and_clear();
    match failed == count {
        true => Err(Failure::Because(format!(
            "none of {count} measurements could be made"
        ))),
        false => Ok(()),
    }
}

/// The cells that can be measured.
fn cells(experiment: &Experiment, scale: &Scale) -> impl Iterator<Item = Cell> {
    let cells = (experiment.cells)(scale).into_iter();
    cells.filter(|cell| cell.cannot(scale).is_none())
}

/// A line for each reason for which cells of an experiment are left out.
fn left_out(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for experiment in &plan.experiments {
        let cells = (experiment.cells)(&plan.scale);
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for why in cells.iter().filter_map(|cell| cell.cannot(&plan.scale)) {
            *reasons.entry(why).or_default() += 1;
        }
        lines.extend(reasons.into_iter().map(|(why, count)| {
            format!(
                "{}: {count} of {} cells cannot be measured with sysbench: {why}.",
                experiment.name,
                cells.len()
            )
        }));
    }
    lines
}

fn steps(plan: &Plan, results: &Results) -> Vec<Step> {
    let scale = plan.scale.to_string();
    let servers = plan.contenders.len();
    let mut steps = Vec::new();
    for experiment in &plan.experiments {
        for cell in cells(experiment, &plan.scale) {
            for repeat in 1..=plan.scale.repeats {
                for turn in 0..servers {
                    let contender = (turn + repeat as usize - 1) % servers;
                    let key = Key {
                        experiment: experiment.name.to_owned(),
                        cell: cell.label.clone(),
                        server: plan.contenders[contender].name.clone(),
                        scale: scale.clone(),
                        repeat,
                    };
                    if !results.has(&key) {
                        steps.push(Step {
                            key,
                            cell: cell.clone(),
                            contender,
                        });
                    }
                }
            }
        }
    }
    steps
}

/// A line for each server that can be reached. One that cannot has its errors in the cells.
fn introduce(plan: &mut Plan, results: &mut Results) -> Result<(), Failure> {
    for contender in &mut plan.contenders {
        if let Ok(settings) = contender.server().and_then(|server| server.settings()) {
            results.add(Line::Server(ServerLine {
                name: contender.name.clone(),
                settings,
                cpus: std::thread::available_parallelism().map_or(0, usize::from),
                cpu_model: cpu_model().unwrap_or_default(),
                memory_mib: memory_mib().unwrap_or_default(),
                kernel: kernel(),
                at_unix_s: now(),
            }))?;
        }
    }
    Ok(())
}

fn told(key: &Key, found: &Found) -> String {
    let Key {
        experiment,
        cell,
        server,
        repeat,
        ..
    } = key;
    let what = match found {
        Found {
            error: Some(error), ..
        } => format!("could not be measured: {error}"),
        Found { findings, values, .. } => {
            let shown = [
                "tps",
                "p99_us",
                "server_cpu_us",
                "before_per_s",
                "first_ratio",
                "reading_ratio",
                "held_ratio",
            ]
            .iter()
            .filter_map(|name| Some(format!("{name} {}", crate::summary::figure(*values.get(*name)?))));
            let happened: Vec<&str> = findings
                .iter()
                .filter(|(_, finding)| finding.possible)
                .map(|(name, _)| name.as_str())
                .collect();
            let anomalies = (!findings.is_empty()).then(|| match happened.is_empty() {
                true => format!("none of {} anomalies has happened", findings.len()),
                false => format!(
                    "{} of {} anomalies have happened: {}",
                    happened.len(),
                    findings.len(),
                    happened.join("; ")
                ),
            });
            shown.chain(anomalies).collect::<Vec<_>>().join("  ")
        }
    };
    format!("{experiment}  {cell}  {server} #{repeat}  {what}")
}

/// It shows where a terminal is, and nowhere else.
fn progress_bar(total: Duration) -> ProgressBar {
    let bar = ProgressBar::new(total.as_millis() as u64);
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent:>3}%  {left} left  {msg}") {
        let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // Writing to what is a text cannot fail.
            let _ = write!(
                out,
                "{:#}",
                HumanDuration(left(state.pos(), state.len(), state.eta()))
            );
        };
        bar.set_style(style.progress_chars("=> ").with_key("left", left));
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// The time left: by what has been done so far, and before anything is done by what all of it should take, milliseconds.
fn left(done: u64, all: Option<u64>, by_done: Duration) -> Duration {
    match done {
        0 => Duration::from_millis(all.unwrap_or_default()),
        _ => by_done,
    }
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory_mib() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? / 1024)
}

fn kernel() -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    format!("{} {}", read("ostype").trim(), read("osrelease").trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::url::Url;
    use crate::experiments::catalogue::find;
    use crate::load::Generator;

    fn plan() -> Plan {
        let server = |name: &str| {
            let url = Url::parse("mysql://127.0.0.1:1").unwrap();
            Contender::given(name.to_owned(), url)
        };
        Plan {
            experiments: vec![find("meaning").unwrap()],
            contenders: vec![server("a"), server("b")],
            scale: Scale {
                repeats: 2,
                ..Scale::quick()
            },
        }
    }

    #[test]
    fn the_time_left_is_known_before_anything_is_done() {
        let (none, two) = (Duration::ZERO, Duration::from_secs(2));
        assert_eq!(left(0, Some(16_000), none), Duration::from_secs(16));
        assert_eq!(left(4_000, Some(16_000), two), two);
    }

    #[test]
    fn what_sysbench_cannot_do_is_left_out() {
        let mut plan = plan();
        assert_eq!(left_out(&plan), Vec::<String>::new());
        plan.scale.generator = Generator::Sysbench;
        let ratio = find("ratio-2015").unwrap();
        plan.experiments = vec![find("clients-2017").unwrap(), ratio, find("meaning").unwrap()];
        let lines = left_out(&plan);
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("ratio-2015: 12 of 18 cells cannot"),
            "{lines:?}"
        );
        assert!(cells(ratio, &plan.scale).all(|cell| cell.label.contains("ratio=1 ")));
        assert_eq!(cells(plan.experiments[0], &plan.scale).count(), 6);
    }

    #[test]
    fn servers_take_turns_and_a_server_that_is_away_is_a_result() {
        let path = std::env::temp_dir().join(format!("lab-run-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let mut results = Results::open(&path).unwrap();
        let turns: Vec<String> = steps(&plan(), &results)
            .iter()
            .take(4)
            .map(|step| format!("{}{}", step.key.server, step.key.repeat))
            .collect();
        assert_eq!(turns, ["a1", "b1", "b2", "a2"]);
        let Err(Failure::Because(why)) = run(plan(), &mut results, &Interrupt::default()) else {
            panic!("a run without one measurement has failed");
        };
        assert_eq!(why, "none of 16 measurements could be made");
        let errors = results.lines().iter().filter(|line| {
            matches!(line, Line::Cell(cell) if cell.found.error.as_deref().is_some_and(|why| why.contains("cannot connect")))
        });
        assert_eq!(errors.count(), 16);
        assert_eq!(steps(&plan(), &results).len(), 16, "they are tried again");
        // What was measured is not measured again.
        let done = steps(&plan(), &results).remove(0).key;
        let line = CellLine {
            key: done,
            at_unix_s: 1,
            found: Found::default(),
        };
        results.add(Line::Cell(line)).unwrap();
        assert_eq!(steps(&plan(), &results).len(), 15);
        fs::remove_file(&path).unwrap();
    }
}
