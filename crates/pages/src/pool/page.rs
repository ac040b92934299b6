//! The bytes of one page and the 32-byte header that every page begins with.
//!
//! ```text
//!  0        4         8        16     17      18                32
//!  ┌────────┬─────────┬────────┬──────┬───────┬─────────────────┬──────────…
//!  │ crc32c │ page id │ lsn    │ type │ level │ the type's own  │ body
//!  └────────┴─────────┴────────┴──────┴───────┴─────────────────┴──────────…
//! ```
//!
//! All integers are little-endian. The checksum covers everything after itself and is set when the page goes to disk
//! and verified when it comes back. A page of zeros is a page never written: it is valid, of type 0 and LSN 0.
//! `lsn` is the end of the last mini-transaction that changed the page.

use crate::ids::{Lsn, PAGE_SIZE, PageId};
use std::ops::{Deref, DerefMut};

/// Bytes of a page that belong to the common header; 18..32 are free for the page's type to use.
pub const PAGE_HEADER: usize = 32;

/// What a page holds. Kept as a byte because torn optimistic reads may show any value.
pub mod page_type {
    /// Formatted, and not in use.
    pub const FREE: u8 = 0;
    /// Page 0: where the roots are.
    pub const SUPERBLOCK: u8 = 1;
    /// Which pages are used.
    pub const BITMAP: u8 = 2;
    /// A node of a B+tree.
    pub const TREE: u8 = 3;
    /// A piece of a value too large for its leaf.
    pub const OVERFLOW: u8 = 4;
    /// Old versions of rows; scratch pages only.
    pub const VERSIONS: u8 = 5;
    /// Bytes that a statement has put aside; scratch pages only.
    pub const SPOOL: u8 = 6;
}

/// The bytes of one page.
#[repr(C, align(4096))]
pub struct PageBuf([u8; PAGE_SIZE]);

impl PageBuf {
    /// A page of zeros.
    pub fn zeroed() -> Box<PageBuf> {
        Box::new(PageBuf([0; PAGE_SIZE]))
    }

    /// Room for `count` pages, one behind the other.
    pub(crate) fn batch(count: usize) -> Vec<PageBuf> {
        (0..count).map(|_| PageBuf([0; PAGE_SIZE])).collect()
    }

    /// The same bytes once more.
    pub(crate) fn duplicate(&self) -> PageBuf {
        PageBuf(self.0)
    }

    /// The bytes of pages that lie one behind the other.
    #[allow(unsafe_code)]
    pub(crate) fn bytes_of(pages: &[PageBuf]) -> &[u8] {
        // SAFETY: a `PageBuf` is `PAGE_SIZE` plain bytes without padding, its alignment dividing its size.
        unsafe { std::slice::from_raw_parts(pages.as_ptr().cast(), std::mem::size_of_val(pages)) }
    }

    /// As [`bytes_of`](Self::bytes_of), to fill them.
    #[allow(unsafe_code)]
    pub(crate) fn bytes_of_mut(pages: &mut [PageBuf]) -> &mut [u8] {
        // SAFETY: as above; any bytes are a valid page.
        unsafe { std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), std::mem::size_of_val(pages)) }
    }

    /// The number that the page bears; 0 in a page of zeros.
    #[inline]
    pub fn id(&self) -> PageId {
        PageId(self.u32_at(4))
    }

    /// The end of the last record that changed the page.
    #[inline]
    pub fn lsn(&self) -> Lsn {
        Lsn(self.u64_at(8))
    }

    #[inline]
    pub(crate) fn set_lsn(&mut self, lsn: Lsn) {
        self.0[8..16].copy_from_slice(&lsn.0.to_le_bytes());
    }

    /// What the page holds: one of [`page_type`].
    #[inline]
    pub fn page_type(&self) -> u8 {
        self.0[16]
    }

    /// The level in its tree; 0 is a leaf.
    #[inline]
    pub fn level(&self) -> u8 {
        self.0[17]
    }

    /// Makes this an empty page: zeros behind a fresh header. The LSN stays, so that pages only grow older forwards.
    pub fn format(&mut self, id: PageId, page_type: u8, level: u8) {
        self.0[16..].fill(0);
        self.0[4..8].copy_from_slice(&id.0.to_le_bytes());
        self.0[16] = page_type;
        self.0[17] = level;
    }

    /// The number in two bytes.
    #[inline]
    pub fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    /// The number in four bytes.
    #[inline]
    pub fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    /// The number in eight bytes.
    #[inline]
    pub fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Stores a number in two bytes.
    #[inline]
    pub fn put_u16(&mut self, at: usize, value: u16) {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// Stores a number in four bytes.
    #[inline]
    pub fn put_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Stores a number in eight bytes.
    #[inline]
    pub fn put_u64(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Stamps the page for the disk.
    pub(crate) fn seal(&mut self, id: PageId) {
        self.put_u32(4, id.0);
        let crc = crc32c::crc32c(&self.0[4..]);
        self.put_u32(0, crc);
    }

    /// Whether these bytes are page `id` as [`seal`](Self::seal) left it, or a page never written.
    pub(crate) fn is_intact(&self, id: PageId) -> bool {
        if self.u32_at(0) == crc32c::crc32c(&self.0[4..]) && self.id() == id {
            return true;
        }
        self.u64_at(8) == 0 && self.0.iter().all(|&b| b == 0)
    }
}

impl Deref for PageBuf {
    type Target = [u8; PAGE_SIZE];
    #[inline]
    fn deref(&self) -> &[u8; PAGE_SIZE] {
        &self.0
    }
}

impl DerefMut for PageBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8; PAGE_SIZE] {
        &mut self.0
    }
}
