//! The order of ideographs in Japanese (by JIS X 0208) and in Chinese (by pinyin): a weight for each of those that the order knows.
//!
//! A table (`data/ideographs-*.bin`) is of little-endian u16:
//!
//! ```text
//! pages | where the weights begin | for each 256 characters the number of their page (0xFFFF: none)
//!       | for each page: 256 bits, which characters have a weight; where the first of their weights stands
//!       | weights
//! ```
//!
//! `tests/collations/record.py` makes it from what `WEIGHT_STRING` shows in MySQL. Sort keys on disk are made of these weights, so a table
//! never changes.

/// The order of a language.
pub(crate) struct Ideographs {
    words: &'static [[u8; 2]],
}

pub(super) static JAPANESE: Ideographs = Ideographs {
    words: include_bytes!("data/ideographs-ja.bin").as_chunks().0,
};
pub(super) static CHINESE: Ideographs = Ideographs {
    words: include_bytes!("data/ideographs-zh.bin").as_chunks().0,
};

const NO_PAGE: u16 = 0xFFFF;
/// Where the numbers of pages begin.
const INDEX: usize = 2;
/// Words of bits of a page.
const BITS: usize = 16;
/// Words that a page takes.
const PAGE: usize = BITS + 1;

impl Ideographs {
    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.words[at])
    }

    /// The weight of a character that the order knows.
    pub(super) fn weight(&self, c: char) -> Option<u16> {
        let code = c as usize;
        let pages = self.word(0) as usize;
        if code >> 8 >= pages || self.word(INDEX + (code >> 8)) == NO_PAGE {
            return None;
        }
        let page = INDEX + pages + PAGE * self.word(INDEX + (code >> 8)) as usize;
        let (word, bit) = ((code & 255) / 16, code % 16);
        let bits = self.word(page + word);
        if bits >> bit & 1 == 0 {
            return None;
        }
        let before = self.words[page..page + word]
            .iter()
            .map(|bits| u16::from_le_bytes(*bits).count_ones())
            .sum::<u32>()
            + (bits & ((1 << bit) - 1)).count_ones();
        let weights = self.word(1) as usize;
        Some(self.word(weights + self.word(page + BITS) as usize + before as usize))
    }
}
