//! Which segments of the log there are, and which of their files are open.
//!
//! A log that grows has thousands of segments, and the process has only so many descriptors, most of which are its clients'. So no more
//! than [`OPEN_MAX`] segments are kept open; another one is opened when it is wanted, and the one not used longest is closed. The next
//! [`AHEAD`] after the one that is written stay open, so that the log goes on where there is no descriptor left. A segment that was
//! written to is synced before it is closed: a failed write that a closed descriptor has not reported, no other one reports.

use super::segments::name;
use crate::disk::{Access, Disk, File};
use crate::error::Result;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::RangeBounds;
use std::sync::Arc;

/// So many segments are open.
pub(super) const OPEN_MAX: usize = 12;
/// So many of them are the next ones after the one that is written.
pub(super) const AHEAD: u64 = 6;

/// A segment that there is.
#[derive(Default)]
pub(super) struct Segment {
    file: Option<Arc<dyn File>>,
    /// When it was used last, in uses of all.
    used: u64,
    /// It was written to since it was last synced.
    unsynced: bool,
}

impl Segment {
    pub fn of(file: Arc<dyn File>) -> Segment {
        Segment {
            file: Some(file),
            ..Segment::default()
        }
    }
}

#[derive(Default)]
struct State {
    segments: BTreeMap<u64, Segment>,
    open: usize,
    uses: u64,
    /// The segment that the log is written to.
    written: u64,
    /// One of the next ones may not be open.
    lacks_next: bool,
}

/// What a file is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
    /// What was written so far is certain when this is done.
    Sync,
}

/// The segments, by their numbers.
pub(super) struct OpenSegments {
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
}

impl OpenSegments {
    pub fn new(disk: Arc<dyn Disk>) -> OpenSegments {
        OpenSegments {
            disk,
            state: Mutex::default(),
        }
    }

    /// Returns a segment's file; `None` if there is no such segment.
    pub fn file(&self, number: u64, wanted: Use) -> Result<Option<Arc<dyn File>>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        if !state.open(number, &*self.disk)? {
            return Ok(None);
        }
        state.uses += 1;
        let Some(segment) = state.segments.get_mut(&number) else {
            return Ok(None);
        };
        segment.used = state.uses;
        match wanted {
            Use::Read => {}
            Use::Write => segment.unsynced = true,
            // Before it is: a write that comes meanwhile says so again.
            Use::Sync => segment.unsynced = false,
        }
        let file = segment.file.clone();
        if wanted == Use::Write && (state.lacks_next || number != state.written) {
            state.open_next(number, &*self.disk);
        }
        state.close_some(number)?;
        Ok(file)
    }

    /// Opens the segment at which the log goes on, and the next ones.
    pub fn go_on(&self, number: u64) -> Result<()> {
        let mut state = self.state.lock();
        state.open_next(number, &*self.disk);
        state.open(number, &*self.disk)?;
        Ok(state.close_some(number)?)
    }

    /// Adds segments.
    pub fn append(&self, more: &mut BTreeMap<u64, Segment>) -> io::Result<()> {
        let mut state = self.state.lock();
        state.open += more.values().filter(|segment| segment.file.is_some()).count();
        state.segments.append(more);
        state.lacks_next = true;
        state.close_some(u64::MAX)
    }

    pub fn remove(&self, number: u64) -> Option<Segment> {
        let mut state = self.state.lock();
        let segment = state.segments.remove(&number)?;
        state.open -= usize::from(segment.file.is_some());
        Some(segment)
    }

    pub fn has(&self, number: u64) -> bool {
        self.state.lock().segments.contains_key(&number)
    }

    pub fn len(&self) -> usize {
        self.state.lock().segments.len()
    }

    pub fn last(&self) -> Option<u64> {
        self.state.lock().segments.last_key_value().map(|(&last, _)| last)
    }

    /// The numbers of those in a range.
    pub fn numbers(&self, range: impl RangeBounds<u64>) -> Vec<u64> {
        let state = self.state.lock();
        state.segments.range(range).map(|(&number, _)| number).collect()
    }

    /// The first number from this one on that no segment has.
    pub fn first_free(&self, from: u64) -> u64 {
        let state = self.state.lock();
        let there = state.segments.range(from..).zip(from..);
        let in_a_row = there.take_while(|((number, _), expected)| *number == expected);
        from + in_a_row.count() as u64
    }

    #[cfg(test)]
    pub fn open(&self) -> usize {
        let state = self.state.lock();
        let open = state.segments.values().filter(|segment| segment.file.is_some());
        assert_eq!(open.clone().count(), state.open);
        open.count()
    }
}

impl State {
    /// Opens a segment, unless it is open. Returns false if there is no such segment.
    fn open(&mut self, number: u64, disk: &dyn Disk) -> io::Result<bool> {
        loop {
            match self.segments.get_mut(&number) {
                None => return Ok(false),
                Some(Segment { file: Some(_), .. }) => return Ok(true),
                Some(segment) => match disk.open(&name(number), false, Access::Buffered) {
                    Ok(file) => {
                        segment.file = Some(file);
                        self.open += 1;
                        return Ok(true);
                    }
                    // It has just become another one.
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                    // One that is not wanted makes way.
                    Err(error) if wants_descriptor(&error) && self.close_one(number)? => {}
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Opens those after the one that is written now. What cannot be opened is tried again at the next write.
    fn open_next(&mut self, written: u64, disk: &dyn Disk) {
        self.written = written;
        self.lacks_next = (written + 1..=written + AHEAD).any(|next| self.open(next, disk).is_err());
    }

    /// Closes those not used longest, but for one that is in use.
    fn close_some(&mut self, but: u64) -> io::Result<()> {
        while self.open > OPEN_MAX && self.close_one(but)? {}
        Ok(())
    }

    /// Closes the one not used longest that is not wanted next. Returns false if there is none.
    fn close_one(&mut self, but: u64) -> io::Result<bool> {
        let wanted = self.written..=self.written + AHEAD;
        let closable = self.segments.iter_mut().filter(|(number, segment)| {
            **number != but && segment.file.is_some() && !wanted.contains(*number)
        });
        // Of those never used the last, which will be wanted last.
        let first =
            closable.min_by_key(|(number, segment)| (segment.unsynced, segment.used, u64::MAX - **number));
        let Some((_, segment)) = first else {
            return Ok(false);
        };
        if let Some(file) = &segment.file
            && segment.unsynced
        {
            file.sync()?;
            segment.unsynced = false;
        }
        segment.file = None;
        self.open -= 1;
        Ok(true)
    }
}

/// Whether the process, or the system, has too many open files.
fn wants_descriptor(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
