//! A range of a file's bytes, block by block: for disks that keep what was written in blocks of their own.

use std::ops::Range;

/// Bytes of a block.
pub const BLOCK: usize = 4096;

/// The part of a range that lies in one block.
pub struct Piece {
    /// The block's number.
    pub block: u64,
    /// Where in the block.
    pub within: Range<usize>,
    /// Where in the range.
    pub of_range: Range<usize>,
}

/// The pieces of `len` bytes from `offset` on, in order.
pub fn pieces(offset: u64, len: usize) -> impl Iterator<Item = Piece> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let place = offset + done as u64;
        let at = (place % BLOCK as u64) as usize;
        let take = (BLOCK - at).min(len - done);
        done += take;
        Some(Piece {
            block: place / BLOCK as u64,
            within: at..at + take,
            of_range: done - take..done,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_range() {
        let of = |offset, len| {
            let pieces = pieces(offset, len).map(|piece| (piece.block, piece.within, piece.of_range));
            pieces.collect::<Vec<_>>()
        };
        assert!(of(5000, 0).is_empty());
        assert_eq!(of(4096, 4096), [(1, 0..4096, 0..4096)]);
        assert_eq!(
            of(4000, 4300),
            [
                (0, 4000..4096, 0..96),
                (1, 0..4096, 96..4192),
                (2, 0..108, 4192..4300)
            ]
        );
    }
}
