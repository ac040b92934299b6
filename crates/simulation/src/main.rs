//! Runs the real engine under a seeded scheduler on a disk that fails, and holds what it does against a model.
//!
//!     simulate cuts [--seeds A..B] [--cuts N] [--jobs N] [--seconds N]     power cuts
//!     simulate calls [--seeds A..B] …                                      the n-th call of the disk fails, for n from A to B
//!     simulate flips [--seeds A..B] …                                      flipped bits, forty a seed
//!     simulate files [--seeds A..B] …                                      files missing, cut short, exchanged, forty a seed
//!     simulate faults [--seeds A..B] …                                     a disk that does wrong under clients, no threads
//!     simulate names [--seeds A..B] …                                      a directory that cannot be synced, descriptors that run out, new directories, long definitions
//!     simulate sql [--seeds A..B] …                                        power cuts under sessions of SQL
//!     simulate sql-calls [--seeds A..B] …                                  the n-th call of the disk fails under sessions of SQL
//!     simulate sabotage [--seconds N]                                      broken builds are found out (feature `sabotage`)
//!     simulate one cuts|calls|flips|files|faults|names|sql|sql-calls SEED [--cuts N] [--verbose]      one seed again
//!
//! Each seed runs in a process of its own, so that one that ends in a panic, an abort or a hang is a finding like any other.
//! A seed that fails prints what is wrong and the command that repeats it, and the exit status is 1.

mod calls;
mod client;
mod crowd;
mod cuts;
mod damage;
mod disk;
mod faults;
mod heap;
mod model;
mod names;
mod power;
mod scheduler;
mod sql;
mod sql_calls;
mod sql_client;
mod system;

use scheduler::Style;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

/// Real time that one seed may take.
const SEED_TAKES: Duration = Duration::from_secs(600);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::of(&arguments);
    let words: Vec<&str> = options.words.iter().map(String::as_str).collect();
    match words[..] {
        ["one", what, seed] => {
            fix_addresses(&arguments);
            one(what, seed.parse().unwrap_or_else(|_| usage()), &options)
        }
        [what @ ("cuts" | "calls" | "flips" | "files" | "faults" | "names" | "sql" | "sql-calls")] => {
            std::process::exit(hunt(what, &options))
        }
        ["sabotage"] => std::process::exit(find_sabotage(&options)),
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!(
        "usage: simulate cuts|calls|flips|files|faults|names|sql|sql-calls [--seeds A..B] [--cuts N] [--jobs N] [--seconds N]"
    );
    eprintln!("       simulate sabotage [--seconds N]");
    eprintln!(
        "       simulate one cuts|calls|flips|files|faults|names|sql|sql-calls SEED [--cuts N] [--verbose]"
    );
    std::process::exit(2)
}

/// The command line.
struct Options {
    words: Vec<String>,
    first: u64,
    last: u64,
    cuts: u64,
    jobs: u64,
    seconds: u64,
    verbose: bool,
}

impl Options {
    fn of(arguments: &[String]) -> Options {
        let mut options = Options {
            words: Vec::new(),
            first: 1,
            last: 10,
            cuts: 20,
            jobs: 1,
            seconds: u64::MAX,
            verbose: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut number = || {
                arguments
                    .next()
                    .and_then(|n| n.parse().ok())
                    .unwrap_or_else(|| usage())
            };
            match argument.as_str() {
                "--seeds" => {
                    let range = arguments
                        .next()
                        .and_then(|range| range.split_once(".."))
                        .unwrap_or_else(|| usage());
                    let bound = |bound: &str| bound.parse().unwrap_or_else(|_| usage());
                    (options.first, options.last) = (bound(range.0), bound(range.1));
                }
                "--cuts" => options.cuts = number(),
                "--jobs" => options.jobs = number(),
                "--seconds" => options.seconds = number(),
                "--verbose" => options.verbose = true,
                word if word.starts_with('-') => usage(),
                word => options.words.push(word.to_owned()),
            }
        }
        options
    }
}

/// Begins the program anew without random addresses, unless it has none or the system does not allow that: those of statics and stacks
/// are the same in every run then, as those of the heap are.
fn fix_addresses(arguments: &[String]) {
    const ASK: libc::c_ulong = 0xFFFF_FFFF;
    // SAFETY: this only asks.
    let now = unsafe { libc::personality(ASK) };
    if now == -1 || now & libc::ADDR_NO_RANDOMIZE != 0 {
        return;
    }
    // SAFETY: this changes how programs are loaded that this process begins from now on.
    if unsafe { libc::personality((now | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) } != -1 {
        let failed = Command::new("/proc/self/exe").args(arguments).exec();
        eprintln!("cannot begin anew without random addresses: {failed}");
    }
}

/// Runs one seed in this process.
fn one(what: &str, seed: u64, options: &Options) -> ! {
    log::set_logger(&LOGGER).expect("there is no other");
    log::set_max_level(log::LevelFilter::Info);
    LOGGER.verbose.store(options.verbose, Ordering::Relaxed);
    std::panic::set_hook(Box::new(|panic| {
        scheduler::freeze();
        eprintln!("FAILED: {panic}\n{}", std::backtrace::Backtrace::force_capture());
        LOGGER.tell();
        system::exit(3);
    }));
    HEAP.open();
    scheduler::start(Style::of(seed));
    let done = match what {
        "cuts" => cuts::Run::new(seed).go(options.cuts).map(|shown| {
            format!(
                "{} cuts, {} of starts, {} commits, longest call {} ms",
                shown.cuts, shown.cuts_of_starts, shown.commits, shown.longest_ms
            )
        }),
        "calls" => calls::run(seed).map(|errors| told_of_calls(4, errors)),
        "sql-calls" => sql_calls::run(seed).map(|errors| told_of_calls(4, errors)),
        "names" => names::run(seed).map(|errors| told_of_calls(names::RUNS, errors)),
        "flips" => damage::flip_bits(seed).map(told),
        "files" => damage::mix_up_files(seed).map(told),
        "sql" => sql::Run::new(seed).go(options.cuts).map(|shown| {
            format!(
                "{} cuts, {} of starts, {} commits",
                shown.cuts, shown.cuts_of_starts, shown.commits
            )
        }),
        "faults" => faults::run(seed).map(|shown| {
            format!(
                "1 {:?}, 1 {:?}, {} errors of statements",
                shown.kind, shown.outcome, shown.errors
            )
        }),
        _ => usage(),
    };
    let (time, pauses) = scheduler::progress();
    scheduler::freeze();
    match done {
        Ok(shown) => {
            println!("seed {seed}: {shown}; {time:.9} s, {pauses} pauses");
            system::exit(0)
        }
        Err(wrong) => {
            eprintln!("FAILED: {wrong}");
            LOGGER.tell();
            system::exit(1)
        }
    }
}

fn told_of_calls(runs: usize, errors: calls::Errors) -> String {
    let told: Vec<String> = errors
        .into_iter()
        .map(|(error, n)| format!("{error} ({n} times)"))
        .collect();
    format!("{runs} runs; clients were told: {}", told.join("; "))
}

fn told(shown: damage::Shown) -> String {
    format!(
        "{} damages, {} refused, {} named by a read, {} harmless, {} at the end of the log",
        shown.damages, shown.refused, shown.named, shown.harmless, shown.tail
    )
}

/// Keeps what the engine says, for the case that something goes wrong.
struct Logger {
    verbose: AtomicBool,
    lines: Mutex<Vec<String>>,
}

static LOGGER: Logger = Logger {
    verbose: AtomicBool::new(false),
    lines: Mutex::new(Vec::new()),
};

impl Logger {
    fn tell(&self) {
        if let Ok(lines) = self.lines.try_lock() {
            lines.iter().for_each(|line| eprintln!("log: {line}"));
        }
    }
}

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        let line = format!("{} {}", record.level(), record.args());
        if self.verbose.load(Ordering::Relaxed) {
            eprintln!("log: {line}");
        }
        if let Ok(mut lines) = self.lines.lock() {
            if lines.len() > 30 {
                lines.remove(0);
            }
            lines.push(line);
        }
    }

    fn flush(&self) {}
}

/// What is added up of the seeds' lines: their numbers, with the words behind them.
type Sums = Vec<(String, u64)>;

/// Runs seed after seed; returns the exit status.
fn hunt(what: &str, options: &Options) -> i32 {
    let (next, failed, passed) = (
        AtomicU64::new(options.first),
        AtomicU64::new(0),
        AtomicU64::new(0),
    );
    let sums = Mutex::new(Sums::new());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while started.elapsed().as_secs() < options.seconds {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > options.last {
                        return;
                    }
                    match run_seed(what, seed, options, None) {
                        Ok(line) => {
                            passed.fetch_add(1, Ordering::Relaxed);
                            add_up(&line, &sums);
                            if options.verbose {
                                println!("{line}");
                            }
                        }
                        Err(why) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                            println!(
                                "seed {seed} FAILED; again: simulate one {what} {seed} --cuts {}\n{why}",
                                options.cuts
                            );
                        }
                    }
                }
            });
        }
    });
    let (failed, passed) = (failed.into_inner(), passed.into_inner());
    let sums = sums.into_inner().unwrap_or_default();
    let sums: Vec<String> = sums.iter().map(|(words, sum)| format!("{sum} {words}")).collect();
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{what}: {passed} seeds passed, {failed} failed; {} in {seconds:.0} s",
        sums.join(", ")
    );
    i32::from(failed > 0)
}

fn add_up(line: &str, sums: &Mutex<Sums>) {
    let shown = line.split_once(": ").map_or("", |(_, shown)| shown);
    let Ok(mut sums) = sums.lock() else { return };
    for part in shown.split([',', ';']) {
        let Some((number, words)) = part.trim().split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match sums.iter_mut().find(|(known, _)| known == words) {
            Some((_, sum)) => *sum += number,
            None => sums.push((words.to_owned(), number)),
        }
    }
}

/// What can be broken, and what finds it.
const SABOTAGE: [(&str, &str); 7] = [
    ("commit", "cuts"),
    ("page", "cuts"),
    ("checkpoint", "cuts"),
    ("doublewrite", "cuts"),
    ("undo", "cuts"),
    ("stale", "flips"),
    ("end", "flips"),
];

/// Characters of what was found that are shown: a check lists all faults that it finds.
const SAID_MAX: usize = 160;

/// Each kind of sabotage must be found; returns the exit status.
fn find_sabotage(options: &Options) -> i32 {
    let most = Duration::from_secs(options.seconds.min(300));
    let mut missed = 0;
    for (broken, what) in SABOTAGE {
        let started = Instant::now();
        let found = (options.first..)
            .take_while(|_| started.elapsed() < most)
            .find_map(|seed| Some((seed, run_seed(what, seed, options, Some(broken)).err()?)));
        let seconds = started.elapsed().as_secs_f64();
        match found {
            Some((seed, why)) => {
                let said = why
                    .lines()
                    .find(|line| line.contains("FAILED"))
                    .unwrap_or("the process ended");
                let said: String = said.chars().take(SAID_MAX).collect();
                println!("  ok      {broken}: found by {what} with seed {seed} after {seconds:.1} s: {said}");
            }
            None => {
                println!("  FAILED  {broken}: not found by {what} in {seconds:.0} s");
                missed += 1;
            }
        }
    }
    println!("sabotage: {} passed, {missed} failed", SABOTAGE.len() - missed);
    i32::from(missed > 0)
}

/// Runs a seed in a process of its own.
fn run_seed(what: &str, seed: u64, options: &Options, broken: Option<&str>) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    if let Some(broken) = broken {
        command.env("TIDEMARK_SABOTAGE", broken);
    }
    command.args([
        "one",
        what,
        &seed.to_string(),
        "--cuts",
        &options.cuts.to_string(),
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: one system call, which touches no memory. Addresses are then the same in every run; if it is refused, all but the
    // order in which some hash tables are walked is the same anyway.
    unsafe {
        command.pre_exec(|| {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            Ok(())
        });
    }
    let child = command.spawn().map_err(|error| error.to_string())?;
    let id = child.id() as libc::pid_t;
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if is_done.recv_timeout(SEED_TAKES) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // SAFETY: our own child, which has not been waited for: `done` is dropped after that.
            unsafe { libc::kill(id, libc::SIGKILL) };
        }
    });
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    drop(done);
    let _ = watch.join();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() {
        return Ok(said);
    }
    Err(format!(
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}
