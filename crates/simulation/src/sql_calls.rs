//! Every n-th call of the disk fails under sessions of SQL, as under the engine alone in [`calls`](super::calls): a statement that fails
//! has left nothing, no statement hangs, and what was acknowledged is there when the disk is well again.

use super::calls::{Errors, in_each_way};
use super::crowd::run_clients;
use super::model::Model;
use super::scheduler::Random;
use super::sql::{make_tables, open, read_tables};
use super::sql_client::{SLOTS, SqlClient, SqlWorld};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::disk::sim::{Failing, Faults, SimDisk};

/// No statement may take longer, in milliseconds.
const LONGEST_MS: u64 = 10_000;
/// How long sessions work: longer than the engine waits for a disk that fails.
const WORK: Duration = Duration::from_secs(5);
/// The seed of the run that is disturbed.
const SEED: u64 = 1;

/// Has the `at`-th call fail in each of the ways, counted from the start of a database that has its tables; what the clients were told.
pub fn run(at: u64) -> Result<Errors, String> {
    let disk = SimDisk::new(SEED);
    let mut model = Model::default();
    let made = open(&disk).and_then(|database| {
        make_tables(&database, &mut model)?;
        database.shutdown()
    });
    made.map_err(|error| format!("making the tables: {error}"))?;
    in_each_way(at, &mut |failing, errors| {
        disturbed(&disk.restart(), model.clone(), failing, errors)
    })
}

fn disturbed(disk: &SimDisk, mut model: Model, failing: &Failing, errors: &mut Errors) -> Result<(), String> {
    let mut random = Random(SEED);
    disk.set_faults(Faults {
        failing: Some(*failing),
        sync_failure_drops: failing.at.is_multiple_of(2),
        ..Faults::default()
    });
    match open(disk) {
        Err(error) => *errors.entry(format!("start: {}", error.message)).or_default() += 1,
        Ok(database) => {
            let world = SqlWorld {
                faulty: true,
                loads: !failing.at.is_multiple_of(2),
                ..SqlWorld::new(database, disk, model)
            };
            // Each client has a table to itself.
            let seeds: Vec<u64> = (0..SLOTS).map(|_| random.draw()).collect();
            let client = |n, seed| match SqlClient::new(&world, n, seed) {
                Ok(client) => client.run(),
                // The database has stopped before it came.
                Err(_) => Ok(()),
            };
            run_clients(&world.over, &seeds, client, || {
                std::thread::sleep(WORK);
                world.over.store(true, Ordering::Relaxed);
            })?;
            let longest = world.longest_ms.load(Ordering::Relaxed);
            if longest > LONGEST_MS {
                return Err(format!("a statement took {longest} ms"));
            }
            model = world.model.into_inner();
            for (error, n) in world.errors.into_inner() {
                *errors.entry(error).or_default() += n;
            }
        }
    }
    disk.set_faults(Faults::default());
    let disk = disk.restart();
    let database = open(&disk).map_err(|error| format!("the next start: {error}"))?;
    let found =
        read_tables(&database).map_err(|error| format!("reading after the next start: {error}"))??;
    model.settle(&found)
}
