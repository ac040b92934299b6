//! The control file: where recovery begins.
//!
//! Two copies, each a sector-aligned block of its own, written in turn; the valid one with the higher sequence number
//! counts. So a power cut while one is written leaves the other.
//!
//! ```text
//!  0        8         12    16         24      28          32          40          48         56      57
//!  ┌────────┬─────────┬─────┬──────────┬───────┬───────────┬───────────┬───────────┬──────────┬───────┐
//!  │ magic  │ version │ crc │ sequence │ epoch │ page size │ redo from │ scan from │ next txn │ clean │ scan epoch u32 @ 60,
//!  └────────┴─────────┴─────┴──────────┴───────┴───────────┴───────────┴───────────┴──────────┴───────┘ segment size u64 @ 64
//!  72           76           80        88              96
//!  ┌────────────┬────────────┬─────────┬───────────────┐
//!  │ data pages │ mark epoch │ durable │ directory's id│        from version 3 on
//!  └────────────┴────────────┴─────────┴───────────────┘
//! ```
//!
//! What it says of the other files is also what they are held against when a directory is opened: files that are missing,
//! cut short or another directory's are refused by name (`files.rs`).

use crate::disk::{Access, Disk, File, failed};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE, TxnId};
use crate::log::LOG_START;
use std::sync::Arc;

/// The version of the format that this engine writes. It is raised whenever the meaning of any stored byte changes:
/// `docs/architecture.md` lists the versions, and `tests/formats` has a data directory of each.
pub const FORMAT_VERSION: u32 = 8;
/// The oldest version that this engine opens, and thereby turns into its own.
const OLDEST_VERSION: u32 = 1;
/// Segments are of this size by far, and a log does not get so long.
const SEGMENT_MIN: u64 = 4096;
const SEGMENT_MAX: u64 = 1 << 32;
const POSITION_MAX: u64 = 1 << 62;
const MAGIC: &[u8; 8] = b"tidemark";
const NAME: &str = "control";
const BLOCK: usize = 4096;
const USED: usize = 96;
/// What versions 1 and 2 used.
const USED_BEFORE_3: usize = 72;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// The number of the engine's latest start.
    pub epoch: u32,
    /// Pages on disk hold every change recorded before.
    pub redo_from: Lsn,
    /// Transactions that had not ended at the checkpoint wrote nothing before; never above `redo_from`.
    pub scan_from: Lsn,
    pub next_txn: TxnId,
    /// The engine was shut down in order, and nothing is to be recovered.
    pub clean: bool,
    pub segment_bytes: u64,
    /// No record at or after `scan_from` is of an older epoch: what looks like one is of the past.
    pub scan_epoch: u32,
    /// The data file has at least so many pages, for certain. 0 in versions that did not say.
    pub data_pages: u32,
    /// Records of this epoch and later are marked with the directory's id.
    pub mark_epoch: u32,
    /// The log was on disk up to here, for certain.
    pub durable: Lsn,
    /// Which directory this is: the log's records, the superblock and the doublewrite file say the same. 0 in versions
    /// that had none.
    pub id: u64,
}

pub struct ControlFile {
    file: Arc<dyn File>,
    sequence: u64,
}

impl ControlFile {
    /// The control file and what it says; `None` if there is none.
    pub fn open(disk: &dyn Disk) -> Result<Option<(ControlFile, Control)>> {
        if !disk.list()?.iter().any(|name| name == NAME) {
            return Ok(None);
        }
        let file = disk.open(NAME, false, Access::Buffered)?;
        let mut newest: Option<(u64, Control)> = None;
        for copy in 0..2 {
            let mut block = [0; BLOCK];
            file.read_at(&mut block, copy * BLOCK as u64)?;
            if let Some((sequence, control)) = decode(&block)?
                && newest.is_none_or(|(newest, _)| sequence > newest)
            {
                newest = Some((sequence, control));
            }
        }
        match newest {
            Some((sequence, control)) => Ok(Some((ControlFile { file, sequence }, control))),
            None => Err(Error::CannotOpen(format!(
                "{NAME} is damaged: neither of its two copies is intact. Put the file back, or restore a backup"
            ))),
        }
    }

    /// A new control file. Its name is certain only when its content is.
    pub fn create(disk: &dyn Disk, control: &Control) -> Result<ControlFile> {
        let new = format!("{NAME}.new");
        let mut this = ControlFile {
            file: disk.open(&new, true, Access::Buffered)?,
            sequence: 0,
        };
        this.write(control)?;
        disk.rename(&new, NAME)?;
        disk.sync_dir()?;
        Ok(this)
    }

    /// After a failure the next one writes to the same place again, for only the other copy is certain.
    pub fn write(&mut self, control: &Control) -> Result<()> {
        let sequence = self.sequence + 1;
        let block = encode(sequence, control);
        let offset = sequence % 2 * BLOCK as u64;
        let written = self.file.write_at(&block, offset);
        written
            .and_then(|()| self.file.sync())
            .map_err(|error| failed(&error, format!("writing {NAME} at byte {offset}")))?;
        self.sequence = sequence;
        Ok(())
    }
}

fn encode(sequence: u64, control: &Control) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..8].copy_from_slice(MAGIC);
    block[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    block[16..24].copy_from_slice(&sequence.to_le_bytes());
    block[24..28].copy_from_slice(&control.epoch.to_le_bytes());
    block[28..32].copy_from_slice(&(PAGE_SIZE as u32).to_le_bytes());
    block[32..40].copy_from_slice(&control.redo_from.0.to_le_bytes());
    block[40..48].copy_from_slice(&control.scan_from.0.to_le_bytes());
    block[48..56].copy_from_slice(&control.next_txn.0.to_le_bytes());
    block[56] = u8::from(control.clean);
    block[60..64].copy_from_slice(&control.scan_epoch.to_le_bytes());
    block[64..72].copy_from_slice(&control.segment_bytes.to_le_bytes());
    block[72..76].copy_from_slice(&control.data_pages.to_le_bytes());
    block[76..80].copy_from_slice(&control.mark_epoch.to_le_bytes());
    block[80..88].copy_from_slice(&control.durable.0.to_le_bytes());
    block[88..96].copy_from_slice(&control.id.to_le_bytes());
    let crc = crc32c::crc32c(&block[16..USED]);
    block[12..16].copy_from_slice(&crc.to_le_bytes());
    block
}

fn decode(block: &[u8; BLOCK]) -> Result<Option<(u64, Control)>> {
    let u32_at = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    if &block[..8] != MAGIC {
        return Ok(None);
    }
    // Before the checksum, which may cover something else in another version.
    let version = u32_at(8);
    if !(OLDEST_VERSION..=FORMAT_VERSION).contains(&version) {
        return Err(Error::Refused(format!(
            "its format is version {version}; this engine opens versions {OLDEST_VERSION} to {FORMAT_VERSION}"
        )));
    }
    let used = if version < 3 { USED_BEFORE_3 } else { USED };
    if u32_at(12) != crc32c::crc32c(&block[16..used]) {
        return Ok(None);
    }
    let page_bytes = u32_at(28);
    if page_bytes != PAGE_SIZE as u32 {
        return Err(Error::Refused(format!(
            "its pages have {page_bytes} bytes; this engine opens pages of {PAGE_SIZE} bytes"
        )));
    }
    let control = Control {
        epoch: u32_at(24),
        redo_from: Lsn(u64_at(32)),
        scan_from: Lsn(u64_at(40)),
        next_txn: TxnId(u64_at(48)),
        clean: block[56] != 0,
        segment_bytes: u64_at(64),
        scan_epoch: u32_at(60),
        // Zeros in a version that did not use them.
        data_pages: u32_at(72),
        mark_epoch: u32_at(76),
        // A checkpoint has always synced the log first.
        durable: Lsn(u64_at(80)).max(Lsn(u64_at(32))),
        id: u64_at(88),
    };
    if !makes_sense(&control) {
        return Ok(None);
    }
    Ok(Some((u64_at(16), control)))
}

/// Whether these numbers can be those of a directory; they come from a block whose checksum fits, so that they nearly always are.
fn makes_sense(control: &Control) -> bool {
    let in_order = control.scan_from <= control.redo_from && control.redo_from <= control.durable;
    in_order
        && control.scan_from >= LOG_START
        && (SEGMENT_MIN..=SEGMENT_MAX).contains(&control.segment_bytes)
        && control.durable.0 < POSITION_MAX
        && control.next_txn.0 > 0
        && control.epoch < u32::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::{Faults, SimDisk};

    fn control(n: u64) -> Control {
        Control {
            epoch: 3,
            redo_from: Lsn(LOG_START.0 + n * 16),
            scan_from: Lsn(LOG_START.0 + n * 8),
            next_txn: TxnId(n),
            clean: n.is_multiple_of(2),
            segment_bytes: 1 << 20,
            scan_epoch: n as u32,
            data_pages: n as u32,
            mark_epoch: 1,
            durable: Lsn(LOG_START.0 + n * 16),
            id: 7,
        }
    }

    #[test]
    fn a_power_cut_while_writing_leaves_the_old_or_the_new() {
        for seed in 0..30 {
            let disk = SimDisk::new(seed);
            let mut file = ControlFile::create(&disk, &control(1)).unwrap();
            file.write(&control(2)).unwrap();
            disk.set_faults(Faults {
                power_cut_in: Some(1 + seed % 2),
                ..Faults::default()
            });
            assert!(file.write(&control(3)).is_err());
            let (_, found) = ControlFile::open(&disk.restart()).unwrap().unwrap();
            assert!(found == control(2) || found == control(3));
        }
    }

    #[test]
    fn a_write_that_failed_is_made_up_for_beside_the_copy_that_is_certain() {
        let disk = SimDisk::new(1);
        let mut file = ControlFile::create(&disk, &control(1)).unwrap();
        file.write(&control(2)).unwrap();
        disk.set_faults(Faults {
            sync_failure_in: Some(1),
            ..Faults::default()
        });
        assert!(file.write(&control(3)).is_err());
        file.write(&control(4)).unwrap();
        assert_eq!(ControlFile::open(&disk).unwrap().unwrap().1, control(4));
        disk.flip_bit(NAME, BLOCK + 40, 1);
        assert_eq!(ControlFile::open(&disk).unwrap().unwrap().1, control(2));
    }

    #[test]
    fn none_is_not_a_broken_one() {
        let disk = SimDisk::new(1);
        assert!(ControlFile::open(&disk).unwrap().is_none());
        ControlFile::create(&disk, &control(1)).unwrap();
        disk.flip_bit(NAME, BLOCK + 40, 1);
        assert!(matches!(ControlFile::open(&disk), Err(Error::CannotOpen(_))));
    }
}
