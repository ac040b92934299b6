//! `tidemark lab` as it is used: a very small run of every experiment on the server that it starts, one that is killed and goes on,
//! and a single load.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

/// A directory for the results and for the lab's server, gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("tidemark-lab-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    fn results(&self) -> PathBuf {
        self.0.join("results.jsonl")
    }

    fn lab(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidemark"));
        command
            .arg("lab")
            .args(line.split_whitespace())
            .env("TMPDIR", &self.0);
        if line.starts_with("run") {
            command.arg("--results").arg(self.results());
        }
        command
    }

    /// Directories of servers that the lab has started.
    fn servers(&self) -> usize {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// The lines of cells.
fn cells(results: &Path) -> Vec<String> {
    let text = fs::read_to_string(results).unwrap_or_default();
    text.lines()
        .filter(|line| line.contains("\"kind\":\"cell\""))
        .map(str::to_owned)
        .collect()
}

/// The value of a text in a line of JSON.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let (_, rest) = line.split_once(&format!("\"{name}\":\"")).unwrap();
    rest.split('"').next().unwrap()
}

#[test]
fn every_experiment_on_a_server_of_its_own() {
    let scratch = Scratch::new("all");
    let line = "run --quick --seconds 0.05 --repeats 1 --clients 2 --rows 200";
    let output = scratch.lab(line).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let cells = cells(&scratch.results());
    let failed: Vec<&String> = cells.iter().filter(|cell| cell.contains("\"error\"")).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let experiments: BTreeSet<&str> = cells.iter().map(|cell| field(cell, "experiment")).collect();
    assert_eq!(experiments.len(), 9, "{experiments:?}");
    assert_eq!(scratch.servers(), 0, "its server is gone");
    let meaning = said(&output);
    assert!(!meaning.contains("AGAINST THE DOCUMENTATION"), "{meaning}");
    // The levels mean what InnoDB's do: dirty reads, and so on, are there where they are expected.
    for (cell, possible) in [("RU", 6), ("RC", 5), ("RR", 2), ("SER", 0)] {
        let line = cells
            .iter()
            .find(|line| field(line, "experiment") == "meaning" && field(line, "cell").ends_with(cell));
        let count = line.unwrap().matches("\"possible\":true").count();
        assert_eq!(count, possible, "{cell}: {line:?}");
    }
    // There is nothing left to do, and nothing has changed.
    let again = scratch.lab(line).output().unwrap();
    assert!(said(&again).contains("All of it is in the results."));
    let results = scratch.results().display().to_string();
    let compared = scratch
        .lab(&format!("compare {results} {results}"))
        .output()
        .unwrap();
    assert!(
        said(&compared).contains("Nothing has changed"),
        "{}",
        said(&compared)
    );
}

#[test]
fn a_run_that_was_killed_goes_on() {
    let scratch = Scratch::new("killed");
    let line = "run three-points-79005 ratio-2015 --quick --seconds 0.1 --repeats 2 --clients 2 --rows 300";
    let mut first = scratch.lab(line).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while cells(&scratch.results()).len() < 3 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let before = cells(&scratch.results());
    assert!((3..40).contains(&before.len()), "{}", before.len());
    assert_eq!(scratch.servers(), 1, "its server is orphaned");
    let output = scratch.lab(line).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let after = cells(&scratch.results());
    assert_eq!(after.len(), 40);
    assert_eq!(after[..before.len()], before);
    let names: BTreeSet<String> = after
        .iter()
        .map(|line| {
            format!(
                "{} {} {}",
                field(line, "experiment"),
                field(line, "cell"),
                repeat(line)
            )
        })
        .collect();
    assert_eq!(names.len(), after.len(), "no cell twice");
    assert_eq!(scratch.servers(), 0, "the orphan is gone, too");
}

fn repeat(line: &str) -> &str {
    let (_, rest) = line.split_once("\"repeat\":").unwrap();
    rest.split([',', '}']).next().unwrap()
}

#[test]
fn loads_closed_and_open() {
    let scratch = Scratch::new("load");
    for load in [
        "rw --clients 4",
        "point --clients 2 --rate 200",
        "upd --text",
        "queue",
    ] {
        let line = format!("load {load} --tables 2 --rows 300 --warm 0.1 --seconds 0.5");
        let output = scratch.lab(&line).output().unwrap();
        let text = said(&output);
        assert!(output.status.success(), "{load}: {text}");
        assert!(text.contains("p99_us"), "{load}: {text}");
        if load.contains("rate") {
            let tps = text.lines().find_map(|line| line.strip_prefix("tps"));
            let tps: f64 = tps.unwrap().trim().parse().unwrap();
            assert!((100.0..300.0).contains(&tps), "{tps}");
        }
    }
    assert_eq!(scratch.servers(), 0);
}
