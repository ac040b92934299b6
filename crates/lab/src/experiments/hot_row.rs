//! One row, updated as fast as it goes, while two snapshots are held, one after the other, and the second one is read.
//!
//! ```text
//!  warm │ before │ first snapshot held │ gap │ second snapshot held │ read over and over │ gap
//!                                    ↑ read                       ↑ read
//! ```
//!
//! The rate while a snapshot is held is the median of the last third of that time: what a growing chain of versions costs shows
//! there, if anywhere. The study found that a snapshot alone does no harm: its session must read the row. A read walks the row's versions with the latch of
//! its page, as everywhere, and an update waits for that latch; so a walk that is long enough for one read to follow the other leaves the updates what lies between
//! two. `Snapshot::reading` keeps a pace, so that a read that costs nothing takes nothing from the updates' processor either.

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

const READ: &str = "SELECT c FROM hot WHERE id = 1";

pub(super) struct Times {
    before: Duration,
    hold: Duration,
    gap: Duration,
}

impl Times {
    pub(super) fn new(scale: &Scale) -> Times {
        Times {
            before: scale.stretch(3, 20),
            hold: scale.stretch(5, 60),
            gap: scale.stretch(1, 3),
        }
    }

    pub(super) fn all(&self) -> Duration {
        self.before + 3 * self.hold + 2 * self.gap
    }
}

pub(super) fn measure(
    server: &Server,
    clients: usize,
    scale: &Scale,
    interrupt: &Interrupt,
) -> Result<Found, Failure> {
    let times = Times::new(scale);
    let workload = Workload::HotRow;
    workload.prepare(server, interrupt)?;
    let spec = super::spec(workload, clients, Level::RepeatableRead);
    let mut load = Load::start(server, &spec, interrupt)?;
    load.pause(scale.warm)?;
    let mut line = Timeline::new(server, &load)?;
    let before = line.watch(times.before, false)?;
    let mut values = BTreeMap::from([("before_per_s".to_owned(), before)]);
    for (name, is_read) in [("first", false), ("second", true)] {
        let mut snapshot = Snapshot::open(server, READ)?;
        let held = line.watch(times.hold, true)?;
        values.insert(format!("{name}_held_per_s"), held);
        values.extend(ratio(held, before).map(|ratio| (format!("{name}_ratio"), ratio)));
        values.insert(format!("{name}_read_ms"), snapshot.read_ms(READ)?);
        if is_read {
            let beside = snapshot.reading(READ, || line.watch(times.hold, true))?;
            values.insert("reading_per_s".to_owned(), beside);
            values.extend(ratio(beside, before).map(|ratio| ("reading_ratio".to_owned(), ratio)));
        }
        snapshot.end()?;
        line.watch(times.gap, false)?;
    }
    let told = line.history.iter().copied().filter(|length| *length >= 0.0);
    values.extend(
        told.reduce(f64::max)
            .map(|longest| ("history_max".to_owned(), longest)),
    );
    let series = BTreeMap::from([
        ("at_s".to_owned(), line.at_s),
        ("updates_per_s".to_owned(), line.rate_per_s),
        ("history".to_owned(), line.history),
        ("held".to_owned(), line.held),
    ]);
    load.finish()?;
    Ok(Found {
        values,
        series,
        ..Found::default()
    })
}
