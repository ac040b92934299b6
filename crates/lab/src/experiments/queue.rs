//! A table used as a queue, beside a snapshot that keeps every deleted row.
//!
//! Eight clients add, eight take the first message that they find; between the first message and the table's beginning lie all
//! those that were taken since the snapshot was opened. Counted is what was taken.

use crate::experiments::Scale;
use crate::experiments::timeline::{Snapshot, Timeline, ratio};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::level::Level;
use crate::load::{Load, Workload};
use crate::results::Found;
use crate::server::Server;
use std::collections::BTreeMap;
use std::time::Duration;

const PRODUCERS: usize = 8;
const CONSUMERS: usize = 8;
/// Messages at the beginning, so that consumers do not wait for producers.
const BACKLOG: usize = 5000;
const READ: &str = "SELECT COUNT(*), MIN(id), MAX(id) FROM queue";

pub(super) struct Times {
    before: Duration,
    hold: Duration,
}

impl Times {
    pub(super) fn new(scale: &Scale) -> Times {
        Times {
            before: scale.stretch(3, 20),
            hold: scale.stretch(6, 120),
        }
    }

    pub(super) fn all(&self) -> Duration {
        self.before + self.hold
    }
}

pub(super) fn measure(
    server: &Server,
    skip_locked: bool,
    scale: &Scale,
    interrupt: &Interrupt,
) -> Result<Found, Failure> {
    let times = Times::new(scale);
    let workload = Workload::Queue {
        producers: PRODUCERS,
        skip_locked,
    };
    workload.prepare(server, interrupt)?;
    fill(server)?;
    let spec = super::spec(workload, PRODUCERS + CONSUMERS, Level::RepeatableRead);
    let mut load = Load::start(server, &spec, interrupt)?;
    load.pause(scale.warm)?;
    let mut line = Timeline::new(server, &load)?;
    let before = line.watch(times.before, false)?;
    let mut snapshot = Snapshot::open(server, READ)?;
    let held = line.watch(times.hold, true)?;
    let read_ms = snapshot.read_ms(READ)?;
    snapshot.end()?;
    let series = BTreeMap::from([
        ("at_s".to_owned(), line.at_s),
        ("taken_per_s".to_owned(), line.rate_per_s),
        ("history".to_owned(), line.history),
        ("held".to_owned(), line.held),
    ]);
    load.finish()?;
    let mut values = BTreeMap::from([
        ("before_per_s".to_owned(), before),
        ("held_per_s".to_owned(), held),
        ("read_ms".to_owned(), read_ms),
    ]);
    values.extend(ratio(held, before).map(|ratio| ("held_ratio".to_owned(), ratio)));
    Ok(Found {
        values,
        series,
        ..Found::default()
    })
}

fn fill(server: &Server) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let mut there = 1;
    while there < BACKLOG {
        let more = there.min(BACKLOG - there);
        client.query(&format!(
            "INSERT INTO queue (body) SELECT body FROM queue LIMIT {more}"
        ))?;
        there += more;
    }
    Ok(())
}
