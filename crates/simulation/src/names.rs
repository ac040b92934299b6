//! Names on the disk, and names in the catalog.
//!
//! - Syncs of the directory fail for a while, or the process has no descriptor left, under clients. Nothing is restarted: once the
//!   disk is well again, writing goes on, over more than the whole log, and what was acknowledged is there.
//! - The power goes at the n-th change of a new directory, in the first start of a database: the next start opens it.
//! - The power goes while definitions are written that take hundreds of entries: each is there whole, the old one or the new one.

use super::calls::Errors;
use super::client::World;
use super::cuts::{Settings, make_tables, read_tables};
use super::model::Model;
use super::power::{cut_in, of_any_size};
use super::scheduler::Random;
use super::sql;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::Engine;
use tidemark_engine::disk::sim::{Call, Failing, Faults, SimDisk};

/// How long clients work before and after the disk fails, and how long it fails.
const WELL: Duration = Duration::from_secs(1);
const FAILS: Duration = Duration::from_secs(2);
/// After that writing must go on within so long.
const RECOVERS: Duration = Duration::from_secs(20);
/// Of the longest definition, which takes some hundred entries; and how many are written to go round the log.
const LONG: u64 = 1_000_000;
const ROUND: u64 = 12;
/// How many runs a seed has: ways of failing, cuts in first starts, and those in definitions.
pub const RUNS: usize = 8 + CUTS as usize + 1;
const CUTS: u64 = 8;
const SPACE: &str = "simulation.long";

/// Runs all of it; what clients were told.
pub fn run(seed: u64) -> Result<Errors, String> {
    let mut errors = Errors::new();
    for (calls, error) in [
        (&[Call::SyncDir][..], libc::EIO),
        (&[Call::SyncDir], libc::EMFILE),
        (&[Call::Open], libc::EMFILE),
        (&[Call::Rename], libc::EIO),
    ] {
        for for_ever in [false, true] {
            let failing = Failing {
                calls,
                at: 1 + seed % 4,
                for_ever,
                error,
            };
            fails_for_a_while(seed, failing, &mut errors).map_err(|wrong| format!("{failing:?}: {wrong}"))?;
        }
    }
    for change in CUTS * seed..CUTS * (seed + 1) {
        cut_in_the_first_start(seed, change + 1)
            .map_err(|wrong| format!("a new directory, cut at change {}: {wrong}", change + 1))?;
    }
    cut_in_long_definitions(seed)?;
    Ok(errors)
}

fn fails_for_a_while(seed: u64, failing: Failing, errors: &mut Errors) -> Result<(), String> {
    let mut random = Random(seed);
    let settings = Settings::of(&mut random);
    let disk = SimDisk::new(seed);
    let mut model = Model::default();
    let engine = settings
        .open(&disk)
        .map_err(|error| format!("the first start: {error}"))?;
    make_tables(&engine, &mut model).map_err(|error| format!("making the tables: {error}"))?;
    let world = World {
        faulty: true,
        ..World::new(engine, &disk, model)
    };
    let seeds: Vec<u64> = (0..3).map(|_| random.draw()).collect();
    world.run_clients(&seeds, || {
        std::thread::sleep(WELL);
        disk.set_faults(Faults {
            failing: Some(failing),
            ..Faults::default()
        });
        std::thread::sleep(FAILS);
        disk.set_faults(Faults::default());
        std::thread::sleep(WELL);
        world.over.store(true, Ordering::Relaxed);
    })?;
    let mut waited = Duration::ZERO;
    for n in 0..ROUND {
        while let Err(error) = put(&world.engine, n, LONG) {
            if waited > RECOVERS {
                return Err(format!("the disk is well again, and writing is not: {error}"));
            }
            std::thread::sleep(WELL);
            waited += WELL;
        }
    }
    let World {
        engine,
        model,
        errors: told,
        ..
    } = world;
    drop(engine);
    for (error, n) in told.into_inner() {
        *errors.entry(error).or_default() += n;
    }
    let disk = disk.restart();
    let engine = settings
        .open(&disk)
        .map_err(|error| format!("the next start: {error}"))?;
    let found = read_tables(&engine).map_err(|error| format!("reading after the next start: {error}"))??;
    model.into_inner().settle(&found)
}

/// Stores a definition of which every byte says which one it is.
fn put(engine: &Engine, n: u64, len: u64) -> tidemark_engine::Result<()> {
    let mut ddl = engine.ddl()?;
    ddl.put_meta(SPACE, b"long", &vec![n as u8; len as usize])?;
    ddl.commit()
}

fn cut_in_the_first_start(seed: u64, change: u64) -> Result<(), String> {
    let mut disk = SimDisk::new(seed);
    disk.set_faults(cut_in(change));
    match sql::open(&disk) {
        Err(error) if !disk.is_dead() => return Err(format!("the first start: {}", error.message)),
        opened => drop(opened),
    }
    disk = disk.restart();
    let database = sql::open(&disk).map_err(|error| format!("the next start: {}", error.message))?;
    sql::connect(&database, 1, None).map_err(|error| format!("its root: {}", error.message))?;
    database
        .shutdown()
        .map_err(|error| format!("its stop: {}", error.message))
}

fn cut_in_long_definitions(seed: u64) -> Result<(), String> {
    let mut random = Random(seed);
    let settings = Settings::of(&mut random);
    let mut disk = SimDisk::new(seed);
    let mut before: Option<(u64, u64)> = None;
    for round in 0..4 {
        let mut under_way = None;
        let engine = settings
            .open(&disk)
            .map_err(|error| format!("start {round} with long definitions: {error}"))?;
        disk.set_faults(cut_in(of_any_size(&mut random, 2000)));
        for n in 0..ROUND {
            let new = (10 * round + n, 1 + random.below(LONG));
            under_way = Some(new);
            if put(&engine, new.0, new.1).is_err() {
                break;
            }
            before = Some(new);
        }
        drop(engine);
        disk = disk.restart();
        let engine = settings
            .open(&disk)
            .map_err(|error| format!("start {round} with long definitions: {error}"))?;
        let found = engine
            .meta_get(SPACE, b"long")
            .map_err(|error| format!("reading a long definition: {error}"))?;
        let is = |wanted: Option<(u64, u64)>| match (wanted, &found) {
            (None, None) => true,
            (Some((n, len)), Some(found)) => {
                found.len() as u64 == len && found.iter().all(|byte| *byte == n as u8)
            }
            _ => false,
        };
        if is(under_way) {
            before = under_way;
        } else if !is(before) {
            return Err(format!(
                "a definition of {:?} bytes is neither the old one, {before:?}, nor the new one, {under_way:?}",
                found.map(|found| found.len())
            ));
        }
        drop(engine);
        let report =
            Engine::check_with(settings.config(&disk)).map_err(|error| format!("the check: {error}"))?;
        if !report.faults.is_empty() {
            return Err(format!("the check finds {:?}", report.faults));
        }
    }
    Ok(())
}
