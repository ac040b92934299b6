//! Changes of single pages as values: done and recorded in one go, and done again by redo.
//!
//! A [`PageOp`] changes a page as a function of nothing but itself and the page. It is encoded into the log before it is
//! applied; redo decodes it, by its kind, and applies it the same way. So a page after recovery is what it was before.
//!
//! | kind | whose |
//! |---|---|
//! | 1 … 15 | the store's own, below |
//! | 16 … | those of the floors above, which register them in an [`OpTable`] |

use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::pool::{PAGE_HEADER, PageBuf};

/// A change of one page.
pub trait PageOp {
    /// Its number in the log; each kind has its own.
    const KIND: u8;
    /// Appends the arguments, at most 65,535 bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Does it. Deterministic: redo calls it on the same page with the same result.
    fn apply(&self, page: &mut PageBuf);
}

/// Decodes an op's arguments and applies it.
pub type Redo = fn(arguments: &[u8], page: &mut PageBuf) -> Result<()>;

/// Who redoes which kind of op.
#[derive(Clone)]
pub struct OpTable {
    redo: [Option<Redo>; 256],
}

impl OpTable {
    /// A table that knows the store's own ops.
    #[allow(
        clippy::new_without_default,
        reason = "a table with the store's ops is not an empty one"
    )]
    pub fn new() -> OpTable {
        let mut table = OpTable { redo: [None; 256] };
        table.register(Format::KIND, Format::redo);
        table.register(SetBits::KIND, SetBits::redo);
        table.register(SetRoot::KIND, SetRoot::redo);
        table
    }

    /// Teaches recovery a kind of op.
    ///
    /// # Panics
    /// If the kind is taken.
    pub fn register(&mut self, kind: u8, redo: Redo) {
        let before = self.redo[usize::from(kind)].replace(redo);
        assert!(before.is_none(), "two kinds of op with number {kind}");
    }

    pub(super) fn redo(&self, kind: u8, arguments: &[u8], page: &mut PageBuf) -> Result<()> {
        match self.redo[usize::from(kind)] {
            Some(redo) => redo(arguments, page),
            None => Err(Error::corrupt(
                None,
                format!("the log holds an op of unknown kind {kind}"),
            )),
        }
    }
}

fn malformed(what: &str) -> Error {
    Error::corrupt(None, format!("the log holds a malformed op ({what})"))
}

fn array<const N: usize>(arguments: &[u8], what: &str) -> Result<[u8; N]> {
    arguments.try_into().map_err(|_| malformed(what))
}

/// The page becomes an empty one; what it was does not matter.
pub(super) struct Format {
    pub page: PageId,
    pub page_type: u8,
    pub level: u8,
}

impl PageOp for Format {
    const KIND: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.page.0.to_le_bytes());
        out.extend_from_slice(&[self.page_type, self.level]);
    }

    fn apply(&self, page: &mut PageBuf) {
        page.format(self.page, self.page_type, self.level);
    }
}

impl Format {
    fn redo(arguments: &[u8], page: &mut PageBuf) -> Result<()> {
        let [a, b, c, d, page_type, level] = array(arguments, "format")?;
        Format {
            page: PageId(u32::from_le_bytes([a, b, c, d])),
            page_type,
            level,
        }
        .apply(page);
        Ok(())
    }
}

/// A bit of an allocation bitmap takes a value.
pub(super) struct SetBits {
    pub bit: u32,
    pub value: bool,
}

/// Bits, and so pages, that one bitmap page speaks for.
pub(super) const BITS: u32 = ((crate::ids::PAGE_SIZE - PAGE_HEADER) * 8) as u32;

pub(super) fn bit_at(page: &PageBuf, bit: u32) -> bool {
    page[PAGE_HEADER + bit as usize / 8] & (1 << (bit % 8)) != 0
}

impl PageOp for SetBits {
    const KIND: u8 = 2;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bit.to_le_bytes());
        out.push(u8::from(self.value));
    }

    fn apply(&self, page: &mut PageBuf) {
        let byte = &mut page[PAGE_HEADER + self.bit as usize / 8];
        let mask = 1 << (self.bit % 8);
        *byte = if self.value { *byte | mask } else { *byte & !mask };
    }
}

impl SetBits {
    fn redo(arguments: &[u8], page: &mut PageBuf) -> Result<()> {
        let [a, b, c, d, value] = array(arguments, "bit")?;
        let bit = u32::from_le_bytes([a, b, c, d]);
        if bit >= BITS {
            return Err(malformed("bit"));
        }
        SetBits {
            bit,
            value: value != 0,
        }
        .apply(page);
        Ok(())
    }
}

/// A root slot of the superblock takes a value.
pub(super) struct SetRoot {
    pub slot: u8,
    pub value: u64,
}

/// Where the root slots of the superblock begin.
const ROOTS_AT: usize = 64;
/// Root slots in the superblock.
pub const ROOTS: usize = 64;

pub(super) fn root_at(page: &PageBuf, slot: usize) -> u64 {
    page.u64_at(ROOTS_AT + slot * 8)
}

impl PageOp for SetRoot {
    const KIND: u8 = 3;

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.slot);
        out.extend_from_slice(&self.value.to_le_bytes());
    }

    fn apply(&self, page: &mut PageBuf) {
        page.put_u64(ROOTS_AT + usize::from(self.slot) * 8, self.value);
    }
}

impl SetRoot {
    fn redo(arguments: &[u8], page: &mut PageBuf) -> Result<()> {
        let [slot, value @ ..] = array::<9>(arguments, "root")?;
        if usize::from(slot) >= ROOTS {
            return Err(malformed("root"));
        }
        SetRoot {
            slot,
            value: u64::from_le_bytes(value),
        }
        .apply(page);
        Ok(())
    }
}
