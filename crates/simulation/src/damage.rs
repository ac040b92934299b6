//! Files that are not what was written: flipped bits, and whole files missing, cut short or exchanged.
//!
//! A directory is made by clients, and stopped in order or not. Then, again and again, a copy of it is damaged and opened. It
//! may be refused, by an error that names what is damaged; a read may fail with such an error; or all is as it was. What must
//! never be is a wrong answer, a panic or a hang.

use super::client::World;
use super::cuts::{Settings, make_tables, read_tables};
use super::model::Model;
use super::scheduler::Random;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::disk::sim::{Faults, SimDisk};
use tidemark_engine::disk::{Access, Disk, File};
use tidemark_engine::{Engine, Error, PAGE_SIZE, vouched_log};

/// How often a directory is damaged.
const DAMAGES: u64 = 40;

/// What became of the damages.
#[derive(Default, Debug)]
pub struct Shown {
    /// All.
    pub damages: u64,
    /// Refused at the start, by name.
    pub refused: u64,
    /// Named by the error of a read.
    pub named: u64,
    /// Repaired, or where it did no harm.
    pub harmless: u64,
    /// Of the log behind what anything vouches for, and taken for its end.
    pub tail: u64,
}

/// A stopped directory and what must be in it.
struct Stopped {
    settings: Settings,
    disk: SimDisk,
    model: Model,
    is_clean: bool,
}

/// A damage, and where in the log it is, if it is there.
struct Damage {
    what: String,
    at: Option<u64>,
}

fn made(random: &mut Random) -> Result<Stopped, String> {
    let settings = Settings::of(random);
    let disk = SimDisk::new(random.draw());
    let failed = |error: Error| format!("making the directory: {error}");
    let mut model = Model::default();
    let engine = settings.open(&disk).map_err(failed)?;
    make_tables(&engine, &mut model).map_err(failed)?;
    let world = World::new(engine, &disk, model);
    let is_clean = random.one_in(2);
    // Twice, with a pause in which checkpoints get ahead; then the power goes, if it is to.
    for last in [false, true] {
        let works = Duration::from_millis(500 + random.below(3000));
        let seeds: Vec<u64> = (0..settings.clients).map(|_| random.draw()).collect();
        world.over.store(false, Ordering::Relaxed);
        world.run_clients(&seeds, || {
            std::thread::sleep(works);
            match is_clean || !last {
                true => world.over.store(true, Ordering::Relaxed),
                false => disk.set_faults(Faults {
                    power_cut_in: Some(1 + random.below(50)),
                    ..Faults::default()
                }),
            }
        })?;
        if !last {
            std::thread::sleep(Duration::from_millis(random.below(5000)));
        }
    }
    if is_clean {
        world.engine.shutdown().map_err(failed)?;
    }
    let World { engine, model, .. } = world;
    drop(engine);
    let disk = disk.restart();
    disk.cut_power();
    let mut model = model.into_inner();
    // What is in doubt is settled once, on a copy.
    let engine = settings.open(&disk.restart()).map_err(failed)?;
    model.settle(&read_tables(&engine).map_err(failed)??)?;
    Ok(Stopped {
        settings,
        disk,
        model,
        is_clean,
    })
}

/// Flips bits, one in each copy.
pub fn flip_bits(seed: u64) -> Result<Shown, String> {
    let mut random = Random(seed);
    let stopped = made(&mut random)?;
    let mut shown = Shown::default();
    for _ in 0..DAMAGES {
        let disk = stopped.disk.restart();
        let kinds = ["data", "data", "redo-", "control", "doublewrite"];
        let kind = kinds[random.below(kinds.len() as u64) as usize];
        let (name, byte) = match kind {
            "data" if random.one_in(2) => byte_of_a_copied_page(&disk, &mut random)?,
            _ => some_byte(&disk, &mut random, kind)?,
        };
        disk.flip_bit(&name, byte, random.below(8) as u8);
        let damage = Damage {
            what: format!("a bit of byte {byte} of {name} flipped"),
            at: log_position(&name, byte as u64),
        };
        stopped.judge(&disk, &damage, &mut random, &mut shown)?;
    }
    Ok(shown)
}

/// A byte of a file whose name begins so, seldom one that was never written.
pub fn some_byte(disk: &SimDisk, random: &mut Random, kind: &str) -> Result<(String, usize), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut names = disk.list().map_err(failed)?;
    names.retain(|name| name.starts_with(kind));
    let name = names.swap_remove(random.below(names.len() as u64) as usize);
    let file = disk.open(&name, false, Access::Buffered).map_err(failed)?;
    let len = file.len().map_err(failed)?.max(1);
    let mut sector = vec![0; 512];
    for _ in 0..50 {
        let at = random.below(len);
        file.read_at(&mut sector, at & !511).map_err(failed)?;
        if sector.iter().any(|&byte| byte != 0) {
            return Ok((name, at as usize));
        }
    }
    Ok((name, random.below(len) as usize))
}

/// A byte of a page of which the doublewrite file has a copy of before: one that must not take the page's place.
fn byte_of_a_copied_page(disk: &SimDisk, random: &mut Random) -> Result<(String, usize), String> {
    let failed = |error: std::io::Error| error.to_string();
    let read = |name: &str| -> std::io::Result<Vec<u8>> {
        let file = disk.open(name, false, Access::Buffered)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_at(&mut bytes, 0).map(|()| bytes)
    };
    let (copies, data) = (
        read("doublewrite").map_err(failed)?,
        read("data").map_err(failed)?,
    );
    let number = |page: &[u8], at| u64::from_le_bytes(page[at..at + 8].try_into().expect("eight bytes"));
    let is_older = |copy: &&[u8]| {
        let place = (number(copy, 0) >> 32) as usize * PAGE_SIZE;
        let lsn = number(copy, 8);
        lsn > 0
            && data
                .get(place..place + PAGE_SIZE)
                .is_some_and(|page| lsn < number(page, 8))
    };
    let older: Vec<&[u8]> = copies.chunks_exact(PAGE_SIZE).filter(is_older).collect();
    if older.is_empty() {
        return some_byte(disk, random, "data");
    }
    let copy = older[random.below(older.len() as u64) as usize];
    let place = (number(copy, 0) >> 32) as usize * PAGE_SIZE;
    Ok(("data".to_owned(), place + random.below(PAGE_SIZE as u64) as usize))
}

/// Removes files, cuts them short and exchanges them, one in each copy.
pub fn mix_up_files(seed: u64) -> Result<Shown, String> {
    let mut random = Random(seed);
    let stopped = made(&mut random)?;
    let other = made(&mut random)?;
    let mut shown = Shown::default();
    for _ in 0..DAMAGES {
        let disk = stopped.disk.restart();
        let names: Vec<String> = disk.list().map_err(|error| error.to_string())?;
        let name = names[random.below(names.len() as u64) as usize].clone();
        let done = match random.below(3) {
            0 => disk.remove(&name).map(|()| "removed"),
            1 => cut_short(&disk, &name, &mut random).map(|()| "cut short"),
            _ => exchange(&disk, &other.disk.restart(), &name).map(|()| "exchanged"),
        };
        let done = done.map_err(|error| error.to_string())?;
        let damage = Damage {
            what: format!("{name} {done}"),
            // A segment that is gone or cut short is always found.
            at: log_position(&name, 0).filter(|_| done == "exchanged"),
        };
        stopped.judge(&disk, &damage, &mut random, &mut shown)?;
    }
    Ok(shown)
}

fn cut_short(disk: &SimDisk, name: &str, random: &mut Random) -> std::io::Result<()> {
    let file = disk.open(name, false, Access::Buffered)?;
    let len = file.len()?.max(1);
    file.truncate(match random.below(3) {
        0 => 0,
        1 => random.below(len),
        _ => random.below(len) / PAGE_SIZE as u64 * PAGE_SIZE as u64,
    })
}

fn exchange(disk: &SimDisk, other: &SimDisk, name: &str) -> std::io::Result<()> {
    let there = other.list()?;
    let from = there
        .iter()
        .find(|found| *found == name)
        .or(there.iter().find(|found| found.starts_with("redo-")));
    let from: Arc<dyn File> = other.open(from.map_or("data", |name| name), false, Access::Buffered)?;
    let mut bytes = vec![0; from.len()? as usize];
    from.read_at(&mut bytes, 0)?;
    let to = disk.open(name, false, Access::Buffered)?;
    to.truncate(0)?;
    to.write_at(&bytes, 0)
}

/// Whether an error says what is damaged.
pub fn names_it(error: &Error) -> bool {
    let said = error.to_string();
    let names = [
        "page ",
        "redo-",
        "control",
        "data",
        "doublewrite",
        "log record",
        "position",
    ];
    matches!(
        error,
        Error::CannotOpen(_) | Error::Refused(_) | Error::Corrupt { .. }
    ) && names.iter().any(|name| said.contains(name))
}

impl Stopped {
    /// Opens a damaged copy and looks at what comes of it.
    fn judge(
        &self,
        disk: &SimDisk,
        Damage { what, at }: &Damage,
        random: &mut Random,
        shown: &mut Shown,
    ) -> Result<(), String> {
        shown.damages += 1;
        let may_pass = match at {
            Some(at) => may_pass_for_the_end(disk, *at)?,
            None => false,
        };
        if random.one_in(4) {
            match Engine::check_with(self.settings.config(disk)) {
                Err(error) if !names_it(&error) => {
                    return Err(format!("{what}: the check fails with {error}"));
                }
                _ => {}
            }
        }
        let opened = self.settings.open(disk).map(|engine| {
            let found = read_tables(&engine);
            if found.is_ok() && random.one_in(4) {
                // What purge and the page cleaner come upon is no reason to end the process either.
                std::thread::sleep(Duration::from_secs(3));
                let _ = engine.shutdown();
            }
            found
        });
        match opened {
            Err(error) if names_it(&error) => shown.refused += 1,
            Ok(Err(error)) if names_it(&error) => shown.named += 1,
            Err(error) | Ok(Err(error)) => {
                return Err(format!("{what}: an error that names nothing: {error}"));
            }
            Ok(Ok(found)) => match found.and_then(|found| self.model.clone().settle(&found)) {
                Ok(()) => shown.harmless += 1,
                Err(_) if may_pass => shown.tail += 1,
                Err(wrong) => {
                    return Err(format!(
                        "{what} (clean {}): a wrong answer: {wrong}",
                        self.is_clean
                    ));
                }
            },
        }
        Ok(())
    }
}

/// The size of a segment of the smallest log.
const SEGMENT: u64 = 512 << 10;

/// The position in the log of a byte of a file, if it is one of its segments.
pub fn log_position(file: &str, byte: u64) -> Option<u64> {
    let number: u64 = file.strip_prefix("redo-")?.parse().ok()?;
    Some(number * SEGMENT + byte)
}

/// Whether what is damaged at that position of the log may be taken for its end: where nothing that is left in the directory
/// vouches for it, it is like what was being written when the power went.
pub fn may_pass_for_the_end(disk: &SimDisk, at: u64) -> Result<bool, String> {
    match vouched_log(Arc::new(disk.clone())).map_err(Error::from) {
        // A start begins to read there, so it finds no damage before.
        Ok(vouched) => Ok(at.max(vouched.start.0) >= vouched.end.0),
        Err(error) if names_it(&error) => Ok(false),
        Err(error) => Err(format!("what vouches for the log cannot be read: {error}")),
    }
}
