//! What the clients of a run do: transactions of random changes, definitions, and reads that are held against each other.

mod definitions;

use super::crowd::{self, Done, Stop, until_over};
use super::model::{Model, Row, Rows, Shape, Spares, Text, Writes};
use super::scheduler::{self, Random};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// Tables of a run.
pub const SLOTS: usize = 3;
/// Ids below this are drawn for single rows.
const IDS: u64 = 300;
/// Above them, so many times a hundred are filled and emptied together.
const RANGES: u64 = 8;
/// The meta space of the tables' numbers.
pub const NAMES: &str = "simulation.tables";
/// For how long a lock is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What all clients of a run share.
pub struct World {
    /// The engine under test.
    pub engine: Engine,
    /// Its disk.
    pub disk: SimDisk,
    /// What must be there.
    pub model: Mutex<Model>,
    /// Held shared by statements that use a table and alone by those that redefine it, as metadata locks are.
    pub slots: Vec<RwLock<()>>,
    /// Held by a client from the beginning to the end of a change of the table's definition.
    pub alterers: Vec<Mutex<()>>,
    /// Whether calls may fail although the power is on.
    pub faulty: bool,
    /// The clients are to stop.
    pub over: AtomicBool,
    /// The longest that any call took, in milliseconds of the world's time.
    pub longest_ms: AtomicU64,
    /// Views of the past: the moment, the table, its rows.
    pub past: Mutex<Vec<(Lsn, usize, Shape, Rows)>>,
    /// What calls failed with, and how often.
    pub errors: Mutex<BTreeMap<String, u64>>,
}

impl World {
    /// An engine on a disk, and what must be there. Calls may not fail while the power is on.
    pub fn new(engine: Engine, disk: &SimDisk, model: Model) -> World {
        World {
            engine,
            disk: disk.clone(),
            model: Mutex::new(model),
            slots: (0..SLOTS).map(|_| RwLock::new(())).collect(),
            alterers: (0..SLOTS).map(|_| Mutex::new(())).collect(),
            faulty: false,
            over: AtomicBool::new(false),
            longest_ms: AtomicU64::new(0),
            past: Mutex::default(),
            errors: Mutex::default(),
        }
    }

    /// Runs a client for each of the seeds, and `beside` on this thread, until all are done.
    pub fn run_clients(&self, seeds: &[u64], beside: impl FnOnce()) -> std::result::Result<(), String> {
        crowd::run_clients(&self.over, seeds, |_, seed| Client::new(self, seed).run(), beside)
    }
}

fn datum_row(random: &mut Random, id: i64, writer: u64) -> Row {
    let len = match random.below(100) {
        0 | 1 => 8_000 + random.below(30_000),
        2..8 => 500 + random.below(3_000),
        _ => random.below(200),
    };
    Row {
        id,
        writer,
        k: (!random.one_in(8)).then(|| random.below(20) as i64),
        u: random.one_in(3).then(|| random.below(600) as i64),
        c: Text::new(len as usize, random.draw()),
    }
}

/// The definition of every table, with so many secondary indexes.
pub fn schema(indexes: usize) -> TableSchema {
    let column = |ty, nullable| Column { ty, nullable };
    let index = |parts: &[usize], unique| IndexSchema {
        parts: parts.iter().map(|c| KeyPart::column(*c)).collect(),
        unique,
    };
    let int = |nullable| column(ColumnType::Int { bytes: 4 }, nullable);
    TableSchema {
        columns: vec![
            int(false),
            column(ColumnType::UInt { bytes: 8 }, false),
            int(true),
            int(true),
            column(ColumnType::Bytes, false),
        ],
        primary: Some(index(&[0], true)),
        secondary: (0..indexes).map(extra_index).collect(),
    }
}

fn extra_index(n: usize) -> IndexSchema {
    let (parts, unique): (&[usize], bool) = match n {
        0 => (&[2], false),
        1 => (&[3], true),
        2 => (&[1, 2], false),
        _ => (&[2, 3], false),
    };
    IndexSchema {
        parts: parts.iter().map(|c| KeyPart::column(*c)).collect(),
        unique,
    }
}

/// Indexes that every table has.
const INDEXES_MIN: usize = 2;
const INDEXES_MAX: usize = 4;

fn id_key(table: &Table, id: i64) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    table.encode_key(0, &[Datum::Int(id)], &mut key)?;
    Ok(key)
}

/// The spare columns of a row.
fn spares_of(view: &RowView, shape: &Shape) -> Spares {
    let mut place = schema(0).columns.len();
    std::array::from_fn(|n| {
        (shape.spares[n] > 0).then(|| {
            place += 1;
            view.get(place - 1).as_bytes().unwrap_or_default().to_vec()
        })
    })
}

/// All rows as an index shows them.
pub fn rows_by(table: &Table, txn: &mut Transaction, index: IndexNo) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    table.scan(
        txn,
        &RangeScan::new(index, &KeyRange::all()),
        Read::Consistent,
        &mut |view| {
            rows.push(Row::of(view));
            Ok((Keep::Locked, Flow::Continue))
        },
    )?;
    Ok(rows)
}

/// All rows, which each index must agree on, and whose spare columns must be what the shape and their writers make them.
pub fn all_rows(
    table: &Table,
    shape: &Shape,
    txn: &mut Transaction,
) -> Result<std::result::Result<Rows, String>> {
    let (mut rows, mut wrong) = (Vec::new(), None);
    let (scan, all) = (|all| RangeScan::new(0, all), KeyRange::all());
    table.scan(txn, &scan(&all), Read::Consistent, &mut |view| {
        let row = Row::of(view);
        if spares_of(view, shape) != shape.spares_by(row.writer) {
            wrong = Some((row.id, row.writer));
        }
        rows.push(row);
        Ok((Keep::Locked, Flow::Continue))
    })?;
    if let Some((id, writer)) = wrong {
        return Ok(Err(format!(
            "row {id} of {shape:?}, which is of {writer}, has other spare columns"
        )));
    }
    for index in 1..=table.schema().secondary.len() {
        let mut others = rows_by(table, txn, index)?;
        others.sort_by_key(|row| row.id);
        if others != rows {
            let ids = |rows: &[Row]| {
                rows.iter()
                    .map(|row| (row.id, row.writer))
                    .collect::<BTreeSet<_>>()
            };
            let (here, there) = (ids(&rows), ids(&others));
            return Ok(Err(format!(
                "index {index} of {:?} disagrees with the table about (row, writer) {:?}",
                table.id(),
                here.symmetric_difference(&there).collect::<Vec<_>>()
            )));
        }
    }
    Ok(Ok(rows.into_iter().map(|row| (row.id, row)).collect()))
}

/// One client and its transaction.
pub struct Client<'w> {
    world: &'w World,
    random: Random,
    txn: Transaction,
    /// The transaction has lost a deadlock.
    is_victim: bool,
}

/// What a transaction has done so far.
struct Doing {
    number: u64,
    isolation: Isolation,
    writes: Writes,
    savepoints: Vec<(Savepoint, Writes)>,
}

impl<'w> Client<'w> {
    /// A client whose doings follow from the seed.
    pub fn new(world: &'w World, seed: u64) -> Client<'w> {
        let mut txn = world.engine.transaction();
        txn.set_lock_wait_timeout(LOCK_WAIT);
        Client {
            world,
            random: Random(seed),
            txn,
            is_victim: false,
        }
    }

    /// Works until it must stop.
    pub fn run(mut self) -> std::result::Result<(), String> {
        let world = self.world;
        until_over(&world.over, || match self.random.below(60) {
            0 | 1 => self.redefine(),
            2..6 => self.look(),
            8 => self.rest(),
            9 => self.look_back(),
            10 => self.timed(|client| client.world.engine.purge()).map(drop),
            _ => self.transact(),
        })
    }

    fn rest(&mut self) -> Done {
        std::thread::sleep(Duration::from_millis(self.random.below(3000)));
        Ok(())
    }

    /// Makes a call of the engine and notes how long it took.
    fn timed<T>(&mut self, call: impl FnOnce(&mut Self) -> Result<T>) -> Done<Option<T>> {
        let world = self.world;
        match crowd::timed(&world.longest_ms, || call(self)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.is_victim |= matches!(error, Error::Deadlock);
                self.bear(&error).map(|()| None)
            }
        }
    }

    /// Whether an error is one that may come.
    fn bear(&self, error: &Error) -> Done {
        if self.world.disk.is_dead() {
            return Err(Stop::Over);
        }
        let what = error.to_string();
        let is_of_fault = matches!(
            error,
            Error::Io(_) | Error::DiskFull | Error::Stopped(_) | Error::Corrupt { .. }
        );
        let is_of_others = matches!(
            error,
            Error::Deadlock
                | Error::LockWaitTimeout
                | Error::DuplicateKey { .. }
                | Error::DefinitionChanged
                | Error::HistoryGone
                | Error::TableGone
        );
        if is_of_others {
            return Ok(());
        }
        if is_of_fault && self.world.faulty {
            *self.world.errors.lock().entry(what).or_default() += 1;
            return if matches!(error, Error::Stopped(_)) {
                Err(Stop::Over)
            } else {
                Ok(())
            };
        }
        Err(Stop::Wrong(format!("an error that should not be: {what}")))
    }

    /// What a table is that the client has for itself or shares.
    fn shape(&self, slot: usize) -> Shape {
        let shape = self.world.model.lock().slots[slot].shape;
        shape.expect("every slot has a table")
    }

    fn table(&self, slot: usize) -> Done<std::sync::Arc<Table>> {
        let shape = self.shape(slot);
        let found = self.world.engine.table(shape.table);
        found.map_err(|error| Stop::Wrong(format!("table {shape:?}: {error}")))
    }

    fn transact(&mut self) -> Done {
        let first = self.random.below(SLOTS as u64) as usize;
        let mut slots = vec![first];
        if first + 1 < SLOTS && self.random.one_in(3) {
            slots.push(first + 1);
        }
        let world = self.world;
        let _guards: Vec<_> = slots.iter().map(|&slot| world.slots[slot].read()).collect();
        let tables = slots
            .iter()
            .map(|&slot| Ok((slot, self.table(slot)?)))
            .collect::<Done<Vec<_>>>()?;
        let isolation = match self.random.below(3) {
            0 => Isolation::ReadCommitted,
            _ => Isolation::RepeatableRead,
        };
        self.txn.begin(isolation, false);
        if !self.txn.is_active() {
            // The last one could not be rolled back.
            return self.give_up();
        }
        let mut doing = Doing {
            number: world.model.lock().number(),
            isolation,
            writes: Writes::new(),
            savepoints: Vec::new(),
        };
        doing.savepoints.push((self.txn.savepoint(), Writes::new()));
        let steps = 1 + self.random.below(12);
        for _ in 0..steps {
            let (slot, table) = &tables[self.random.below(tables.len() as u64) as usize];
            if !self.step(&mut doing, *slot, table)? {
                return self.give_up();
            }
        }
        match self.random.below(6) {
            0 => self.give_up(),
            _ => self.commit(&doing),
        }
    }

    /// Rolls back. Where that fails, the engine does it later.
    fn give_up(&mut self) -> Done {
        for _ in 0..3 {
            if self.timed(|client| client.txn.rollback())?.is_some() {
                return Ok(());
            }
        }
        let mut txn = self.world.engine.transaction();
        txn.set_lock_wait_timeout(LOCK_WAIT);
        self.txn = txn;
        Ok(())
    }

    fn commit(&mut self, doing: &Doing) -> Done {
        self.world.model.lock().enter(doing.number, &doing.writes);
        match self.timed(|client| client.txn.commit()) {
            Ok(Some(())) => {
                self.world.model.lock().acknowledge(doing.number, &doing.writes);
                Ok(())
            }
            // Not committed, and it still has its locks.
            Ok(None) if self.txn.is_active() => {
                self.world.model.lock().take_back(doing.number, &doing.writes);
                self.give_up()
            }
            Ok(None) => Ok(()),
            Err(stop) => Err(stop),
        }
    }

    /// One statement, or a savepoint. False if the transaction can only be rolled back.
    fn step(&mut self, doing: &mut Doing, slot: usize, table: &Table) -> Done<bool> {
        let statement = self.txn.savepoint();
        self.txn.statement_begin();
        let before = doing.writes.clone();
        let done = match self.random.below(20) {
            0 | 1 => {
                doing.savepoints.push((statement, before));
                return Ok(true);
            }
            2 => {
                let keep = 1 + self.random.below(doing.savepoints.len() as u64) as usize;
                doing.savepoints.truncate(keep);
                let (savepoint, then) = &doing.savepoints[keep - 1];
                doing.writes = then.clone();
                let savepoint = *savepoint;
                return Ok(self.timed(|client| client.txn.rollback_to(&savepoint))?.is_some());
            }
            3 => self.insert_many(doing, slot, table),
            4 => self.delete_range(doing, slot, table),
            5..12 => self.insert(doing, slot, table),
            12..15 => self.change(doing, slot, table, Action::Delete),
            _ => self.change(doing, slot, table, Action::Update),
        }?;
        self.txn.statement_end();
        if done || std::mem::take(&mut self.is_victim) {
            return Ok(done);
        }
        doing.writes = before;
        Ok(self.timed(|client| client.txn.rollback_to(&statement))?.is_some())
    }

    fn expected(&self, doing: &Doing, slot: usize, id: i64) -> Option<Row> {
        match doing.writes.get(&(slot, id)) {
            Some(row) => row.clone(),
            None => self.world.model.lock().latest(slot, id),
        }
    }

    fn some_id(&mut self, doing: &Doing) -> i64 {
        let own = doing.writes.len() as u64;
        if own > 0 && self.random.one_in(3) {
            let nth = self.random.below(own) as usize;
            return doing.writes.keys().nth(nth).expect("there are so many").1;
        }
        self.random.below(IDS) as i64
    }

    fn insert(&mut self, doing: &mut Doing, slot: usize, table: &Table) -> Done<bool> {
        let id = self.some_id(doing);
        let row = datum_row(&mut self.random, id, doing.number);
        self.put(doing, slot, table, row)
    }

    fn put(&mut self, doing: &mut Doing, slot: usize, table: &Table, row: Row) -> Done<bool> {
        let mut is_taken = false;
        let text = row.c.bytes();
        let spares = self.shape(slot).spares_by(row.writer);
        let done = self.timed(|client| {
            let done = table.insert(&mut client.txn, &row.datums(&text, &spares));
            is_taken = matches!(done, Err(Error::DuplicateKey { index: 0, .. }));
            done
        })?;
        let known = self.expected(doing, slot, row.id);
        match (done, known) {
            (Some(()), Some(known)) => Err(Stop::Wrong(format!(
                "row {} of table {slot} was inserted although {} has",
                row.id, known.writer
            ))),
            (None, None) if is_taken => Err(Stop::Wrong(format!(
                "row {} of table {slot} cannot be inserted, although it is not there",
                row.id
            ))),
            (Some(()), None) => {
                doing.writes.insert((slot, row.id), Some(row));
                Ok(true)
            }
            (None, _) => Ok(false),
        }
    }

    /// So many rows one behind the other that pages split.
    fn insert_many(&mut self, doing: &mut Doing, slot: usize, table: &Table) -> Done<bool> {
        let from = (IDS + self.random.below(RANGES) * 100) as i64;
        let descends = self.random.one_in(3);
        for n in 0..20 + self.random.below(60) as i64 {
            let id = if descends { from + 99 - n } else { from + n };
            let mut row = datum_row(&mut self.random, id, doing.number);
            row.u = None;
            if !self.put(doing, slot, table, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn change(&mut self, doing: &mut Doing, slot: usize, table: &Table, action: Action) -> Done<bool> {
        let id = self.some_id(doing);
        let row = datum_row(&mut self.random, id, doing.number);
        let mut seen = None;
        let text = row.c.bytes();
        let spares = self.shape(slot).spares_by(row.writer);
        let done = self.timed(|client| {
            let key = id_key(table, id)?;
            table.modify(&mut client.txn, &key, &mut |view, buf| {
                seen = Some(Row::of(view));
                if action == Action::Update {
                    for (column, datum) in row.datums(&text, &spares).into_iter().enumerate().skip(1) {
                        buf.set(column, datum);
                    }
                }
                Ok(action)
            })
        })?;
        let Some(found) = done else { return Ok(false) };
        let known = self.expected(doing, slot, id);
        if found && seen != known || !found && known.is_some() && doing.isolation >= Isolation::RepeatableRead
        {
            return Err(Stop::Wrong(format!(
                "row {id} of table {slot} is of {:?}, but must be of {:?}",
                seen.map(|row| row.writer),
                known.map(|row| row.writer)
            )));
        }
        if found {
            doing
                .writes
                .insert((slot, id), (action == Action::Update).then_some(row));
        }
        Ok(true)
    }

    /// So many rows that pages merge.
    fn delete_range(&mut self, doing: &mut Doing, slot: usize, table: &Table) -> Done<bool> {
        let from = (IDS + self.random.below(RANGES) * 100) as i64;
        let to = from + 100;
        let mut seen = BTreeSet::new();
        let done = self.timed(|client| {
            let range = KeyRange {
                lower: std::ops::Bound::Included(id_key(table, from)?),
                upper: std::ops::Bound::Excluded(id_key(table, to)?),
            };
            table.modify_range(&mut client.txn, &RangeScan::new(0, &range), &mut |view, _| {
                seen.insert(Row::of(view).id);
                Ok((Action::Delete, Flow::Continue))
            })
        })?;
        if done.is_none() {
            return Ok(false);
        }
        let mut known = self.world.model.lock().ids(slot, from, to);
        for ((_, id), row) in doing.writes.range((slot, from)..(slot, to)) {
            match row {
                Some(_) => known.insert(*id),
                None => known.remove(id),
            };
        }
        if seen != known && doing.isolation >= Isolation::RepeatableRead {
            return Err(Stop::Wrong(format!(
                "of table {slot} the rows {seen:?} were deleted, but there were {known:?}"
            )));
        }
        for id in seen {
            doing.writes.insert((slot, id), None);
        }
        Ok(true)
    }

    /// Reads a table by each index, twice, in one view.
    fn look(&mut self) -> Done {
        let slot = self.random.below(SLOTS as u64) as usize;
        let _guard = self.world.slots[slot].read();
        let table = self.table(slot)?;
        self.txn.begin(Isolation::RepeatableRead, true);
        if !self.txn.is_active() {
            return self.give_up();
        }
        let shape = self.shape(slot);
        let first = self.timed(|client| all_rows(&table, &shape, &mut client.txn))?;
        if let Some(rows) = first {
            let rows = rows?;
            for row in rows.values() {
                self.world.model.lock().saw(row.writer)?;
            }
            scheduler::pause(100_000);
            if let Some(again) = self.timed(|client| rows_by(&table, &mut client.txn, 0))?
                && !again.iter().eq(rows.values())
            {
                return Err(Stop::Wrong("a view has shown other rows the second time".into()));
            }
            if let Some(lsn) = self.txn.view() {
                let mut past = self.world.past.lock();
                past.push((lsn, slot, shape, rows));
                if past.len() > 6 {
                    past.remove(0);
                }
            }
        }
        self.timed(|client| client.txn.commit()).map(drop)
    }

    /// Reads a table as it was, if that is kept.
    fn look_back(&mut self) -> Done {
        let count = self.world.past.lock().len() as u64;
        if count == 0 {
            return Ok(());
        }
        let (lsn, slot, shape, rows) = self.world.past.lock()[self.random.below(count) as usize].clone();
        let _guard = self.world.slots[slot].read();
        if self.world.model.lock().slots[slot].shape != Some(shape) {
            return Ok(());
        }
        let table = self.table(slot)?;
        self.txn.begin(Isolation::RepeatableRead, true);
        if !self.txn.is_active() {
            return self.give_up();
        }
        let there = self.timed(|client| client.txn.see_past(Moment::Lsn(lsn)))?;
        if there.is_some()
            && let Some(then) = self.timed(|client| all_rows(&table, &shape, &mut client.txn))?
            && then? != rows
        {
            return Err(Stop::Wrong(format!("the past at {lsn} is not what it was")));
        }
        self.timed(|client| client.txn.commit()).map(drop)
    }
}
