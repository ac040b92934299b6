//! The files that a data directory must have, and must not have.
//!
//! A directory is its control file: where there is one, everything that it speaks of must be there, whole and of this
//! directory; where there is none, nothing may be there that an engine has written. Without the first rule a lost `data`
//! would be made anew, empty, and a lost `control` would make an empty database of a full one without the second. Every
//! refusal names the file, what was expected and what to do, and comes before anything is changed.

use super::control::Control;
use super::op::root_at;
use crate::disk::{Access, Disk, File, claim};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE, PageId};
use crate::log::{LOG_START, Segments};
use crate::pool::{PageBuf, page_type};
use std::sync::Arc;

pub(super) const DATA: &str = "data";
/// The superblock's root slot that holds the id of its data directory: the last one, since slots are given out from the
/// first.
pub(super) const ID_SLOT: usize = super::ROOTS - 1;

/// True if a file of a data directory, or of an archive of its log, has this name because an engine made it: nothing else may
/// be written there.
pub fn is_own_name(name: &str) -> bool {
    matches!(
        name,
        "control" | DATA | "doublewrite" | "scratch" | "lock" | "backup" | "archive" | "moments"
    ) || name.starts_with("redo-")
}

const RESTORE: &str = "Put the file back, or restore a backup";

fn refused(why: String) -> Error {
    Error::CannotOpen(why)
}

/// Fails unless a new data directory may be made here, where there is no control file.
pub(super) fn check_is_new(disk: &dyn Disk) -> Result<()> {
    let files = disk.list()?;
    if let Some(name) = files
        .iter()
        .chain(&disk.list_directories()?)
        .find(|name| claim::is_of_mysql(name))
    {
        return Err(Error::Refused(claim::of_mysql(name)));
    }
    let has_data = files.iter().any(|name| name == DATA) && {
        let mut first = vec![0; 2 * PAGE_SIZE];
        disk.open(DATA, false, Access::Buffered)?.read_at(&mut first, 0)?;
        first.iter().any(|&byte| byte != 0)
    };
    let found = if has_data {
        Some(DATA.to_owned())
    } else {
        Segments::first_in_use(disk)?
    };
    match found {
        None => Ok(()),
        Some(name) => Err(refused(format!(
            "control is missing, but {name} holds data. {RESTORE}; for a new, empty database give another directory"
        ))),
    }
}

/// The data file, which must be as long as the control file says.
pub(super) fn open_data(disk: &dyn Disk, access: Access, control: &Control) -> Result<Arc<dyn File>> {
    let pages = u64::from(control.data_pages);
    let expected = format!(
        "control says that it has {pages} pages ({} bytes) or more",
        pages * PAGE_SIZE as u64
    );
    if !disk.list()?.iter().any(|name| name == DATA) {
        return Err(refused(format!("{DATA} is missing: {expected}. {RESTORE}")));
    }
    let data = disk.open(DATA, false, access)?;
    let len = data.len()?;
    if len < pages * PAGE_SIZE as u64 {
        return Err(refused(format!(
            "{DATA} is cut short: it has {len} bytes, but {expected}. {RESTORE}"
        )));
    }
    Ok(data)
}

/// Fails unless the segments of the log are there, and whole, that the control file speaks of.
pub(super) fn check_log(segments: &Segments, control: &Control) -> Result<()> {
    let (from, to) = (control.scan_from, control.durable);
    let expected = expected_of_log(control);
    if let Some(name) = segments.first_missing(from, to) {
        return Err(refused(format!("{name} is missing: {expected}. {RESTORE}")));
    }
    check_whole(segments, control, to)
}

fn expected_of_log(control: &Control) -> String {
    let (from, to) = (control.scan_from, control.durable);
    format!("control says that the log is needed from position {from} on and goes up to {to} or further")
}

/// Fails unless the segments are whole that the log, which goes up to `to`, has come to: none is used before it is.
pub(super) fn check_whole(segments: &Segments, control: &Control, to: Lsn) -> Result<()> {
    let (from, expected) = (control.scan_from, expected_of_log(control));
    if let Some((name, len)) = segments.first_short(from, to)? {
        return Err(refused(format!(
            "{name} is cut short: it has {len} of {} bytes, and {expected}. {RESTORE}",
            segments.size()
        )));
    }
    Ok(())
}

/// Fails if the data file is another directory's.
pub(super) fn check_owner(data: &dyn File, control: &Control) -> Result<()> {
    match superblock(data)? {
        Some(found) if ![0, control.id].contains(&root_at(&found, ID_SLOT)) => Err(refused(format!(
            "{DATA} is another data directory's: it bears the number {:016x}, control {:016x}. {RESTORE}",
            root_at(&found, ID_SLOT),
            control.id
        ))),
        _ => Ok(()),
    }
}

/// Fails if the superblock should be there and is not. When torn pages are repaired.
pub(super) fn check_superblock(data: &dyn File, control: &Control) -> Result<()> {
    // Else redo makes it: the log begins with it.
    if control.redo_from > LOG_START && superblock(data)?.is_none() {
        return Err(refused(format!(
            "{DATA} is damaged: page 0 is not the superblock that the checkpoint at {} left there. {RESTORE}",
            control.redo_from
        )));
    }
    Ok(())
}

/// Page 0, if it is whole and a superblock.
fn superblock(data: &dyn File) -> Result<Option<Box<PageBuf>>> {
    let mut page = PageBuf::zeroed();
    data.read_at(&mut page[..], 0)?;
    let is_one = page.is_intact(PageId(0)) && page.page_type() == page_type::SUPERBLOCK;
    Ok(is_one.then_some(page))
}
