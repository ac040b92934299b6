//! The n-th call of the disk fails, once or from then on, with an error of the medium or for want of room; for every n.
//!
//! Clients go on as well as they can: whatever fails is an error of its statement, within seconds. Afterwards the disk is well
//! again, and what was acknowledged must be there.

use super::client::World;
use super::cuts::{Settings, make_tables, read_tables};
use super::model::Model;
use super::scheduler::Random;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::disk::sim::{Call, Failing, Faults, SimDisk};

/// No call of the engine may take longer, in milliseconds.
const LONGEST_MS: u64 = 10_000;
/// How long clients work: longer than the engine waits for a disk that fails.
const WORK: Duration = Duration::from_secs(6);
/// The seed of the run that is disturbed.
const SEED: u64 = 1;

/// What went wrong in the eyes of the clients: each error and how often.
pub type Errors = BTreeMap<String, u64>;

/// Has the `at`-th call fail in each of the ways; what the clients were told.
pub fn run(at: u64) -> Result<Errors, String> {
    in_each_way(at, &mut |failing, errors| {
        for (error, n) in disturbed(*failing)? {
            *errors.entry(error).or_default() += n;
        }
        Ok(())
    })
}

/// Calls `run` with each way in which the `at`-th call can fail: for want of room or otherwise, once or from then on.
pub fn in_each_way(
    at: u64,
    run: &mut dyn FnMut(&Failing, &mut Errors) -> Result<(), String>,
) -> Result<Errors, String> {
    let mut errors = Errors::new();
    for (error, calls) in [(libc::EIO, &[][..]), (libc::ENOSPC, Call::GROWING)] {
        for for_ever in [false, true] {
            let failing = Failing {
                calls,
                at,
                for_ever,
                error,
            };
            run(&failing, &mut errors).map_err(|wrong| format!("{failing:?}: {wrong}"))?;
        }
    }
    Ok(errors)
}

fn disturbed(failing: Failing) -> Result<Errors, String> {
    let mut random = Random(SEED);
    let settings = Settings::of(&mut random);
    let disk = SimDisk::new(SEED);
    let mut model = Model::default();
    disk.set_faults(Faults {
        failing: Some(failing),
        sync_failure_drops: failing.at.is_multiple_of(2),
        ..Faults::default()
    });
    let mut errors = Errors::new();
    match settings.open(&disk) {
        Ok(engine) => {
            let made = make_tables(&engine, &mut model);
            if let Err(error) = made {
                errors.insert(error.to_string(), 1);
            } else {
                let world = World {
                    faulty: true,
                    ..World::new(engine, &disk, std::mem::take(&mut model))
                };
                let seeds: Vec<u64> = (0..3).map(|_| random.draw()).collect();
                world.run_clients(&seeds, || {
                    std::thread::sleep(WORK);
                    world.over.store(true, Ordering::Relaxed);
                })?;
                let longest = world.longest_ms.load(Ordering::Relaxed);
                if longest > LONGEST_MS {
                    return Err(format!("a call took {longest} ms"));
                }
                let World {
                    engine,
                    model: done,
                    errors: told,
                    ..
                } = world;
                drop(engine);
                model = done.into_inner();
                errors = told.into_inner();
            }
        }
        Err(error) => drop(errors.insert(format!("start: {error}"), 1)),
    }
    disk.set_faults(Faults::default());
    let disk = disk.restart();
    let engine = settings
        .open(&disk)
        .map_err(|error| format!("the next start: {error}"))?;
    if model.slots.is_empty() {
        return Ok(errors);
    }
    let found = read_tables(&engine).map_err(|error| format!("reading after the next start: {error}"))??;
    model.settle(&found)?;
    Ok(errors)
}
