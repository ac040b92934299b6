//! Trusting nothing: a walk over a whole tree that checks whatever can be checked.
//!
//! Every page is of this tree and of the level its parent expects, is well-formed in itself, and has the fences that
//! its parent's keys promise; every overflow page belongs to this index. The [`Visitor`] learns of each page once and
//! of each entry in order, so that a caller can account for every page of the file and compare indexes.

use super::node::{Node, PageBytes};
use super::{LEVELS_MAX, Tree, overflow};
use crate::error::{Error, Result};
use crate::ids::{IndexId, PAGE_SIZE, PageId};
use crate::pool::Pool;

/// What a caller of [`Tree::verify`] wants to know; an error ends the walk.
pub trait Visitor {
    /// The caller's errors, which damage found by the walk is turned into.
    type Error: From<Error>;
    /// A page of the tree. A caller that has seen it before returns an error.
    fn page(&mut self, page: PageId, level: u8) -> Result<(), Self::Error>;
    /// An entry, in key order.
    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;
    /// The tree has been dropped, and its last pages may have been freed: where it ends does not matter.
    fn is_dropped(&self) -> bool {
        false
    }
    /// An entry, or a page and all that lies below it, is not what it should be. If this is no error, the walk goes on behind it.
    fn damaged(&mut self, error: Self::Error) -> Result<(), Self::Error> {
        Err(error)
    }
}

impl Tree {
    /// Checks the whole tree, which no thread changes meanwhile.
    pub fn verify<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        let root = self.pool().shared(self.root)?;
        let level = Node::new(&root).level();
        drop(root);
        if level as usize >= LEVELS_MAX {
            return Err(self.corrupt(self.root, "the tree is too deep").into());
        }
        let upper = (!visitor.is_dropped()).then_some(&b""[..]);
        self.verify_node(self.root, level, b"", upper, visitor)
    }

    /// `upper`: what bounds the page from above; `None` if that may be anything.
    fn verify_node<V: Visitor>(
        &self,
        page: PageId,
        level: u8,
        lower: &[u8],
        upper: Option<&[u8]>,
        visitor: &mut V,
    ) -> Result<(), V::Error> {
        let mut copy: Box<PageBytes> = Box::new([0; PAGE_SIZE]);
        copy.copy_from_slice(&self.pool().shared(page)?[..]);
        let node = Node::new(&copy);
        let fault = |what: &str| Err(self.corrupt(page, what).into());
        if node.page_type() != crate::pool::page_type::TREE {
            return fault("not a tree page");
        }
        if node.index() != self.index.0 {
            return fault("a page of another tree");
        }
        if node.level() != level {
            return fault("a page of another level");
        }
        if let Err(what) = node.check() {
            return fault(what);
        }
        if node.lower_fence() != lower || upper.is_some_and(|upper| node.upper_fence() != upper) {
            return fault("the fences differ from the parent's keys");
        }
        visitor.page(page, level)?;
        if level == 0 {
            return (0..node.count()).try_for_each(|slot| {
                let (key, value) = node.entry(slot);
                visitor.entry(key, value).or_else(|error| visitor.damaged(error))
            });
        }
        if node.count() == 0 {
            return fault("an inner node without children");
        }
        for slot in 0..node.count() {
            let from = if slot == 0 { lower } else { node.key(slot) };
            let to = if slot + 1 < node.count() {
                Some(node.key(slot + 1))
            } else {
                upper
            };
            self.verify_node(PageId(node.child(slot)), level - 1, from, to, visitor)
                .or_else(|error| visitor.damaged(error))?;
        }
        Ok(())
    }
}

/// Checks one overflow chain of `index`, telling `seen` of each page, and returns the number of its bytes.
pub fn verify_overflow<E: From<Error>>(
    pool: &Pool,
    index: IndexId,
    first: PageId,
    seen: &mut dyn FnMut(PageId) -> Result<(), E>,
) -> Result<u64, E> {
    let mut page = first;
    let mut bytes = 0;
    while page != PageId(0) {
        // A chain that runs in a circle is stopped where a page has been seen before.
        seen(page)?;
        let guard = pool.shared(page)?;
        let link = overflow::link(&guard).map_err(|what| Error::corrupt(page, what))?;
        if link.index != index.0 {
            return Err(Error::corrupt(page, "an overflow page of another index").into());
        }
        bytes += link.data.len() as u64;
        page = link.next;
    }
    Ok(bytes)
}
