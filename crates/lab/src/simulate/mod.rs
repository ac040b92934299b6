//! A simulator of cores: what two cores cannot show of a latch that everybody takes.
//!
//! ```text
//!  results of the lab, exhibit by exhibit ──► service times ──► a closed network of N cores and one latch ──► rates ──► plots
//!  (recorded, or measured by the reader)       (figures)          (network; what is under the latch: books)    (curves)   (page)
//!                                  hardware: cache lines and sockets of larger machines, as assumptions with their sources
//! ```
//!
//! It answers one question: how does the ratio of READ COMMITTED to REPEATABLE READ change with cores, clients and open transactions, if
//! views are made as an exhibit makes them? It is checked against what the cores here show, and against the studies' figures. No parameter
//! is fitted to a ratio; a study's machine takes its processor time per transaction from that study's curve at REPEATABLE READ, and the
//! curve at READ COMMITTED is the test.
//!
//! - [`network`]: clients, cores and the latch, event by event.
//! - [`books`]: what the exhibits do under the latch, and how long it takes.
//! - [`figures`]: service times from results.
//! - [`hardware`]: what is assumed of machines.
//! - [`curves`]: what is simulated; [`page`] shows it, with all assumptions beside.

mod books;
mod curves;
mod figures;
mod hardware;
mod network;
mod page;

use crate::failure::Failure;
use crate::results::Line;
use figures::Figures;
use std::fs;
use std::path::{Path, PathBuf};

/// Simulates, with the service times of results or with those that are recorded, and writes a page with plots. Gives its path, and a text.
pub fn write(lines: Option<&[Line]>, dir: &Path) -> Result<(PathBuf, String), Failure> {
    let figures = match lines {
        Some(lines) => Figures::of(lines),
        None => Figures::recorded(),
    };
    let figures = figures.map_err(Failure::Because)?;
    let simulated = curves::all(&figures).map_err(Failure::Because)?;
    let page = page::write(&figures, &simulated, dir)?;
    Ok((page, simulated.text()))
}

/// Keeps the service times of results, as the program has them recorded.
pub fn save(lines: &[Line], path: &Path) -> Result<(), Failure> {
    let figures = Figures::of(lines).map_err(Failure::Because)?;
    let text = serde_json::to_string_pretty(&figures).map_err(|e| Failure::Because(e.to_string()))?;
    fs::write(path, text + "\n").map_err(|e| Failure::because(format!("{}: {e}", path.display())))
}
