//! What a start finds in a data directory, and what it makes certain before it counts on it.
//!
//! First everything is examined, and nothing changed: a directory that is refused is left as it was. Then the end of the log is
//! made one that new records can follow, torn pages are restored, and what was read and is not known to have been synced is
//! written again and synced: it may be no more than what the operating system remembers, of a killed process or of one that stopped because a sync had failed,
//! after which the system takes for written what is not on the disk. With the control file, which says the new epoch, the
//! directory is this start's.

use super::control::{Control, ControlFile};
use super::doublewrite::{Doublewrite, LastBatch};
use super::recovery::{self, Analysis, Recovered};
use super::redo::{Stretch, Stretches};
use super::scratch::Scratch;
use super::{LOG_CAPACITY_MIN, StoreConfig, files};
use crate::disk::overlay::Overlay;
use crate::disk::{Access, Disk, File};
use crate::error::{Error, Result};
use crate::ids::{Lsn, TxnId};
use crate::log::{DurableProof, LOG_START, Mark, Segments, check_end, proof_behind};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

/// The epoch of a directory's first start.
const FIRST_EPOCH: u32 = 1;
/// The level of `force_recovery` from which on damage in the log passes for its end.
const LOG_MAY_BE_DAMAGED: u8 = 3;

/// A directory that has been made ready for redo.
pub(super) struct Start {
    pub data: Arc<dyn File>,
    pub scratch: Arc<dyn File>,
    pub file: ControlFile,
    pub control: Control,
    pub doublewrite: Doublewrite,
    pub segments: Segments,
    pub recovered: Recovered,
    /// What is to be redone.
    pub stretches: Vec<Stretch>,
}

/// What there is, unchanged so far.
struct Found {
    data: Arc<dyn File>,
    file: ControlFile,
    control: Control,
    doublewrite: Doublewrite,
    last_batch: LastBatch,
    segments: Segments,
    recovered: Recovered,
    analysis: Analysis,
}

impl Start {
    /// Takes the directory over, or makes one where there is none.
    pub fn from(config: &StoreConfig) -> Result<Start> {
        Found::examine(config)?.make_certain(config)
    }
}

impl Found {
    fn examine(config: &StoreConfig) -> Result<Found> {
        let disk = &*config.disk;
        // First, so that a directory of another version is left as it is.
        let found = ControlFile::open(disk)?;
        let is_new = found.is_none();
        let data = open_data(config, found.as_ref().map(|(_, control)| control))?;
        let (file, control) = match found {
            Some(found) => found,
            None => create(config)?,
        };
        let mut recovered = Recovered {
            created: is_new,
            clean: control.clean,
            next_txn: control.next_txn,
            ..Recovered::default()
        };
        files::check_owner(&*data, &control)?;
        let (doublewrite, last_batch) = Doublewrite::open(disk, &control, is_new)?;
        let mark = Mark::new(control.id, control.mark_epoch);
        let segments = Segments::open(config.disk.clone(), control.segment_bytes, mark)?;
        files::check_log(&segments, &control)?;
        let mut reader = segments.reader(control.scan_from).not_before(control.scan_epoch);
        let stretches = Stretches::new(control.redo_from, config.pool_pages);
        let analysis = recovery::analyse(&mut reader, stretches, &mut recovered, config.on_note.as_ref())?;
        files::check_whole(&segments, &control, recovered.end)?;
        let checkpoint = DurableProof {
            lsn: control.durable,
            source: "control".into(),
        };
        let proofs = [Some(checkpoint), last_batch.proof()];
        // After a clean stop control knows the end; else what stands behind it is asked.
        let epoch = (!control.clean).then_some(control.epoch);
        let proofs = proofs.into_iter().flatten().collect();
        match check_end(&segments, recovered.end, proofs, epoch) {
            Err(error) if config.force_recovery >= LOG_MAY_BE_DAMAGED => ::log::error!("{error}"),
            ended => ended?,
        }
        Ok(Found {
            data,
            file,
            control,
            doublewrite,
            last_batch,
            segments,
            recovered,
            analysis,
        })
    }

    fn make_certain(self, config: &StoreConfig) -> Result<Start> {
        let Found {
            data,
            mut file,
            mut control,
            mut doublewrite,
            last_batch,
            mut segments,
            mut recovered,
            analysis,
        } = self;
        let disk = &*config.disk;
        segments.finish_last(recovered.end)?;
        let scratch = disk.open("scratch", true, access(config))?;
        Scratch::empty(&*scratch)?;
        if !control.clean {
            recovered.torn_pages_repaired = last_batch.restore(&*data)?;
        }
        files::check_superblock(&*data, &control)?;
        // What control and the records say was on disk was: a sync had returned before they could say so.
        let certain = control.durable.max(analysis.durable).max(control.scan_from);
        segments.write_again(certain, recovered.end)?;
        // All there are, for the directory may be a copy that was never synced. Where nothing is to be written this costs nothing.
        segments.sync(control.scan_from, segments.end(recovered.end))?;
        data.sync()?;
        control.epoch += 1;
        // Those that only the log knows of: a checkpoint may pass it before the floors above say what they have given out.
        control.next_txn = recovered.next_txn;
        control.clean = false;
        control.durable = recovered.end;
        if control.id == 0 {
            // Of a version without ids.
            (control.id, control.mark_epoch) = (new_id(), control.epoch);
            segments.set_mark(Mark::new(control.id, control.mark_epoch));
        }
        doublewrite.prepare(control.id)?;
        disk.sync_dir()?;
        file.write(&control)?;
        Ok(Start {
            data,
            scratch,
            file,
            control,
            doublewrite,
            segments,
            recovered,
            stretches: analysis.stretches,
        })
    }
}

/// The part of a stopped directory's log that a start reads and that something in the directory vouches for: a start finds
/// damage there. What lies behind it may be damaged and pass for never written. Changes nothing; for tests, which damage directories.
pub fn vouched_log(disk: Arc<dyn Disk>) -> Result<Range<Lsn>> {
    let disk: Arc<dyn Disk> = Arc::new(Overlay::new(disk));
    let Some((_, control)) = ControlFile::open(&*disk)? else {
        return Err(Error::CannotOpen("there is no control file".into()));
    };
    let (_, last_batch) = Doublewrite::open(&*disk, &control, false)?;
    let mark = Mark::new(control.id, control.mark_epoch);
    let segments = Segments::open(disk, control.segment_bytes, mark)?;
    let records = proof_behind(&segments, control.scan_from, control.epoch)?;
    let proofs = [last_batch.proof(), records];
    let farthest = proofs.into_iter().flatten().map(|proof| proof.lsn);
    Ok(control.scan_from..farthest.fold(control.durable, Lsn::max))
}

fn access(config: &StoreConfig) -> Access {
    if config.direct {
        Access::Direct
    } else {
        Access::Buffered
    }
}

/// The data file, which is a new one only where there is no control file.
fn open_data(config: &StoreConfig, control: Option<&Control>) -> Result<Arc<dyn File>> {
    let disk = &*config.disk;
    if let Some(control) = control {
        return files::open_data(disk, access(config), control);
    }
    files::check_is_new(disk)?;
    if !config.create {
        return Err(Error::CannotOpen("it is empty: there is no control file".into()));
    }
    Ok(disk.open(files::DATA, true, access(config))?)
}

fn create(config: &StoreConfig) -> Result<(ControlFile, Control)> {
    let capacity = config.log_capacity_bytes.max(LOG_CAPACITY_MIN);
    let control = Control {
        epoch: 0,
        redo_from: LOG_START,
        scan_from: LOG_START,
        next_txn: TxnId(1),
        clean: true,
        segment_bytes: (capacity / 8).clamp(512 << 10, 64 << 20).next_multiple_of(4096),
        scan_epoch: 0,
        data_pages: 0,
        mark_epoch: FIRST_EPOCH,
        durable: LOG_START,
        id: new_id(),
    };
    // Of a first start that did not come as far as its control file: half made, and nothing in it.
    Segments::remove_unused(&*config.disk)?;
    // The log is part of a data directory from the beginning.
    Segments::open(config.disk.clone(), control.segment_bytes, Mark::default())?.prepare(
        LOG_START,
        LOG_START,
        Lsn(1),
        0,
        0,
    )?;
    Ok((ControlFile::create(&*config.disk, &control)?, control))
}

/// A number that no other directory has.
fn new_id() -> u64 {
    RandomState::new().build_hasher().finish() | 1
}
