//! What the pages in the pool hold: to which index each belongs, how many entries it has, whether it is dirty. A page is read without a latch, see
//! `pool::peek`.

use super::racy::RacyNode;
use crate::ids::{IndexId, PageId};
use crate::pool::{Pool, page_type};

/// A page in memory, as it was a moment ago.
#[derive(Clone, Copy, Debug)]
pub struct PageInPool {
    /// Its number.
    pub page: PageId,
    /// Threads that use it at this moment.
    pub users: u32,
    /// It was not used lately, and goes when the clock's hand comes by.
    pub is_old: bool,
    /// Where the log was at the first change that is not on the disk and not being written; 0: there is none.
    pub oldest_change: u64,
    /// What it holds; `None` if a thread was changing it.
    pub content: Option<PageContent>,
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageContent {
    /// One of [`page_type`].
    pub page_type: u8,
    /// Where the log was at its latest change.
    pub newest_change: u64,
    /// The tree that it is a node of.
    pub index: Option<IndexId>,
    /// Entries, of a node.
    pub entries: u64,
    /// Bytes that entries take, of a node.
    pub bytes: u64,
}

/// The page in a frame of the pool; `None` of an empty one.
pub fn page_in(pool: &Pool, frame: usize) -> Option<PageInPool> {
    let peeked = pool.peek(frame)?;
    let content = peeked.guard.and_then(|guard| {
        let read = content_of(super::racy(&guard));
        guard.validate().ok().map(|()| read)
    });
    Some(PageInPool {
        page: peeked.page,
        users: peeked.users,
        is_old: peeked.is_marked,
        oldest_change: peeked.unwritten_since,
        content,
    })
}

fn content_of(node: RacyNode) -> PageContent {
    let page_type = node.page_type();
    let is_node = page_type == page_type::TREE;
    PageContent {
        page_type,
        newest_change: node.lsn(),
        index: is_node.then(|| IndexId(node.index())),
        entries: if is_node { node.entries() } else { 0 },
        bytes: if is_node { node.used_bytes() } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestStore;
    use super::super::tests::new_tree;
    use super::*;

    #[test]
    fn pages_are_told_of_as_they_are() {
        let test = TestStore::new();
        let tree = new_tree(&test.store);
        let mut append = tree.append().unwrap();
        for n in 0..1000u32 {
            append.push(&n.to_be_bytes(), b"value").unwrap();
        }
        append.finish().unwrap();
        let pool = test.store.pool();
        let seen: Vec<PageInPool> = (0..pool.frames())
            .filter_map(|frame| page_in(pool, frame))
            .collect();
        let contents = seen.iter().filter_map(|page| page.content);
        let leaves: Vec<PageContent> = contents.filter(|page| page.index == Some(tree.index())).collect();
        assert!(leaves.iter().map(|page| page.entries).sum::<u64>() >= 1000);
        assert!(leaves.iter().all(|page| page.bytes >= page.entries * 9));
        assert!(seen.iter().all(|page| page.users == 0));
        assert!(seen.iter().any(|page| page.oldest_change > 0), "none is dirty");
    }
}
