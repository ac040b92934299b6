//! A disk that does wrong while clients work, and a system that gives no threads.
//!
//! | kind | what happens |
//! |---|---|
//! | lost | a write is not done, and says that it was |
//! | astray | a write goes to another page of its file |
//! | short | only the first sectors of a write are done; or a read gets only the first |
//! | rot | bits of what is stored flip |
//! | drops | a sync fails, and takes for written what it should have written |
//! | lies | syncs do nothing, and say that all is well |
//! | threads | the system refuses to start threads |
//!
//! While the engine runs, nothing that it shows may be wrong: what a disk has lost or put elsewhere is an error of the statement
//! that needs it, which names the page. Then the engine stops, in order or not, and starts again on a disk that is well. What
//! must be there then is in [`Run::may_lose`]: where nothing that is left can tell, commits may be missing; but then
//! the tables must agree with their indexes, or the check say that they do not.

use super::client::World;
use super::cuts::{Settings, make_tables, read_tables};
use super::damage::{log_position, may_pass_for_the_end, names_it, some_byte};
use super::model::Model;
use super::scheduler::Random;
use super::system;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidemark_engine::disk::sim::{Faults, Harm, SimDisk};
use tidemark_engine::{Engine, Error};

/// No call of the engine may take longer, in milliseconds.
const LONGEST_MS: u64 = 10_000;
/// Pools so small that pages come back from the disk.
const POOLS: [u64; 2] = [1 << 20, 2 << 20];
/// What rots: a file whose name begins so.
const ROTTEN: [&str; 7] = [
    "data",
    "data",
    "data",
    "redo-",
    "control",
    "doublewrite",
    "scratch",
];
/// What loses writes.
const HARMED: [&str; 5] = ["data", "data", "redo-", "control", "doublewrite"];

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Lost,
    Astray,
    ShortWrite,
    ShortRead,
    Rot,
    Drops,
    Lies,
    Threads,
}

const KINDS: [Kind; 8] = [
    Kind::Lost,
    Kind::Astray,
    Kind::ShortWrite,
    Kind::ShortRead,
    Kind::Rot,
    Kind::Drops,
    Kind::Lies,
    Kind::Threads,
];

/// How the engine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// In order, if it can.
    Shutdown,
    /// The process ends.
    Kill,
    /// The power goes.
    Cut,
}

/// What became of a run.
#[derive(Debug)]
pub struct Shown {
    /// What went wrong.
    pub kind: Kind,
    /// Errors that clients were told.
    pub errors: u64,
    /// What the next start made of it.
    pub outcome: Outcome,
}

/// What the next start made of what had happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Refused, by name.
    Refused,
    /// Named by the error of a read.
    Named,
    /// All is there.
    Whole,
    /// Something is missing, which nothing that is left could tell.
    Passed,
}

/// A run: an engine, what is wrong with its disk, and what must be there.
struct Run {
    kind: Kind,
    random: Random,
    settings: Settings,
    disk: SimDisk,
    /// Bits that have flipped.
    rotten: Vec<Harm>,
}

/// Lets clients work on a disk that does wrong in the way that follows from the seed.
pub fn run(seed: u64) -> Result<Shown, String> {
    let mut random = Random(seed);
    let kind = KINDS[(seed % KINDS.len() as u64) as usize];
    let pool = POOLS[random.below(POOLS.len() as u64) as usize];
    let run = Run {
        kind,
        settings: Settings::of(&mut random).with_pool(pool),
        disk: SimDisk::new(random.draw()),
        random,
        rotten: Vec::new(),
    };
    run.go().map_err(|wrong| format!("{kind:?}: {wrong}"))
}

impl Run {
    fn go(mut self) -> Result<Shown, String> {
        let failed = |error: Error| format!("making the directory: {error}");
        let mut model = Model::default();
        let engine = self.settings.open(&self.disk).map_err(failed)?;
        make_tables(&engine, &mut model).map_err(failed)?;
        engine.set_scrub_rate([0, 500][self.random.below(2) as usize]);
        let world = World::new(engine, &self.disk, model);
        self.work(&world, 1500, |_| {})?;
        let world = World {
            faulty: !matches!(self.kind, Kind::Lies | Kind::Threads),
            over: AtomicBool::new(false),
            ..world
        };
        self.work(&world, 4000, Run::do_wrong)?;
        let longest = world.longest_ms.load(Ordering::Relaxed);
        if longest > LONGEST_MS {
            return Err(format!("a call took {longest} ms"));
        }
        let end = self.stop(&world.engine)?;
        let World {
            engine,
            model,
            errors,
            ..
        } = world;
        drop(engine);
        let mut harms = self.disk.harms();
        harms.append(&mut self.rotten);
        self.disk = self.disk.kill();
        let may_lose = self.may_lose(end, &harms)?;
        let outcome = self
            .judge(&model.into_inner(), may_lose, end)
            .map_err(|wrong| format!("{end:?}, {harms:?}: {wrong}"))?;
        Ok(Shown {
            kind: self.kind,
            errors: errors.into_inner().values().sum(),
            outcome,
        })
    }

    /// Clients work, for no longer than that, and meanwhile `beside` is done now and then.
    fn work(&mut self, world: &World, most_ms: u64, mut beside: impl FnMut(&mut Run)) -> Result<(), String> {
        let seeds: Vec<u64> = (0..self.settings.clients).map(|_| self.random.draw()).collect();
        let rounds = 1 + self.random.below(4);
        world.run_clients(&seeds, || {
            for _ in 0..rounds {
                let pause = 100 + self.random.below(most_ms) / rounds;
                std::thread::sleep(Duration::from_millis(pause));
                beside(self);
            }
            std::thread::sleep(Duration::from_millis(self.random.below(most_ms / 2)));
            world.over.store(true, Ordering::Relaxed);
            system::refuse_threads(0, 0);
        })
    }

    fn do_wrong(&mut self) {
        let random = &mut self.random;
        let soon = Some(1 + random.below(20));
        let harms = HARMED[random.below(HARMED.len() as u64) as usize];
        let faults = Faults {
            harms,
            ..Faults::default()
        };
        let faults = match self.kind {
            Kind::Lost => Faults {
                write_lost_in: soon,
                ..faults
            },
            Kind::Astray => Faults {
                write_misdirected_in: soon,
                ..faults
            },
            Kind::ShortWrite => Faults {
                write_short_in: soon,
                ..faults
            },
            Kind::ShortRead => Faults {
                read_short_in: soon,
                harms: "",
                ..faults
            },
            Kind::Drops => Faults {
                sync_failure_in: soon,
                sync_failure_drops: true,
                ..faults
            },
            Kind::Lies => Faults {
                syncs_lie: true,
                ..faults
            },
            Kind::Threads => return system::refuse_threads(random.below(4), 1 + random.below(100)),
            Kind::Rot => {
                let name = ROTTEN[random.below(ROTTEN.len() as u64) as usize];
                if let Ok((name, byte)) = some_byte(&self.disk, random, name) {
                    self.disk.flip_bit(&name, byte, random.below(8) as u8);
                    let bytes = byte as u64..byte as u64 + 1;
                    self.rotten.push(Harm { file: name, bytes });
                }
                return;
            }
        };
        self.disk.set_faults(faults);
    }

    /// Stops the engine in one of the ways, and makes the disk well again.
    fn stop(&mut self, engine: &Engine) -> Result<End, String> {
        let end = match (self.kind, self.random.below(3)) {
            (Kind::Drops, _) | (_, 0) => End::Cut,
            (_, 1) => End::Kill,
            _ => End::Shutdown,
        };
        match end {
            End::Shutdown => {
                let stopped = engine.shutdown();
                // A stop that fails is like a killed process.
                if let Err(error) = stopped
                    && matches!(self.kind, Kind::Lies | Kind::Threads)
                {
                    return Err(format!("the engine does not stop: {error}"));
                }
            }
            End::Kill => {}
            End::Cut => self.disk.cut_power(),
        }
        Ok(end)
    }

    /// Starts on what is left.
    fn judge(&mut self, model: &Model, may_lose: bool, end: End) -> Result<Outcome, String> {
        let is_unharmed = match self.kind {
            Kind::ShortRead | Kind::Drops | Kind::Threads => true,
            Kind::Lies => end != End::Cut,
            _ => false,
        };
        if self.kind == Kind::Threads {
            self.start_without_threads()?;
        }
        let found = self.settings.open(&self.disk).map(|engine| read_tables(&engine));
        let outcome = match found {
            Err(error) if names_it(&error) && !is_unharmed => Outcome::Refused,
            Ok(Err(error)) if names_it(&error) && !is_unharmed => Outcome::Named,
            Err(error) => return Err(format!("the next start: {error}")),
            Ok(Err(error)) => return Err(format!("reading after the next start: {error}")),
            Ok(Ok(Err(wrong))) if may_lose => match self.check_notices() {
                true => Outcome::Named,
                false => return Err(format!("{wrong}, and the check does not notice")),
            },
            Ok(Ok(found)) => match found.and_then(|found| model.clone().settle(&found)) {
                Ok(()) => Outcome::Whole,
                Err(_) if may_lose => Outcome::Passed,
                Err(wrong) => return Err(format!("a wrong answer: {wrong}")),
            },
        };
        Ok(outcome)
    }

    /// Whether commits may be missing after the next start: a sync that lies has left nothing that could tell after the power
    /// went; a page that is of before, but whole, was known for what it is only to the engine that had written it; and behind
    /// what something vouches for, the log may have ended.
    fn may_lose(&self, end: End, harms: &[Harm]) -> Result<bool, String> {
        if self.kind == Kind::Lies {
            return Ok(end == End::Cut);
        }
        let loses_pages = matches!(self.kind, Kind::Lost | Kind::Astray | Kind::ShortWrite);
        for harm in harms {
            if loses_pages && harm.file == "data" {
                return Ok(true);
            }
            if let Some(at) = log_position(&harm.file, harm.bytes.start)
                && may_pass_for_the_end(&self.disk, at)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn check_notices(&self) -> bool {
        self.disk.cut_power();
        let checked = Engine::check_with(self.settings.config(&self.disk.restart()));
        checked.map_or(true, |report| !report.faults.is_empty())
    }

    /// A start for which there are not threads enough is refused, and says so; or it needs none of them.
    fn start_without_threads(&mut self) -> Result<(), String> {
        system::refuse_threads(self.random.below(6), 1 + self.random.below(3));
        let opened = self.settings.open(&self.disk);
        system::refuse_threads(0, 0);
        match opened {
            Err(error) if !error.to_string().contains("thread") => Err(format!(
                "a start without threads fails with an error that does not say so: {error}"
            )),
            opened => {
                drop(opened);
                self.disk = self.disk.kill();
                Ok(())
            }
        }
    }
}
