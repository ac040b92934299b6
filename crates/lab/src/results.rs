//! Results: a file of JSON, a line for each thing that was found out, appended when it is known.
//!
//! ```text
//!  {"kind":"server","name":"mysql","url":"mysql://…","settings":{…}, …}
//!  {"kind":"cell","experiment":"levels-2010","cell":"level=RC clients=16","server":"mysql","scale":"quick","repeat":1,
//!   "values":{"tps":1234.5, …}, …}
//! ```
//!
//! A cell's line is written whole and synced before the next cell begins, so a run that is killed loses what it was at and
//! nothing else; a last line without its end is cut off when the file is opened, if it begins as the lab's lines do: a file that holds
//! something else is left as it is. What is there is not measured again. A line with
//! an `error` says that a cell could not be measured; a later run tries that one again, and the last line of a cell counts.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What every line begins with, by the `tag` of [`Line`].
const BEGIN: &str = "{\"kind\":\"";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    /// A server, and the machine of the lab, at the beginning of a run.
    Server(ServerLine),
    /// A cell of an experiment on one server, once.
    Cell(CellLine),
}

/// A server that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerLine {
    /// Its name in all other lines.
    pub name: String,
    /// What it said of itself, `version` among it.
    pub settings: BTreeMap<String, String>,
    /// The lab's processors.
    pub cpus: usize,
    /// Their name.
    pub cpu_model: String,
    /// The memory of the lab's machine; 0 in results that do not say.
    #[serde(default)]
    pub memory_mib: u64,
    /// Its kernel; empty in results that do not say.
    #[serde(default)]
    pub kernel: String,
    /// Seconds since 1970.
    pub at_unix_s: u64,
}

/// What was measured, and how often it was before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The experiment's name.
    pub experiment: String,
    /// What the cell varies, as `level=RC clients=16`.
    pub cell: String,
    /// The server's name.
    pub server: String,
    /// How large and how long.
    pub scale: String,
    /// From 1.
    pub repeat: u32,
}

/// A cell's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellLine {
    /// Which.
    #[serde(flatten)]
    pub key: Key,
    /// Seconds since 1970, at its end.
    pub at_unix_s: u64,
    /// What was found.
    #[serde(flatten)]
    pub found: Found,
}

/// What a cell has found. Which of these there are depends on the experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// Figures by name; the name ends with the unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// Figures over time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<f64>>,
    /// What was possible.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub findings: BTreeMap<String, Finding>,
    /// What the server's threads waited for most, if it says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Why there is nothing of all this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Whether something happened, and whether the server's documentation says that it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// It happened.
    pub possible: bool,
    /// It may, by the documentation.
    pub promised_possible: bool,
}

/// Waits of one kind while the cell was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The server's name for it.
    pub event: String,
    /// How many.
    pub count: u64,
    /// Of one of them, on average, microseconds.
    pub mean_us: f64,
}

/// A file of results that is open for more.
pub struct Results {
    file: File,
    path: PathBuf,
    lines: Vec<Line>,
}

impl Results {
    /// Opens a file, or makes it. An error if somebody else has it open, or it holds something else.
    pub fn open(path: &Path) -> Result<Results, Failure> {
        let named = |why: String| named(path, why);
        let file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .map_err(|e| named(e.to_string()))?;
        file.try_lock()
            .map_err(|e| named(format!("another run writes to it ({e})")))?;
        let text = fs::read_to_string(path).map_err(|e| named(e.to_string()))?;
        let (whole, rest) = text.split_at(whole(&text));
        let lines = parse(whole).map_err(named)?;
        if !rest.is_empty() {
            let shared = BEGIN.len().min(rest.len());
            if rest.as_bytes()[..shared] != BEGIN.as_bytes()[..shared] {
                return Err(named(format!("line {} is no result of the lab", lines.len() + 1)));
            }
            file.set_len(whole.len() as u64)
                .map_err(|e| named(e.to_string()))?;
        }
        Ok(Results {
            file,
            path: path.to_owned(),
            lines,
        })
    }

    /// The lines of a file that nobody writes to, or whose end may be missing.
    pub fn read(path: &Path) -> Result<Vec<Line>, Failure> {
        let text = fs::read_to_string(path).map_err(|e| named(path, e.to_string()))?;
        parse(&text[..whole(&text)]).map_err(|why| named(path, why))
    }

    /// All there are.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// True if the cell was measured.
    pub fn has(&self, key: &Key) -> bool {
        self.lines.iter().any(|line| match line {
            Line::Cell(cell) => cell.key == *key && cell.found.error.is_none(),
            Line::Server(_) => false,
        })
    }

    /// Adds a line; it is on the disk when this returns.
    pub fn add(&mut self, line: Line) -> Result<(), Failure> {
        let mut text = serde_json::to_string(&line).map_err(|e| Failure::Because(e.to_string()))?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written
            .and_then(|()| self.file.sync_data())
            .map_err(|e| named(&self.path, e.to_string()))?;
        self.lines.push(line);
        Ok(())
    }
}

fn named(path: &Path, why: String) -> Failure {
    Failure::Because(format!("{}: {why}", path.display()))
}

/// The length of the lines that have their end.
fn whole(text: &str) -> usize {
    text.rfind('\n').map_or(0, |at| at + 1)
}

fn parse(text: &str) -> Result<Vec<Line>, String> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|e| format!("line {} is no result of the lab: {e}", at + 1))
        })
        .collect()
}

/// The lines of cells that count: of each cell the last one.
pub fn cells(lines: &[Line]) -> Vec<&CellLine> {
    let mut last: BTreeMap<&Key, usize> = BTreeMap::new();
    let all: Vec<&CellLine> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Cell(cell) => Some(cell),
            Line::Server(_) => None,
        })
        .collect();
    for (at, cell) in all.iter().enumerate() {
        last.insert(&cell.key, at);
    }
    let counts = all.iter().enumerate().filter(|(at, cell)| last[&cell.key] == *at);
    counts.map(|(_, cell)| *cell).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::path::PathBuf;

    pub(crate) fn cell(server: &str, repeat: u32, tps: f64) -> Line {
        Line::Cell(CellLine {
            key: Key {
                experiment: "points".into(),
                cell: "level=RC clients=1".into(),
                server: server.into(),
                scale: "quick".into(),
                repeat,
            },
            at_unix_s: 7,
            found: Found {
                values: BTreeMap::from([("tps".to_owned(), tps)]),
                ..Found::default()
            },
        })
    }

    pub(crate) fn failed(line: &Line) -> Line {
        let Line::Cell(mut cell) = line.clone() else {
            panic!("a cell")
        };
        cell.found = Found {
            error: Some("gone".into()),
            ..Found::default()
        };
        Line::Cell(cell)
    }

    fn key(line: &Line) -> Key {
        let Line::Cell(cell) = line else { panic!("a cell") };
        cell.key.clone()
    }

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("lab-results-{name}-{}", std::process::id()));
            let _ = fs::remove_file(&path);
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn lines_come_back() {
        let scratch = Scratch::new("back");
        let server = Line::Server(ServerLine {
            name: "a".into(),
            settings: BTreeMap::from([("version".to_owned(), "1".to_owned())]),
            cpus: 2,
            cpu_model: "x".into(),
            memory_mib: 8,
            kernel: "k".into(),
            at_unix_s: 1,
        });
        let mut line = cell("a", 1, 0.1);
        if let Line::Cell(cell) = &mut line {
            let finding = Finding {
                possible: true,
                promised_possible: false,
            };
            cell.found.findings.insert("lost update".into(), finding);
            cell.found.series.insert("x".into(), vec![1.0, 2.5]);
            cell.found.waits.push(Wait {
                event: "e".into(),
                count: 3,
                mean_us: 0.5,
            });
        }
        let written = [server, line, failed(&cell("b", 1, 0.0))];
        let mut results = Results::open(&scratch.0).unwrap();
        for line in &written {
            results.add(line.clone()).unwrap();
        }
        assert!(Results::open(&scratch.0).is_err(), "one run at a time");
        drop(results);
        assert_eq!(Results::read(&scratch.0).unwrap(), written);
    }

    #[test]
    fn a_run_that_was_killed_goes_on() {
        let scratch = Scratch::new("killed");
        let (one, two) = (cell("a", 1, 1.0), cell("a", 2, 1.0));
        let mut results = Results::open(&scratch.0).unwrap();
        results.add(one.clone()).unwrap();
        results.add(two.clone()).unwrap();
        drop(results);
        // Killed in the middle of the second line.
        let text = fs::read_to_string(&scratch.0).unwrap();
        fs::write(&scratch.0, &text[..text.len() - 10]).unwrap();
        let mut results = Results::open(&scratch.0).unwrap();
        assert!(results.has(&key(&one)) && !results.has(&key(&two)));
        results.add(two.clone()).unwrap();
        drop(results);
        assert_eq!(fs::read_to_string(&scratch.0).unwrap(), text);
    }

    #[test]
    fn what_failed_is_tried_again_and_the_last_line_counts() {
        let scratch = Scratch::new("failed");
        let good = cell("a", 1, 1.0);
        let mut results = Results::open(&scratch.0).unwrap();
        results.add(failed(&good)).unwrap();
        assert!(!results.has(&key(&good)));
        results.add(good.clone()).unwrap();
        assert!(results.has(&key(&good)));
        let counts = cells(results.lines());
        assert_eq!(counts.len(), 1);
        assert_eq!(counts[0].found.values["tps"], 1.0);
    }

    #[test]
    fn another_file_is_refused() {
        let scratch = Scratch::new("other");
        fs::write(&scratch.0, "{\"kind\":\"tea\"}\n").unwrap();
        let why = Results::open(&scratch.0).err().unwrap().to_string();
        assert!(why.contains("line 1 is no result"), "{why}");
    }

    #[test]
    fn what_is_no_part_of_a_line_is_not_cut_off() {
        let scratch = Scratch::new("notes");
        let line = serde_json::to_string(&cell("a", 1, 1.0)).unwrap();
        for text in ["notes without an end".to_owned(), format!("{line}\nnotes")] {
            fs::write(&scratch.0, &text).unwrap();
            let why = Results::open(&scratch.0).err().unwrap().to_string();
            assert!(why.contains("is no result of the lab"), "{why}");
            assert_eq!(fs::read_to_string(&scratch.0).unwrap(), text);
        }
        // A run was killed at the first letters of a line.
        fs::write(&scratch.0, format!("{line}\n{{\"ki")).unwrap();
        assert_eq!(Results::open(&scratch.0).unwrap().lines().len(), 1);
    }

    #[test]
    fn a_full_disk_is_named() {
        // It cannot be opened as results are: it reads as zeros without end.
        let path = PathBuf::from("/dev/full");
        let file = File::options().write(true).open(&path).unwrap();
        let lines = Vec::new();
        let mut results = Results { file, path, lines };
        let why = results.add(cell("a", 1, 1.0)).err().unwrap().to_string();
        assert!(why.starts_with("/dev/full: No space left"), "{why}");
    }
}
