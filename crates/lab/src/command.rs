//! `tidemark lab`: its command line.

use crate::client::url::Url;
use crate::experiments::catalogue::{EXPERIMENTS, find};
use crate::experiments::tpcc::broken_conditions;
use crate::experiments::{self, Experiment, Scale};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::level::Level;
use crate::load::oltp::Oltp;
use crate::load::tables::Tables;
use crate::load::tpcc::schema::{References, Size};
use crate::load::{Generator, Load, Pace, Spec, Workload};
use crate::results::{Line, Results};
use crate::server::Contender;
use crate::words::Words;
use crate::{compare, report, run, simulate, summary};
use std::path::{Path, PathBuf};
use std::time::Duration;

const HELP: &str = "\
The isolation lab: experiments on transaction isolation, on any server that speaks MySQL's protocol, and on PostgreSQL.

  tidemark lab list                  the experiments
  tidemark lab explain EXPERIMENT    its question, its workload, and what the study found
  tidemark lab run [EXPERIMENT…] [--server NAME=URL]… [--quick] [--results FILE]
                                     run them, all if none is named; goes on where it was stopped
  tidemark lab report [FILE…] [--out DIR]
                                     a page with plots, of one or more files of results
  tidemark lab simulate [FILE…] [--out DIR]
                                     read views on more cores than there are, from recorded service times or those of results
  tidemark lab compare OLD NEW       what has changed between two files of results, beyond the noise
  tidemark lab load WORKLOAD [--server URL]
                                     one load, and its figures: point, ro, rw, upd, psel, rc3, hot, queue or tpcc

A server is mysql://user:password@host:port/database, or pgsql://… Without one the lab starts a Tidemark of its own. In a build with the feature
museum, museum://EXHIBIT starts one with that read view.

run:  --quick          a small run of each, half an hour on four servers
      --results FILE   where results are kept (tidemark-lab.jsonl)
      --seconds S, --repeats N, --clients A,B,…, --rows N   in place of what the experiments have
      --client sysbench   stock sysbench puts the load on, where it has a script for it; it says where it has none
report: --out DIR      where the page and its plots go (tidemark-lab-report)
simulate: --out DIR    where its page goes (tidemark-lab-simulation)
          --save FILE  only keeps the service times of the results
load: --clients N (16), --seconds S (10), --warm S (2), --level RU|RC|RR|SER
      --work N         so many nanoseconds of work before each statement, as a slower driver has
      --rate R         an open loop: so many transactions begin per second, and latencies count from when they should have
      --warehouses N (10), for tpcc, whose consistency conditions are checked at the end; --quick has few items and customers in them;
      --foreign-keys, or --foreign-key-indexes for the indexes alone that those need
      --tables N (8), --rows N (200000), --range N (100), --ratio N (one transaction in N writes), --text (nothing is prepared)
";

/// Where results are kept, and a report, unless the command line says where.
const RESULTS: &str = "tidemark-lab.jsonl";
const REPORT: &str = "tidemark-lab-report";
const SIMULATION: &str = "tidemark-lab-simulation";
/// The figures of a load in the order in which they are shown; what it has met behind them.
const LOADED: [&str; 10] = [
    "tps",
    "p50_us",
    "p95_us",
    "p99_us",
    "p999_us",
    "max_us",
    "server_cpu_us",
    "client_cpu_us",
    "not_begun",
    "retried",
];
/// Nothing takes longer than a day.
const SECONDS_MAX: f64 = 86_400.0;
const CLIENTS_MAX: usize = 10_000;
/// A second before each statement.
const WORK_MAX_NS: u64 = 1_000_000_000;
/// Their order lines are counted as an INT.
const WAREHOUSES_MAX: u32 = 4000;
/// Ids are INT, and the last range goes beyond the last id.
const ROWS_MAX: u32 = 2_000_000_000;

/// Runs `tidemark lab` with the words behind it.
pub fn command(words: impl IntoIterator<Item = String>) -> Result<(), String> {
    let mut words = words.into_iter();
    let which = words.next().unwrap_or_default();
    let mut words = Words::new(words);
    let asks = ["--help", "-h"].map(|name| words.flag(name) || which == name);
    let done = match which.as_str() {
        _ if asks.contains(&true) => help(),
        "" | "help" => none_left(words).and_then(|()| help()),
        "list" => list(words),
        "explain" => explain(words),
        "run" => run_experiments(words),
        "report" => report_files(words),
        "simulate" => simulate_files(words),
        "compare" => compare_files(words),
        "load" => load(words),
        other => Err(format!(
            "there is no 'lab {other}'; `tidemark lab` says what there is"
        )),
    };
    done.map_err(|why| format!("lab: {why}"))
}

fn help() -> Result<(), String> {
    print!("{HELP}");
    Ok(())
}

fn list(words: Words) -> Result<(), String> {
    none_left(words)?;
    for experiment in EXPERIMENTS {
        println!(
            "{:18} {}\n{:18} ({})",
            experiment.name, experiment.question, "", experiment.study
        );
    }
    Ok(())
}

fn explain(words: Words) -> Result<(), String> {
    let names = words.rest()?;
    if names.is_empty() {
        return Err("explain needs an experiment; `tidemark lab list` has them".to_owned());
    }
    for experiment in named(&names)? {
        let cells = |scale: &Scale| (experiment.cells)(scale).len();
        let stock = Scale {
            generator: Generator::Sysbench,
            ..Scale::full()
        };
        let of_sysbench = (experiment.cells)(&stock)
            .iter()
            .filter(|cell| cell.cannot(&stock).is_none())
            .count();
        let count = format!(
            "{} in full, {} with --quick; {of_sysbench} of the full ones with --client sysbench",
            cells(&Scale::full()),
            cells(&Scale::quick())
        );
        println!("{}\n", experiment.name);
        for (head, text) in [
            ("Study:", experiment.study),
            ("Question:", experiment.question),
            ("Workload:", experiment.workload),
            ("Found:", experiment.found),
            ("Cells:", count.as_str()),
        ] {
            print!("{}", paragraph(head, text));
        }
        println!();
    }
    Ok(())
}

/// A text behind its head, in lines that a terminal has room for.
fn paragraph(head: &str, text: &str) -> String {
    const INDENT: usize = 11;
    const WIDTH: usize = 100;
    let mut out = format!("{head:INDENT$}");
    let mut column = INDENT;
    for (at, word) in text.split_whitespace().enumerate() {
        let len = word.chars().count();
        if at > 0 && column + 1 + len > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(INDENT));
            column = INDENT;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += len;
    }
    out.push('\n');
    out
}

fn run_experiments(mut words: Words) -> Result<(), String> {
    let mut scale = match words.flag("--quick") {
        true => Scale::quick(),
        false => Scale::full(),
    };
    if let Some(seconds) = words.number("--seconds", 0.05, SECONDS_MAX)? {
        scale.measure = Duration::from_secs_f64(seconds);
        scale.warm = scale.warm.min(scale.measure);
    }
    scale.repeats = words.number("--repeats", 1, 1000)?.unwrap_or(scale.repeats);
    scale.rows = words.number("--rows", 1, ROWS_MAX)?;
    scale.clients = words
        .one::<String>("--clients")?
        .map(|list| numbers(&list))
        .transpose()?;
    scale.generator = match words.one::<String>("--client")?.as_deref() {
        None | Some("own") => Generator::Own,
        Some("sysbench") => Generator::Sysbench,
        Some(other) => return Err(format!("--client is own or sysbench, not '{other}'")),
    };
    let path = words.one("--results")?.unwrap_or_else(|| PathBuf::from(RESULTS));
    let contenders = contenders(words.all("--server")?)?;
    let names = words.rest()?;
    let experiments = match names.is_empty() {
        true => EXPERIMENTS.iter().collect(),
        false => named(&names)?,
    };
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
    let shown = scale.to_string();
    let interrupt = interrupt()?;
    let mut results = Results::open(&path).map_err(|e| e.to_string())?;
    let plan = run::Plan {
        experiments,
        contenders,
        scale,
    };
    let done = run::run(plan, &mut results, &interrupt);
    print!("{}", summary::text(results.lines(), &names, &shown));
    match done {
        Ok(()) => {
            println!("\nResults are in {}.", path.display());
            Ok(())
        }
        Err(Failure::Interrupted) => Err(format!(
            "stopped; the same command goes on with what {} lacks",
            path.display()
        )),
        Err(Failure::Because(why)) => Err(why),
    }
}

/// Of the command line, or one that the lab starts.
fn contenders(servers: Vec<String>) -> Result<Vec<Contender>, String> {
    let mut contenders: Vec<Contender> = Vec::new();
    for server in servers {
        let (name, url) = server
            .split_once('=')
            .filter(|(name, _)| !name.is_empty() && !name.contains(['/', ':']))
            .ok_or_else(|| format!("--server is NAME=URL, not '{server}'"))?;
        if contenders.iter().any(|contender| contender.name == name) {
            return Err(format!("there are two servers of the name {name}"));
        }
        contenders.push(contender(name.to_owned(), url)?);
    }
    if contenders.is_empty() {
        contenders.push(Contender::own());
    }
    Ok(contenders)
}

/// Where the URL says, or one of the lab's own with an exhibit of the museum: `museum://EXHIBIT`.
fn contender(name: String, url: &str) -> Result<Contender, String> {
    if let Some(exhibit) = url.strip_prefix("museum://") {
        #[cfg(feature = "museum")]
        return Ok(Contender::exhibit(name, exhibit.to_owned()));
        #[cfg(not(feature = "museum"))]
        return Err(format!(
            "'{exhibit}' is in the museum, which this program was built without (feature museum)"
        ));
    }
    Ok(Contender::given(name, Url::parse(url)?))
}

fn compare_files(words: Words) -> Result<(), String> {
    let files = words.rest()?;
    let [old, new] = files.as_slice() else {
        return Err("compare needs two files of results".to_owned());
    };
    let read = |file: &String| Results::read(Path::new(file)).map_err(|e| e.to_string());
    print!("{}", compare::text(&read(old)?, &read(new)?));
    Ok(())
}

fn report_files(mut words: Words) -> Result<(), String> {
    let dir = words.one("--out")?.unwrap_or_else(|| PathBuf::from(REPORT));
    let mut files = words.rest()?;
    if files.is_empty() {
        files.push(RESULTS.to_owned());
    }
    let lines = lines(&files)?;
    let page = report::write(&lines, &dir).map_err(|e| e.to_string())?;
    println!("The report is {}.", page.display());
    Ok(())
}

fn lines(files: &[String]) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for file in files {
        lines.extend(Results::read(Path::new(file)).map_err(|e| e.to_string())?);
    }
    Ok(lines)
}

fn simulate_files(mut words: Words) -> Result<(), String> {
    let dir = words.one("--out")?.unwrap_or_else(|| PathBuf::from(SIMULATION));
    let save: Option<PathBuf> = words.one("--save")?;
    let files = words.rest()?;
    let lines = lines(&files)?;
    if let Some(path) = save {
        return simulate::save(&lines, &path).map_err(|e| e.to_string());
    }
    let lines = (!files.is_empty()).then_some(lines.as_slice());
    let (page, text) = simulate::write(lines, &dir).map_err(|e| e.to_string())?;
    print!("{text}");
    println!("The page is {}.", page.display());
    Ok(())
}

fn load(mut words: Words) -> Result<(), String> {
    let mut contender = match words.one::<String>("--server")? {
        Some(url) => Contender::given("server".to_owned(), Url::parse(&url)?),
        None => Contender::own(),
    };
    let seconds = |words: &mut Words, name: &str, default: f64| -> Result<Duration, String> {
        let seconds = words.number(name, 0.0, SECONDS_MAX)?.unwrap_or(default);
        Ok(Duration::from_secs_f64(seconds))
    };
    let (warm, time) = (
        seconds(&mut words, "--warm", 2.0)?,
        seconds(&mut words, "--seconds", 10.0)?,
    );
    let clients = words.number("--clients", 1, CLIENTS_MAX)?.unwrap_or(16);
    let pace = match words.number("--rate", 0.001, 1e9)? {
        Some(rate) => Pace::Open(rate),
        None => Pace::Closed,
    };
    let work = Duration::from_nanos(words.number("--work", 0, WORK_MAX_NS)?.unwrap_or(0));
    let level = match words.one::<String>("--level")? {
        Some(name) => Some(
            Level::of_short(&name)
                .ok_or_else(|| format!("there is no level '{name}', but RU, RC, RR and SER"))?,
        ),
        None => None,
    };
    let workload = workload(words, clients)?;
    let spec = Spec {
        workload,
        clients,
        level,
        pace,
        work,
    };
    let interrupt = interrupt()?;
    let measure = || -> Result<_, Failure> {
        let server = contender.server()?;
        spec.workload.prepare(&server, &interrupt)?;
        let measured = Load::start(&server, &spec, &interrupt)?.measure(&server, warm, time)?;
        let broken = match spec.workload {
            Workload::Tpcc(size) => broken_conditions(&server, size, &interrupt)?,
            _ => Vec::new(),
        };
        Ok((measured, broken))
    };
    let (measured, broken) = { measure }().map_err(|e| e.to_string())?;
    let mut values: Vec<(String, f64)> = experiments::found(&measured).values.into_iter().collect();
    values.sort_by_key(|(name, _)| {
        LOADED
            .iter()
            .position(|known| known == name)
            .unwrap_or(LOADED.len())
    });
    for (name, value) in values {
        println!("{name:14} {}", summary::figure(value));
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!("the data are not consistent: {}", broken.join("; "))),
    }
}

/// The workload that is named, as the options have it.
fn workload(mut words: Words, clients: usize) -> Result<Workload, String> {
    let tables = Tables {
        count: words.number("--tables", 1, 10_000)?.unwrap_or(8),
        rows: words.number("--rows", 1, ROWS_MAX)?.unwrap_or(200_000),
    };
    let range = words.number("--range", 1, ROWS_MAX)?.unwrap_or(100);
    let ratio = words.number("--ratio", 1, u32::MAX)?.unwrap_or(1);
    let warehouses = words.number("--warehouses", 1, WAREHOUSES_MAX)?.unwrap_or(10);
    let references = match (words.flag("--foreign-keys"), words.flag("--foreign-key-indexes")) {
        (true, _) => References::Enforced,
        (false, true) => References::Indexed,
        (false, false) => References::Untold,
    };
    let is_quick = words.flag("--quick");
    let is_text = words.flag("--text");
    let names = words.rest()?;
    let [name] = names.as_slice() else {
        return Err("load needs one workload: point, ro, rw, upd, psel, rc3, hot, queue or tpcc".to_owned());
    };
    let mut oltp = match name.as_str() {
        "point" => Oltp::point_select(tables),
        "ro" => Oltp::read_only(tables, range),
        "rw" => Oltp {
            ranges: Some(range),
            ..Oltp::read_write(tables, ratio)
        },
        "psel" => Oltp {
            ranges: None,
            ..Oltp::read_write(tables, ratio)
        },
        "upd" => Oltp::update_non_index(tables),
        "rc3" => return Ok(Workload::ThreePoints(tables)),
        "hot" => return Ok(Workload::HotRow),
        "tpcc" => {
            let size = match is_quick {
                true => Size::quick(warehouses),
                false => Size::specified(warehouses),
            };
            return Ok(Workload::Tpcc(Size { references, ..size }));
        }
        "queue" if clients < 2 => {
            return Err("queue needs two clients at least: one adds what another takes".to_owned());
        }
        "queue" => {
            return Ok(Workload::Queue {
                producers: clients.div_ceil(2),
                skip_locked: false,
            });
        }
        other => return Err(format!("there is no workload '{other}'")),
    };
    oltp.prepared = !is_text;
    Ok(Workload::Oltp(oltp))
}

fn interrupt() -> Result<Interrupt, String> {
    // A connection is a file.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    Interrupt::on_signals().map_err(|e| format!("cannot wait for signals: {e}"))
}

fn named(names: &[String]) -> Result<Vec<&'static Experiment>, String> {
    names
        .iter()
        .map(|name| {
            find(name).ok_or_else(|| {
                format!("there is no experiment '{name}'; `tidemark lab list` has those there are")
            })
        })
        .collect()
}

/// Numbers of clients, each once: a cell of so many clients is one, however often it is asked for.
fn numbers(list: &str) -> Result<Vec<usize>, String> {
    let mut numbers = Vec::new();
    for number in list.split(',') {
        match number.trim().parse() {
            Ok(number) if numbers.contains(&number) => {}
            Ok(number) if (1..=CLIENTS_MAX).contains(&number) => numbers.push(number),
            _ => {
                return Err(format!(
                    "--clients are numbers from 1 to {CLIENTS_MAX} with commas between them"
                ));
            }
        }
    }
    Ok(numbers)
}

fn none_left(words: Words) -> Result<(), String> {
    match words.rest()?.first() {
        Some(word) => Err(format!("'{word}' is not understood")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(line: &str) -> String {
        command(line.split_whitespace().map(str::to_owned))
            .err()
            .unwrap_or_default()
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, part) in [
            ("surf", "there is no 'lab surf'"),
            ("explain", "explain needs an experiment"),
            ("explain tea", "there is no experiment 'tea'"),
            ("run tea", "there is no experiment 'tea'"),
            ("run --server x", "--server is NAME=URL"),
            ("run --server mysql://h", "--server is NAME=URL"),
            ("run --server p=pgsql://", "there is no host"),
            (
                "run --server a=mysql://h --server a=mysql://g",
                "two servers of the name a",
            ),
            ("run --clients 1,x", "--clients are numbers"),
            ("run --seconds 0", "--seconds is a number from"),
            ("run --client tea", "--client is own or sysbench"),
            #[cfg(not(feature = "museum"))]
            (
                "run --server a=museum://trx_sys",
                "built without (feature museum)",
            ),
            ("run --fast", "there is no option '--fast'"),
            ("compare a", "compare needs two files"),
            ("report /no/such/file", "/no/such/file: No such file"),
            ("report --outt x", "there is no option '--outt'"),
            ("load --server mysql://h", "load needs one workload"),
            ("load tea --server mysql://h", "there is no workload 'tea'"),
            ("load point --level X", "there is no level 'X'"),
            ("load queue --clients 1", "queue needs two clients"),
        ] {
            let said = why(line);
            assert!(said.contains(part), "{line}: {said}");
        }
        assert_eq!(why("list"), "");
        assert_eq!(why("run --help"), "");
        assert_eq!(why("load point -h --rate x"), "");
        assert_eq!(why("explain meaning queue"), "");
    }
    #[test]
    fn a_number_of_clients_is_taken_once() {
        assert_eq!(numbers("16, 1,16").unwrap(), [16, 1]);
        assert!(numbers("").is_err() && numbers("1,,2").is_err() && numbers("0").is_err());
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        let text = "word ".repeat(40);
        let lines: Vec<String> = paragraph("Head:", &text).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("Head:      word") && lines[1].starts_with("           word"));
        assert!(lines.iter().all(|line| line.len() <= 100 && !line.ends_with(' ')));
        assert_eq!(lines.join(" ").matches("word").count(), 40);
    }
}
