//! What happens when a data directory is opened.
//!
//! 1. Torn pages are repaired from the doublewrite file.
//! 2. *Analysis* reads the log from the checkpoint's `scan_from` to its end and learns which transactions had not ended:
//!    the losers. Transactions older than the checkpoint are covered, because `scan_from` is not above their first
//!    record.
//! 3. *Redo* (`redo.rs`) reads it again from `redo_from` and repeats history.
//! 4. The floors above undo the losers, reading their records back and writing compensation records.
//!
//! A new start writes a new epoch into the control file before it writes to the log, so that records left behind the end
//! found now can never be taken for a continuation of what comes. After Mohan et al., *ARIES*, 1992.

use super::NoteReader;
use super::redo::{Stretch, Stretches};
use crate::error::Result;
use crate::ids::{Lsn, TxnId};
use crate::log::{Reader, TxnNote};
use std::collections::HashMap;

/// A transaction that neither committed nor rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loser {
    /// Its id.
    pub txn: TxnId,
    /// Its first record: the log may not be recycled from here on until it is undone.
    pub first_lsn: Lsn,
    /// The record with which undoing begins (or goes on); zero if nothing is left to undo.
    pub undo_from: Lsn,
}

/// What opening found.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// In the order of their ids.
    pub losers: Vec<Loser>,
    /// Above every transaction id ever given.
    pub next_txn: TxnId,
    /// Where the log ended.
    pub end: Lsn,
    /// The engine had been shut down in order.
    pub clean: bool,
    /// The data directory is new.
    pub created: bool,
    /// Pages that a power cut had torn, restored from the doublewrite file.
    pub torn_pages_repaired: usize,
    /// Records that redo went through.
    pub records_redone: u64,
}

/// What analysis has learned that opening needs, and nobody after it.
pub(super) struct Analysis {
    /// Up to where the log had been synced, by what its records say.
    pub durable: Lsn,
    /// What is to be redone.
    pub stretches: Vec<Stretch>,
}

/// Reads the log to its end; fills in the losers, the end and the next transaction id. `stretches` begin where redo will; undo notes
/// are shown to `on_note`.
pub(super) fn analyse(
    reader: &mut Reader<'_>,
    mut stretches: Stretches,
    recovered: &mut Recovered,
    on_note: Option<&NoteReader>,
) -> Result<Analysis> {
    let mut open: HashMap<TxnId, Loser> = HashMap::new();
    let mut durable = Lsn::ZERO;
    while let Some(record) = reader.next()? {
        stretches.add(record);
        durable = durable.max(record.durable().unwrap_or(Lsn::ZERO));
        let Some(note) = record.note()? else { continue };
        let txn = note.txn();
        recovered.next_txn = recovered.next_txn.max(TxnId(txn.0 + 1));
        let mut undo_from = |lsn| {
            let first_lsn = record.lsn;
            open.entry(txn)
                .or_insert(Loser {
                    txn,
                    first_lsn,
                    undo_from: lsn,
                })
                .undo_from = lsn;
        };
        match note {
            TxnNote::Undo { payload, .. } => {
                undo_from(record.lsn);
                if let Some(on_note) = on_note {
                    on_note(record.lsn, payload);
                }
            }
            TxnNote::Clr { undo_next, .. } => undo_from(undo_next),
            TxnNote::Commit { .. } | TxnNote::RolledBack { .. } => {
                open.remove(&txn);
            }
        }
    }
    recovered.end = reader.position();
    recovered.losers = open.into_values().collect();
    recovered.losers.sort_by_key(|loser| loser.txn);
    Ok(Analysis {
        durable: durable.min(recovered.end),
        stretches: stretches.finish(recovered.end),
    })
}
