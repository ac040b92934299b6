//! Power cuts: clients work until the power goes, at a random change of the disk; then the engine starts, which may be cut
//! short as well, and what it finds is held against the model.

use super::client::{NAMES, SLOTS, World, all_rows, schema};
use super::disk::SlowDisk;
use super::model::{Model, Rows, SPARES, Shape};
use super::power::{cut_in, lose_power, of_any_size, try_start};
use super::scheduler::Random;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::disk::sim::{Faults, SimDisk};
use tidemark_engine::*;

/// No call may take longer, in seconds of the world's time.
const LONGEST_S: u64 = 60;

/// How the engine of a run is set up, which follows from its seed.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Clients at once.
    pub clients: u64,
    pool: u64,
    retention: Duration,
    purge_threads: usize,
}

impl Settings {
    /// Settings that follow from the seed.
    pub fn of(random: &mut Random) -> Settings {
        Settings {
            clients: 1 + random.below(4),
            pool: [2 << 20, 4 << 20, 16 << 20][random.below(3) as usize],
            retention: Duration::from_secs([0, 2, 10][random.below(3) as usize]),
            purge_threads: 1 + random.below(3) as usize,
        }
    }

    /// The same with another pool, in bytes.
    pub fn with_pool(self, pool: u64) -> Settings {
        Settings { pool, ..self }
    }

    /// The engine's configuration on a disk.
    pub fn config(&self, disk: &SimDisk) -> Config {
        let mut config = Config::new("");
        config.disk = Some(Arc::new(SlowDisk(disk.clone())));
        config.buffer_pool_bytes = self.pool;
        config.log_capacity_bytes = 4 << 20;
        config.log_buffer_bytes = 1 << 20;
        config.purge_threads = self.purge_threads;
        config.abort_on_log_failure = false;
        config
    }

    /// An engine, set up.
    pub fn open(&self, disk: &SimDisk) -> Result<Engine> {
        let engine = Engine::open(self.config(disk))?;
        engine.set_undo_retention(self.retention);
        engine.set_bury_after(Duration::from_millis(20));
        Ok(engine)
    }
}

/// Makes the tables where there are none.
pub fn make_tables(engine: &Engine, model: &mut Model) -> Result<()> {
    let mut ddl = engine.ddl()?;
    let mut made = Vec::new();
    for slot in 0..SLOTS {
        let shape = Shape {
            table: ddl.create_table(&schema(2))?,
            indexes: 2,
            columns: 0,
            spares: [0; SPARES],
        };
        ddl.put_meta(NAMES, &[slot as u8], &shape.to_bytes())?;
        made.push(shape);
    }
    ddl.commit()?;
    for (slot, shape) in made.into_iter().enumerate() {
        model.slots.push(Default::default());
        model.define(slot, shape, true);
    }
    Ok(())
}

/// What stands in the tables.
pub fn read_tables(engine: &Engine) -> Result<std::result::Result<Vec<(Shape, Rows)>, String>> {
    let mut found = Vec::new();
    for slot in 0..SLOTS {
        let Some(shape) = engine
            .meta_get(NAMES, &[slot as u8])?
            .and_then(|bytes| Shape::from_bytes(&bytes))
        else {
            return Ok(Err(format!("table {slot} is not there")));
        };
        let table = engine.table(shape.table)?;
        if table.schema().secondary.len() != shape.indexes {
            return Ok(Err(format!(
                "table {slot} has {} indexes",
                table.schema().secondary.len()
            )));
        }
        let mut txn = engine.transaction();
        txn.begin(Isolation::RepeatableRead, true);
        match all_rows(&table, &shape, &mut txn)? {
            Ok(rows) => found.push((shape, rows)),
            Err(wrong) => return Ok(Err(wrong)),
        }
    }
    Ok(Ok(found))
}

/// What a run has shown.
#[derive(Default, Debug)]
pub struct Shown {
    /// Cuts while clients worked.
    pub cuts: u64,
    /// Cuts while the engine started, or stopped.
    pub cuts_of_starts: u64,
    /// Commits that were acknowledged.
    pub commits: u64,
    /// The longest call.
    pub longest_ms: u64,
}

/// One run: so many cuts while clients work.
pub struct Run {
    random: Random,
    settings: Settings,
    disk: SimDisk,
    model: Model,
    shown: Shown,
}

impl Run {
    /// A run that follows from the seed.
    pub fn new(seed: u64) -> Run {
        let mut random = Random(seed);
        Run {
            settings: Settings::of(&mut random),
            random,
            disk: SimDisk::new(seed),
            model: Model::default(),
            shown: Shown::default(),
        }
    }

    /// Runs until there were so many cuts.
    pub fn go(mut self, cuts: u64) -> std::result::Result<Shown, String> {
        let engine = self
            .settings
            .open(&self.disk)
            .map_err(|error| format!("the first start: {error}"))?;
        make_tables(&engine, &mut self.model).map_err(|error| format!("making the tables: {error}"))?;
        drop(engine);
        while self.shown.cuts < cuts {
            lose_power(&mut self.random, &mut self.disk);
            let engine = self.start()?;
            let found = read_tables(&engine).map_err(|error| format!("reading after a start: {error}"))??;
            self.model
                .settle(&found)
                .map_err(|wrong| format!("after cut {}: {wrong}", self.shown.cuts))?;
            self.work(engine)?;
        }
        self.shown.commits = self.model.commits;
        Ok(self.shown)
    }

    /// Starts the engine, perhaps not at the first time.
    fn start(&mut self) -> std::result::Result<Engine, String> {
        loop {
            if self.random.one_in(4) {
                let report = Engine::check_with(self.settings.config(&self.disk));
                let report = report.map_err(|error| format!("the check: {error}"))?;
                if !report.faults.is_empty() {
                    return Err(format!("the check finds {:?}", report.faults));
                }
            }
            let open = |disk: &SimDisk| self.settings.open(disk);
            if let Some(engine) = try_start(&mut self.random, &mut self.disk, open)? {
                return Ok(engine);
            }
            self.shown.cuts_of_starts += 1;
        }
    }

    /// Clients work until the power goes, or until the engine is stopped.
    fn work(&mut self, engine: Engine) -> std::result::Result<(), String> {
        let stops = self.random.one_in(10);
        let changes = of_any_size(&mut self.random, 3000);
        let world = World::new(engine, &self.disk, std::mem::take(&mut self.model));
        if !stops {
            self.disk.set_faults(cut_in(changes));
        }
        let seeds: Vec<u64> = (0..self.settings.clients).map(|_| self.random.draw()).collect();
        let pause = self.random.below(4000);
        world.run_clients(&seeds, || {
            if stops {
                std::thread::sleep(Duration::from_millis(pause));
                world.over.store(true, Ordering::Relaxed);
            }
        })?;
        if stops {
            let is_cut = self.random.one_in(2);
            if is_cut {
                self.disk.set_faults(cut_in(of_any_size(&mut self.random, 100)));
            }
            match world.engine.shutdown() {
                Ok(()) => {}
                Err(_) if self.disk.is_dead() => self.shown.cuts_of_starts += 1,
                Err(error) => return Err(format!("the engine does not stop: {error}")),
            }
            self.disk.set_faults(Faults::default());
        } else {
            self.shown.cuts += 1;
        }
        self.shown.longest_ms = self.shown.longest_ms.max(world.longest_ms.into_inner());
        if self.shown.longest_ms > LONGEST_S * 1000 {
            return Err(format!("a call took {} ms", self.shown.longest_ms));
        }
        self.model = world.model.into_inner();
        Ok(())
    }
}
