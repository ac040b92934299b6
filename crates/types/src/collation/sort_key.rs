//! Sort keys: bytes that compare as the texts do.
//!
//! Without padding a key is just the weights, one after the other. Under PAD SPACE the shorter of two texts counts as
//! filled with spaces, so that the end of a text must sort like an endless run of them: above whatever is below a space,
//! below whatever is above. A run of spaces, and the end, therefore begin with the space's weight and a mark: 1 when what
//! follows the run is less than a space, 2 at the end, 3 when it is greater. After 1 and 3 stands how long the run is:
//! before something small a longer run is greater, before something great it is less (the length is then inverted).

use super::{Charset, Collation, Weights, WideForm};
use std::convert::Infallible;

const BELOW: u8 = 1;
const END: u8 = 2;
const ABOVE: u8 = 3;

impl Collation {
    /// Appends the sort key of a text.
    #[inline]
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        let Ok(()) = self.sort_key_while(text, out, &mut || Ok::<_, Infallible>(()));
    }

    /// The same of a text that may be long: `may_go_on` is asked for each weight.
    pub fn sort_key_while<E>(
        self,
        text: &[u8],
        out: &mut Vec<u8>,
        may_go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let wide = self.wide();
        if !self.fills_up() {
            return self.plain_key(self.weighed(text), out, may_go_on);
        }
        let space = self.space_weight();
        let mut weights = self.weight_iter(text, 0);
        let mut run = 0u64;
        loop {
            may_go_on()?;
            let next = weights.next();
            match next {
                Some(w) if w == space => {
                    run += 1;
                    continue;
                }
                Some(w) => {
                    if run > 0 {
                        push_run(space, run, w, wide, out);
                        run = 0;
                    }
                    push_weight(w, wide, out);
                }
                None => {
                    push_weight(space, wide, out);
                    out.push(END);
                    return Ok(());
                }
            }
        }
    }
}

impl Collation {
    /// Appends bytes with which the sort key begins of every text that begins, character by character as LIKE compares them, with this one.
    ///
    /// Characters that are the same to LIKE have the same weights on each level, and the key of a text begins with the weights that its
    /// characters have on the first. So it begins with those of `head`, with two exceptions. Where spaces fill up texts, a run of them has
    /// a form that depends on what follows, of which at the end of `head` only the beginning is known. And a character weighs something
    /// else where it is one of a group (`ch` in Czech) or moves: nothing is known from the first character on that may begin a group.
    pub fn sort_key_head(self, head: &[u8], out: &mut Vec<u8>) {
        let head = match self.weights() {
            Weights::Passes(_) => return,
            Weights::Language(levels) => {
                let in_group = |c: char| levels[0].group_heads().any(|first| self.same_char(first, c));
                let safe = String::from_utf8_lossy(head);
                let cut = safe.char_indices().find(|(_, c)| in_group(*c));
                &head[..cut.map_or(head.len(), |(at, _)| at.min(head.len()))]
            }
            _ => head,
        };
        let (wide, fills_up, space) = (self.wide(), self.fills_up(), self.space_weight());
        let mut run = 0;
        for weight in self.weight_iter(head, 0) {
            if fills_up && weight == space {
                run += 1;
                continue;
            }
            if run > 0 {
                push_run(space, run, weight, wide, out);
                run = 0;
            }
            push_weight(weight, wide, out);
        }
        if run > 0 {
            push_weight(space, wide, out);
        }
    }

    /// No sort key of the text is longer. It takes as long to say as to make the key.
    pub fn sort_key_len_max<E>(
        self,
        text: &[u8],
        may_go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<usize, E> {
        if self.weights().are_bytes() && !self.pad_space() {
            return Ok(text.len());
        }
        let mut weights = 0;
        for level in 0..self.levels() {
            for _ in self.weight_iter(text, level) {
                may_go_on()?;
                weights += 1;
            }
        }
        // A run of spaces takes four bytes at least, and a byte more for each 255.
        let pad = if self.pad_space() { weights * 3 + 8 } else { 0 };
        // Levels are parted by two bytes; at first each byte of a text is given two.
        Ok((weights * 2 + 2 * self.levels() + pad).max(text.len() * 2))
    }

    /// Whether weights take two bytes.
    fn wide(self) -> bool {
        matches!(
            self.weights(),
            Weights::Uca(_) | Weights::Language(_) | Weights::General | Weights::General500 | Weights::Lower
        )
    }

    /// The weights alone, level after level; zero, which is no weight, stands between levels.
    fn plain_key<E>(
        self,
        text: &[u8],
        out: &mut Vec<u8>,
        may_go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        if self.weights().are_bytes() {
            out.extend_from_slice(text);
            return Ok(());
        }
        let wide = self.wide();
        out.reserve(text.len() * 2);
        if let Weights::Uca([only]) = self.weights()
            && text.is_ascii()
        {
            push_ascii(&only.table().ascii, text, out);
            return Ok(());
        }
        for level in 0..self.levels() {
            let mut weights = self.weight_iter(text, level);
            // The fourth level of a text without kana is not there at all.
            if level == 3 && weights.clone().next().is_none() {
                return Ok(());
            }
            if level > 0 {
                out.extend_from_slice(&[0, 0]);
            }
            weights.take_ascii(out);
            for weight in weights {
                may_go_on()?;
                push_weight(weight, wide, out);
            }
        }
        Ok(())
    }

    /// What `WEIGHT_STRING` shows.
    pub fn weight_string<E>(
        self,
        text: &[u8],
        may_go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        if self.is_code_point() && self.weights().are_bytes() {
            return Ok(self.code_points(text));
        }
        let mut out = Vec::new();
        self.plain_key(text, &mut out, may_go_on)?;
        if matches!(self.weights(), Weights::Passes(passes) if passes.shows_end()) {
            out.push(0);
        }
        Ok(out)
    }
}

impl Collation {
    /// What MySQL weighs by code point: the numbers of characters in two or three bytes, or the bytes of a text in another set.
    fn code_points(self, text: &[u8]) -> Vec<u8> {
        let charset = self.charset();
        let width = match charset {
            _ if !charset.is_unicode() || !self.pad_space() => return charset.write(text).into_owned(),
            Charset::Utf8mb3 | Charset::Wide(WideForm::Ucs2) => 2,
            _ => 3,
        };
        let mut out = Vec::with_capacity(text.len() * width);
        for c in String::from_utf8_lossy(text).chars() {
            out.extend_from_slice(&(c as u32).to_be_bytes()[4 - width..]);
        }
        out
    }
}

#[inline]
fn push_weight(weight: u16, wide: bool, out: &mut Vec<u8>) {
    if wide {
        out.extend_from_slice(&weight.to_be_bytes())
    } else {
        out.push(weight as u8)
    }
}

/// A run of so many spaces, and what follows it.
fn push_run(space: u16, run: u64, next: u16, wide: bool, out: &mut Vec<u8>) {
    push_weight(space, wide, out);
    out.push(if next < space { BELOW } else { ABOVE });
    push_length(run, next > space, out);
}

/// The weights of most text: a table look-up per byte, and nothing that depends on what it finds.
fn push_ascii(weights: &[u16; 128], text: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + text.len() * 2, 0);
    let mut all_have_one = true;
    for (key, byte) in out[from..].as_chunks_mut::<2>().0.iter_mut().zip(text) {
        let weight = weights[(byte & 127) as usize];
        all_have_one &= weight != 0;
        *key = weight.to_be_bytes();
    }
    if !all_have_one {
        out.truncate(from);
        let found = text.iter().map(|byte| weights[(byte & 127) as usize]);
        found
            .filter(|weight| *weight != 0)
            .for_each(|weight| out.extend_from_slice(&weight.to_be_bytes()));
    }
}

/// A length such that bytes compare as lengths do: bytes of 255 and a last one below.
fn push_length(mut run: u64, inverted: bool, out: &mut Vec<u8>) {
    let flip = if inverted { 0xFF } else { 0 };
    while run >= 255 {
        out.push(255 ^ flip);
        run -= 255;
    }
    out.push(run as u8 ^ flip);
}

/// The engine's view of the collations.
#[derive(Clone, Copy, Debug, Default)]
pub struct SqlCollator;

impl tidemark_engine::Collator for SqlCollator {
    fn sort_key(&self, collation: u16, text: &[u8], out: &mut Vec<u8>) {
        Collation::from_id(collation)
            .unwrap_or(Collation::BINARY)
            .sort_key(text, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_begin_as_texts_do() {
        let pieces = [
            "a", "A", "c", "C", "h", "ch", "\u{ff43}", " ", "\t", "e\u{301}", "é", "ß", "s", "ﬁ", "か", "カ",
            "ー", "中", "😀", "\u{1}", "l", "·",
        ];
        let two = pieces
            .iter()
            .flat_map(|a| pieces.iter().map(move |b| format!("{a}{b}")));
        let three: Vec<String> = two
            .clone()
            .flat_map(|t| pieces.iter().step_by(3).map(move |p| format!("{t}{p}")))
            .collect();
        let heads: Vec<String> = pieces.iter().map(|p| p.to_string()).chain(two).collect();
        let (mut begun, mut known) = (0, 0);
        for collation in Collation::all().filter(|c| c.charset() != super::super::Charset::Ascii) {
            for text in three.iter().step_by(5) {
                let mut key = Vec::new();
                collation.sort_key(text.as_bytes(), &mut key);
                for head in heads.iter().step_by(3) {
                    let mut rest = text.chars();
                    let begins = |c: char| rest.next().is_some_and(|own| collation.same_char(own, c));
                    if !head.chars().all(begins) {
                        continue;
                    }
                    let mut of_head = Vec::new();
                    collation.sort_key_head(head.as_bytes(), &mut of_head);
                    begun += 1;
                    known += !of_head.is_empty() as u32;
                    assert!(
                        key.starts_with(&of_head),
                        "{} {text:?} {head:?}",
                        collation.name()
                    );
                }
            }
        }
        assert!(begun > 1000 && known * 10 > begun * 7, "{known} of {begun}");
    }

    #[test]
    fn keys_order_as_texts_compare() {
        let pieces = [
            "a", "A", " ", "  ", "\t", "b", "é", "ß", "中", "😀", "z", "\u{1}", "0",
        ];
        let mut texts: Vec<String> = vec![String::new()];
        for _ in 0..3 {
            let longer: Vec<String> = texts
                .iter()
                .flat_map(|t| pieces.iter().map(move |p| format!("{t}{p}")))
                .collect();
            texts.extend(longer);
            texts.sort();
            texts.dedup();
        }
        let sample: Vec<&String> = texts.iter().step_by(7).collect();
        for collation in Collation::all().filter(|c| c.charset() != super::super::Charset::Ascii) {
            let keyed: Vec<(Vec<u8>, &[u8])> = sample
                .iter()
                .map(|t| {
                    let mut key = Vec::new();
                    collation.sort_key(t.as_bytes(), &mut key);
                    (key, t.as_bytes())
                })
                .collect();
            for (i, (ka, a)) in keyed.iter().enumerate() {
                for (kb, b) in keyed.iter().skip(i + 1).step_by(3) {
                    assert_eq!(
                        ka.cmp(kb),
                        collation.compare(a, b),
                        "{} {:?} {:?}",
                        collation.name(),
                        String::from_utf8_lossy(a),
                        String::from_utf8_lossy(b)
                    );
                }
            }
        }
    }
}
