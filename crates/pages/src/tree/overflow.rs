//! Overflow chains: values too large for a leaf live in pages of their own.
//!
//! ```text
//!   0  common page header (type overflow)
//!  32  owning index   u64
//!  40  next page      u32   0 = last
//!  44  data length    u32
//!  64  data
//! ```
//!
//! A chain is written before the entry that names it and never changed: a new value is a new chain. So a reader that
//! has copied the reference under a leaf latch may read the chain without one, as long as the entry, or a version of it
//! that an open view can see, keeps the chain from being freed.

use super::Tree;
use super::node::{PageBytes, TYPE_AT};
use super::op::TreeOp;
use crate::error::{Error, Result};
use crate::ids::{IndexId, PAGE_SIZE, PageId};
use crate::pool::page_type;
use crate::store::{Mtr, Store};

const INDEX_AT: usize = 32;
const NEXT_AT: usize = 40;
const LEN_AT: usize = 44;
const DATA_AT: usize = 64;
/// Bytes of a value that one overflow page takes.
pub const OVERFLOW_CAPACITY: usize = PAGE_SIZE - DATA_AT;

/// Makes the page one of an overflow chain.
pub(super) fn format(page: &mut PageBytes, next: u32, index: u64, data: &[u8]) {
    page[TYPE_AT] = page_type::OVERFLOW;
    page[TYPE_AT + 1] = 0;
    page[INDEX_AT..INDEX_AT + 8].copy_from_slice(&index.to_le_bytes());
    page[NEXT_AT..NEXT_AT + 4].copy_from_slice(&next.to_le_bytes());
    page[LEN_AT..LEN_AT + 4].copy_from_slice(&(data.len() as u32).to_le_bytes());
    page[DATA_AT..DATA_AT + data.len()].copy_from_slice(data);
}

/// What one page of a chain says.
pub(super) struct Link<'p> {
    pub index: u64,
    pub next: PageId,
    pub data: &'p [u8],
}

/// The index that an overflow page belongs to; `None` for any other page.
pub fn overflow_owner(page: &PageBytes) -> Option<IndexId> {
    link(page).ok().map(|link| IndexId(link.index))
}

/// Reads one page of a chain.
pub(super) fn link(page: &PageBytes) -> Result<Link<'_>, &'static str> {
    let u32_at = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes"));
    if page[TYPE_AT] != page_type::OVERFLOW {
        return Err("not an overflow page");
    }
    let index = u64::from_le_bytes(page[INDEX_AT..INDEX_AT + 8].try_into().expect("eight bytes"));
    let data = page[DATA_AT..]
        .get(..u32_at(LEN_AT) as usize)
        .ok_or("an overflow page longer than a page")?;
    Ok(Link {
        index,
        next: PageId(u32_at(NEXT_AT)),
        data,
    })
}

/// The overflow chains of one index.
pub struct Overflow<'s> {
    store: &'s Store,
    index: IndexId,
}

impl Tree {
    /// The chains that this tree's entries may own.
    pub fn overflow(&self) -> Overflow<'_> {
        Overflow {
            store: &self.store,
            index: self.index,
        }
    }
}

impl Overflow<'_> {
    /// Adds a page to a chain, in front of `next`, as part of the caller's mini-transaction. A chain is written from its
    /// end, so that every page knows its successor; the last one's is [`PageId::NONE`]. At most [`OVERFLOW_CAPACITY`] bytes
    /// go into a page. Until an entry names the chain's first page, it belongs to no row.
    pub fn write_page(&self, mtr: &mut Mtr<'_>, next: PageId, data: &[u8]) -> Result<PageId> {
        let page = mtr.alloc_page(page_type::OVERFLOW, 0)?;
        let op = TreeOp::Overflow {
            next: next.0,
            index: self.index.0,
            data,
        };
        mtr.apply(page, &op);
        Ok(mtr.id(page))
    }

    /// Calls `f` with the chain's bytes, piece by piece, each under its page's latch.
    pub fn read_with(&self, first: PageId, mut f: impl FnMut(PageId, &[u8])) -> Result<()> {
        let mut page = first;
        while page != PageId(0) {
            let guard = self.store.pool().shared(page)?;
            let link = link(&guard).map_err(|what| Error::corrupt(page, what))?;
            if link.index != self.index.0 {
                return Err(Error::corrupt(page, "an overflow page of another index"));
            }
            f(page, link.data);
            page = link.next;
        }
        Ok(())
    }

    /// Appends the chain's bytes to `out`.
    pub fn read(&self, first: PageId, out: &mut Vec<u8>) -> Result<()> {
        self.read_with(first, |_, data| out.extend_from_slice(data))
    }

    /// Frees the last pages of a chain, `step` in each mini-transaction, until `step` or fewer are left. Only for a chain whose
    /// entry is not read any more: if this stops half-way, the chain is a shorter one, to be freed later.
    pub(super) fn cut_short(&self, chain: &[PageId], step: usize) -> Result<()> {
        let mut len = chain.len();
        while len > step {
            let keep = len.saturating_sub(step).max(1);
            let mut mtr = self.store.begin_mtr()?;
            // Whatever may fail comes before the first change: a mini-transaction that has changed pages cannot be given up.
            let last = mtr.add(self.store.pool().exclusive(chain[keep - 1])?);
            let data = link(mtr.page(last))
                .map_err(|what| Error::corrupt(chain[keep - 1], what))?
                .data
                .to_vec();
            mtr.free_pages(&chain[keep..len])?;
            let op = TreeOp::Overflow {
                next: PageId::NONE.0,
                index: self.index.0,
                data: &data,
            };
            mtr.apply(last, &op);
            mtr.commit();
            len = keep;
        }
        Ok(())
    }

    /// Appends the page numbers of the chain to `out`, to be freed together with the entry that names it.
    pub fn pages(&self, first: PageId, out: &mut Vec<PageId>) -> Result<()> {
        self.read_with(first, |page, _| out.push(page))
    }
}
