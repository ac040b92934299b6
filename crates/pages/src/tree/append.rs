//! Loading sorted entries: whole pages at a time.
//!
//! Entries gather in a page of their own, outside the pool; when it is full it is hung to the right of the tree with
//! one log record, instead of one for each entry. Every page is reachable from the moment it exists, so a crash in the
//! middle leaves a tree that can be dropped like any other.

use super::Tree;
use super::leaf::check_size;
use super::node::{CAPACITY, Node, NodeMut, PageBytes, entry_size, separator};
use super::op::TreeOp;
use crate::error::Result;
use crate::ids::PAGE_SIZE;
use crate::pool::page_type;

/// Room left in each page for what comes after the load.
const SPARE: usize = CAPACITY / 16;

/// Appends entries in ascending order to a tree that no other thread changes.
pub struct Append<'t> {
    tree: &'t Tree,
    page: Box<PageBytes>,
    /// The last key of the page before this one: what this one's lower fence must lie above.
    before: Option<Vec<u8>>,
}

impl Tree {
    /// Begins to append: every key must lie above those before it and above all in the tree.
    pub fn append(&self) -> Result<Append<'_>> {
        let last = self.read_last()?;
        let node = last.node();
        let before = node.count().checked_sub(1).map(|slot| node.key(slot).to_vec());
        let mut append = Append {
            tree: self,
            page: Box::new([0; PAGE_SIZE]),
            before,
        };
        append.start_page(b"");
        Ok(append)
    }
}

impl Append<'_> {
    fn start_page(&mut self, lower: &[u8]) {
        NodeMut::new(&mut self.page).format(page_type::TREE, 0, self.tree.index.0, lower, b"");
    }

    /// Appends an entry.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_size(key.len(), value.len())?;
        let node = Node::new(&self.page);
        // The page must keep room for its upper fence, at most one byte longer than its last key.
        let need = entry_size(key.len(), value.len()) + key.len() + 1;
        if node.count() > 0 && need + SPARE > node.free_space() {
            self.flush()?;
        }
        if Node::new(&self.page).count() == 0
            && let Some(before) = &self.before
        {
            let lower = separator(before, key).to_vec();
            self.start_page(&lower);
        }
        let pushed = NodeMut::new(&mut self.page).push_entry(key, value);
        assert!(pushed, "an empty page takes any entry");
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let node = Node::new(&self.page);
        let Some(last) = node.count().checked_sub(1) else {
            return Ok(());
        };
        let last = node.key(last).to_vec();
        if self.before.is_none() {
            // The tree is one empty leaf, the root.
            let mut leaf = self.tree.write(b"")?;
            leaf.overwrite(&TreeOp::image(node));
            leaf.finish();
        } else if !self.tree.attach_last(node.lower_fence(), &self.page)? {
            for slot in 0..node.count() {
                let (key, value) = node.entry(slot);
                self.tree.put(key, value)?;
            }
        }
        self.before = Some(last);
        self.start_page(b"");
        Ok(())
    }

    /// Hangs the last page in.
    pub fn finish(mut self) -> Result<()> {
        self.flush()
    }
}
