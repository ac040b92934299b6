//! Dropping a tree, in small mini-transactions.
//!
//! From right to left, each step cuts the last leaf (and inner nodes that are left without children) off the tree and
//! frees its pages in the same mini-transaction. So the tree is a tree all along, and a crash in the middle leaves a
//! smaller one, to be dropped again.

use super::Tree;
use super::node::Node;
use super::op::TreeOp;
use crate::error::Result;
use crate::ids::PageId;
use crate::pool::page_type;
use crate::store::{Mtr, PageHandle};

/// Overflow pages freed together. A longer chain is cut short first, from its end, so that no mini-transaction is longer than
/// the log takes, whatever a row has outside.
const CHAIN_PAGES_MAX: usize = 512;

impl Tree {
    /// Frees a scratch tree that is no longer used, root and all.
    pub fn free_scratch(&self) -> Result<()> {
        self.free_all(|_, _, _| (), || true)?;
        self.store.free_scratch(self.root);
        Ok(())
    }

    /// Empties a tree that no other thread uses any more and frees all its pages but the root, which is left an empty
    /// leaf. `chains` names the overflow chains that an entry owns, by their first pages. `go_on` is asked after each step, while nothing
    /// is latched; if it says no a smaller tree is left. True when all is done.
    pub fn free_all(
        &self,
        mut chains: impl FnMut(&[u8], &[u8], &mut Vec<PageId>),
        mut go_on: impl FnMut() -> bool,
    ) -> Result<bool> {
        let mut firsts = Vec::new();
        let mut pages = Vec::new();
        while !self.free_last(&mut chains, &mut firsts, &mut pages)? {
            if !go_on() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes away the last leaf or, if its entries own much, the last entries in it. True when all is done.
    pub(super) fn free_last(
        &self,
        chains: &mut impl FnMut(&[u8], &[u8], &mut Vec<PageId>),
        firsts: &mut Vec<PageId>,
        pages: &mut Vec<PageId>,
    ) -> Result<bool> {
        // What the last entries own is read before anything is latched exclusively: no other thread changes it.
        pages.clear();
        let leaf = self.read_last()?;
        let mut keep = leaf.node().count();
        while keep > 0 && pages.len() < CHAIN_PAGES_MAX {
            firsts.clear();
            let (key, value) = leaf.node().entry(keep - 1);
            chains(key, value, firsts);
            let before = pages.len();
            for &first in firsts.iter() {
                let from = pages.len();
                self.overflow().pages(first, pages)?;
                if pages.len() - from > CHAIN_PAGES_MAX {
                    drop(leaf);
                    self.overflow().cut_short(&pages[from..], CHAIN_PAGES_MAX)?;
                    return Ok(false);
                }
            }
            // Those of one entry go together, and an entry has no more chains than a table has columns.
            if before > 0 && pages.len() > CHAIN_PAGES_MAX {
                pages.truncate(before);
                break;
            }
            keep -= 1;
        }
        drop(leaf);

        let mut mtr = self.begin_mtr()?;
        let path = self.latch_last_path(&mut mtr)?;
        let (&(_, leaf), above) = path.split_last().expect("a path has a root");
        if keep > 0 {
            mtr.free_pages(pages)?;
            let node = Node::new(mtr.page(leaf));
            let (lower, upper) = (node.lower_fence().to_vec(), node.upper_fence().to_vec());
            mtr.apply(
                leaf,
                &TreeOp::Refence {
                    lower: &lower,
                    upper: &upper,
                    keep,
                },
            );
            mtr.commit();
            return Ok(false);
        }
        // Cut below the lowest node that has another child, or below the root.
        let cut = above
            .iter()
            .rposition(|&(_, page)| Node::new(mtr.page(page)).count() > 1)
            .unwrap_or(0);
        pages.extend(path[cut + 1..].iter().map(|(id, _)| id));
        mtr.free_pages(pages)?;
        let (_, page) = path[cut];
        let count = Node::new(mtr.page(page)).count();
        let done = path.len() == 1 || count == 1;
        if done {
            let (index, page_type) = (self.index.0, page_type::TREE);
            mtr.apply(
                page,
                &TreeOp::Format {
                    page_type,
                    level: 0,
                    index,
                    lower: b"",
                    upper: b"",
                },
            );
        } else {
            mtr.apply(page, &TreeOp::Remove { slot: count - 1 });
        }
        mtr.commit();
        Ok(done)
    }

    /// The last node of every level, from the root down, latched exclusively.
    fn latch_last_path<'t>(&'t self, mtr: &mut Mtr<'t>) -> Result<Vec<(PageId, PageHandle)>> {
        let mut path = vec![(self.root, mtr.add(self.pool().exclusive(self.root)?))];
        loop {
            let (id, page) = path[path.len() - 1];
            let node = Node::new(mtr.page(page));
            if node.page_type() != page_type::TREE || path.len() > super::LEVELS_MAX {
                return Err(self.corrupt(id, "not a tree page"));
            }
            if node.is_leaf() {
                return Ok(path);
            }
            let child = PageId(node.child(node.count() - 1));
            path.push((child, mtr.add(self.pool().exclusive(child)?)));
        }
    }
}
