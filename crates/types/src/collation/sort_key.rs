//! Sort keys: bytes that compare as the texts do.
//!
//! Without padding a key is just the weights, one after the other. Under PAD SPACE the shorter of two texts counts as
//! filled with spaces, so that the end of a text must sort like an endless run of them: above whatever is below a space,
//! below whatever is above. A run of spaces, and the end, therefore begin with the space's weight and a mark: 1 when what
//! follows the run is less than a space, 2 at the end, 3 when it is greater. After 1 and 3 stands how long the run is:
//! before something small a longer run is greater, before something great it is less (the length is then inverted).

use super::{Charset, Collation, Weights, WideForm};

const BELOW: u8 = 1;
const END: u8 = 2;
const ABOVE: u8 = 3;

impl Collation {
    /// Appends the sort key of a text.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        let wide = self.wide();
        if !self.fills_up() {
            self.plain_key(self.weighed(text), out);
            return;
        }
        let space = self.space_weight();
        let push = |w: u16, out: &mut Vec<u8>| {
            if wide {
                out.extend_from_slice(&w.to_be_bytes())
            } else {
                out.push(w as u8)
            }
        };
        let mut weights = self.weight_iter(text, 0);
        let mut run = 0u64;
        loop {
            let next = weights.next();
            match next {
                Some(w) if w == space => {
                    run += 1;
                    continue;
                }
                Some(w) => {
                    if run > 0 {
                        push(space, out);
                        out.push(if w < space { BELOW } else { ABOVE });
                        push_length(run, w > space, out);
                        run = 0;
                    }
                    push(w, out);
                }
                None => {
                    push(space, out);
                    out.push(END);
                    return;
                }
            }
        }
    }
}

impl Collation {
    /// No sort key of the text is longer. It takes as long to say as to make the key.
    pub fn sort_key_len_max(self, text: &[u8]) -> usize {
        if self.weights().are_bytes() && !self.pad_space() {
            return text.len();
        }
        let weights: usize = (0..self.levels())
            .map(|level| self.weight_iter(text, level).count())
            .sum();
        // A run of spaces takes four bytes at least, and a byte more for each 255.
        let pad = if self.pad_space() { weights * 3 + 8 } else { 0 };
        // Levels are parted by two bytes; at first each byte of a text is given two.
        (weights * 2 + 2 * self.levels() + pad).max(text.len() * 2)
    }

    /// Whether weights take two bytes.
    fn wide(self) -> bool {
        matches!(
            self.weights(),
            Weights::Uca(_) | Weights::Language(_) | Weights::General | Weights::General500 | Weights::Lower
        )
    }

    /// The weights alone, level after level; zero, which is no weight, stands between levels.
    fn plain_key(self, text: &[u8], out: &mut Vec<u8>) {
        if self.weights().are_bytes() {
            out.extend_from_slice(text);
            return;
        }
        let wide = self.wide();
        out.reserve(text.len() * 2);
        if let Weights::Uca([only]) = self.weights()
            && text.is_ascii()
        {
            push_ascii(&only.table().ascii, text, out);
            return;
        }
        for level in 0..self.levels() {
            let mut weights = self.weight_iter(text, level);
            // The fourth level of a text without kana is not there at all.
            if level == 3 && weights.clone().next().is_none() {
                return;
            }
            if level > 0 {
                out.extend_from_slice(&[0, 0]);
            }
            weights.take_ascii(out);
            for w in weights {
                if wide {
                    out.extend_from_slice(&w.to_be_bytes())
                } else {
                    out.push(w as u8)
                }
            }
        }
    }

    /// What `WEIGHT_STRING` shows.
    pub fn weight_string(self, text: &[u8]) -> Vec<u8> {
        if self.is_code_point() && self.weights().are_bytes() {
            return self.code_points(text);
        }
        let mut out = Vec::new();
        self.plain_key(text, &mut out);
        if matches!(self.weights(), Weights::Passes(passes) if passes.shows_end()) {
            out.push(0);
        }
        out
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
