//! Changes of definitions among what clients do: alone with a table, beside its rows, or beside those who write to it.

use super::super::model::{SPARES, Shape, Spares};
use super::super::scheduler;
use super::{Client, Done, INDEXES_MAX, INDEXES_MIN, NAMES, SLOTS, Stop, extra_index, schema};
use tidemark_engine::*;

/// Goes from the spare columns of one shape to those of another, which has them in the same order.
fn change_spares(ddl: &mut Ddl, from: &Shape, to: &Shape) -> Result<()> {
    let named = schema(0).columns.len();
    let values: Spares = std::array::from_fn(|n| to.spare_of_before(n));
    let mut columns: Vec<NewColumn> = (0..named).map(NewColumn::Kept).collect();
    let mut place = named;
    for (n, (value, came)) in values.iter().zip(from.spares).enumerate() {
        match (value, came > 0) {
            (Some(_), true) => columns.push(NewColumn::Kept(place)),
            (Some(value), false) => columns.push(NewColumn::Added {
                column: Column {
                    ty: ColumnType::Bytes,
                    nullable: n > 0,
                },
                value: Datum::Bytes(value),
            }),
            (None, _) => {}
        }
        place += usize::from(came > 0);
    }
    ddl.change_columns(from.table, &columns)
}

impl Client<'_> {
    /// Another definition for a table: an index more or less, columns that come and go, the table copied, emptied.
    pub(super) fn redefine(&mut self) -> Done {
        let slot = self.random.below(SLOTS as u64) as usize;
        let world = self.world;
        let Some(_alterer) = world.alterers[slot].try_lock() else {
            return Ok(());
        };
        if self.random.one_in(3) {
            return self.build_beside_others(slot);
        }
        let _guard = world.slots[slot].write();
        let shape = world.model.lock().slots[slot].shape.expect("a table");
        let mut kind = self.random.below(8);
        let spare = self.random.below(SPARES as u64) as usize;
        let came = world.model.lock().number();
        let Some(mut ddl) = self.timed(|client| client.world.engine.ddl())? else {
            return Ok(());
        };
        let engine_table = self.table(slot)?;
        let made = self.timed(|_| {
            let mut new = shape;
            if kind == 0 && shape.indexes == INDEXES_MAX || kind == 1 && shape.indexes == INDEXES_MIN {
                kind = 2;
            }
            match kind {
                0 => {
                    ddl.add_index(shape.table, &extra_index(shape.indexes))?;
                    new.indexes += 1;
                }
                1 => {
                    ddl.drop_index(shape.table, shape.indexes)?;
                    new.indexes -= 1;
                }
                // A table that has been changed so often is copied.
                5.. if engine_table.row_versions() < ROW_VERSIONS_MAX => {
                    new.spares[spare] = if shape.spares[spare] > 0 { 0 } else { came };
                    change_spares(&mut ddl, &shape, &new)?;
                }
                2 | 3 | 5.. => {
                    new.spares = [0; SPARES];
                    new.table = ddl.create_table(&schema(shape.indexes))?;
                    ddl.copy_rows(shape.table, new.table, &mut |row, buf| {
                        (0..5).for_each(|c| buf.set(c, row.get(c)));
                        Ok(())
                    })?;
                    ddl.drop_table(shape.table)?;
                }
                _ => new.table = ddl.truncate(shape.table)?,
            }
            ddl.put_meta(NAMES, &[slot as u8], &new.to_bytes())?;
            Ok(new)
        })?;
        match made {
            Some(new) => self.define(slot, shape, new, kind == 4, ddl),
            None => Ok(()),
        }
    }

    /// An index more, built while others write to the table. Some builds are given up.
    fn build_beside_others(&mut self, slot: usize) -> Done {
        let world = self.world;
        let alone = world.slots[slot].write();
        let shape = world.model.lock().slots[slot].shape.expect("a table");
        if shape.indexes == INDEXES_MAX {
            return Ok(());
        }
        let index = [extra_index(shape.indexes)];
        let begun = self.timed(|client| client.world.engine.build_indexes(shape.table, &index))?;
        drop(alone);
        let Some(mut build) = begun else {
            return Ok(());
        };
        let steps = match self.random.one_in(4) {
            true => self.random.below(40),
            false => u64::MAX,
        };
        let random = &mut self.random;
        let mut done = 0;
        let built = build.run(&mut |_| {
            scheduler::pause(random.below(2_000_000));
            done += 1;
            match done > steps {
                true => Err(Error::Interrupted),
                false => Ok(()),
            }
        });
        match built {
            Ok(()) => {}
            Err(Error::Interrupted) => return Ok(()),
            Err(error) => return self.bear(&error),
        }
        let _alone = world.slots[slot].write();
        let Some(mut ddl) = self.timed(|client| client.world.engine.ddl())? else {
            return Ok(());
        };
        let made = self.timed(|_| {
            ddl.finish_build(build)?;
            let mut new = shape;
            new.indexes += 1;
            ddl.put_meta(NAMES, &[slot as u8], &new.to_bytes())?;
            Ok(new)
        })?;
        match made {
            Some(new) => self.define(slot, shape, new, false, ddl),
            None => Ok(()),
        }
    }

    /// Commits a definition.
    fn define(&mut self, slot: usize, shape: Shape, new: Shape, emptied: bool, ddl: Ddl) -> Done {
        let world = self.world;
        if world.disk.is_dead() {
            return Err(Stop::Over);
        }
        world.model.lock().slots[slot].pending = Some((new, emptied));
        if self.timed(|_| ddl.commit())?.is_some() {
            world.model.lock().define(slot, new, emptied);
            return Ok(());
        }
        // It stays pending: if the engine has stopped, it may be there at the next start.
        let now = self.timed(|client| client.world.engine.meta_get(NAMES, &[slot as u8]))?;
        if now
            .flatten()
            .is_none_or(|now| Shape::from_bytes(&now) != Some(shape))
        {
            return Err(Stop::Over);
        }
        Ok(())
    }
}
