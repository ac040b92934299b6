//! Fuzzing without a fuzzer: inputs from a corpus are mutated and given to a function, which must not panic.
//!
//! ```text
//!  corpus ──pick──► mutate (flip, insert, delete, copy, splice, odd numbers, words, tokens) ──► target(input)
//!                                                                     panic: the input is written down ──► file, test fails
//! ```
//!
//! Where hardly anything that is mutated is still whole, a grammar makes the inputs ([`Corpus::grammar`]), and few are mutated.
//!
//! A target is a test like any other, so it builds and runs with the others, on stable Rust. It begins with the seed 1 and makes as many
//! inputs as its caller says: the same ones in every run, so that CI does not depend on luck. A hunt sets
//! `TIDEMARK_FUZZ_SECONDS` or `TIDEMARK_FUZZ_EXECUTIONS`, and `TIDEMARK_FUZZ_SEED` to begin elsewhere (`./test hunt fuzz` does both). Nothing measures coverage, as libFuzzer does
//! (which wants a nightly compiler): the corpus has to hold an input of each kind, and the words that matter.
//!
//! What is found is written to `target/fuzz/NAME-SEED`, as bytes and, in the message, as a byte string. Put into the corpus it is
//! played first in every later run.

use crate::Random;
use crate::environment::number_of;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LENGTH_MAX: usize = 4096;
const MUTATIONS_MAX: usize = 6;
/// Of what a grammar makes one in so many is mutated, once.
const MADE_IS_MUTATED: usize = 4;

/// Makes an input of random numbers.
pub type Grammar = fn(&mut Random) -> Vec<u8>;

/// Inputs to begin with, and words to put into them.
#[derive(Debug)]
pub struct Corpus {
    name: &'static str,
    inputs: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    grammar: Option<Grammar>,
}

impl Corpus {
    /// An empty corpus for the target `name`.
    pub fn new(name: &'static str) -> Corpus {
        Corpus {
            name,
            inputs: Vec::new(),
            words: Vec::new(),
            grammar: None,
        }
    }

    /// Has inputs made in place of being taken from those that were added, which are only played as they are.
    pub fn grammar(mut self, grammar: Grammar) -> Corpus {
        self.grammar = Some(grammar);
        self
    }

    /// Adds one input.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Corpus {
        self.inputs.push(input.into());
        self
    }

    /// An input for each line of a text.
    pub fn lines(self, text: &str) -> Corpus {
        text.lines().fold(self, Corpus::input)
    }

    /// Words, separated by white space, that mutation puts into inputs.
    pub fn words(mut self, text: &str) -> Corpus {
        self.words
            .extend(text.split_whitespace().map(|word| word.as_bytes().to_vec()));
        self
    }

    /// Plays every input as it is, then `count` mutated ones, or as many as a hunt asks for, or has time for.
    ///
    /// # Panics
    /// If the target does, once the input is written down.
    pub fn play(mut self, count: u64, mut target: impl FnMut(&[u8])) {
        for at in 0..self.inputs.len() {
            self.attempt(&format!("input {at}"), &self.inputs[at], &mut target);
        }
        self.inputs.push(Vec::new());
        let first = number_of("TIDEMARK_FUZZ_SEED").unwrap_or(1);
        let until = number_of("TIDEMARK_FUZZ_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
        let asked = number_of("TIDEMARK_FUZZ_EXECUTIONS");
        let count = asked.unwrap_or(count);
        let mut done = 0;
        while until.map_or(done < count, |until| Instant::now() < until) {
            let seed = first.wrapping_add(done);
            let input = self.mutated(&mut Random::new(seed));
            self.attempt(&seed.to_string(), &input, &mut target);
            done += 1;
        }
        if until.is_some() || asked.is_some() {
            println!("{}: {done} inputs from seed {first}", self.name);
        }
    }

    fn attempt(&self, seed: &str, input: &[u8], target: &mut impl FnMut(&[u8])) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) else {
            return;
        };
        let path = self.write_down(seed, input);
        let mut literal = String::new();
        for byte in input {
            write!(literal, "{}", byte.escape_ascii()).expect("a string takes all");
        }
        println!(
            "{} panics on {seed}, written to {}:\nb\"{literal}\"",
            self.name,
            path.display()
        );
        resume_unwind(panic);
    }

    fn write_down(&self, seed: &str, input: &[u8]) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz");
        let path = folder.join(format!("{}-{}", self.name, seed.replace(' ', "-")));
        // The panic is what matters: a directory that cannot be written to does not hide it.
        let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input));
        path
    }

    fn mutated(&self, random: &mut Random) -> Vec<u8> {
        let mut input = self.any(random);
        let mutations = match self.grammar {
            Some(_) => usize::from(random.one_in(MADE_IS_MUTATED)),
            None => 1 + random.below(MUTATIONS_MAX),
        };
        for _ in 0..mutations {
            self.mutate(&mut input, random);
            input.truncate(LENGTH_MAX);
        }
        input
    }

    fn any(&self, random: &mut Random) -> Vec<u8> {
        match self.grammar {
            Some(make) => make(random),
            None => random.choice(&self.inputs).clone(),
        }
    }

    fn mutate(&self, input: &mut Vec<u8>, random: &mut Random) {
        let at = random.below(input.len() + 1);
        let end = input.len().min(at + 1 + random.below(16));
        match random.below(12) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.number() as u8,
            2 if at < input.len() => {
                input[at] = input[at].wrapping_add(random.below(7) as u8).wrapping_sub(3)
            }
            3 => drop(input.drain(at..end)),
            4 => {
                let piece = input[at..end].to_vec();
                let to = random.below(input.len() + 1);
                input.splice(to..to, piece);
            }
            5 => {
                let other = self.any(random);
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            6 => {
                let odd = *random.choice(&[
                    0,
                    1,
                    0x7F,
                    0x80,
                    0xFF,
                    0x7FFF,
                    0xFFFF,
                    0x7FFF_FFFF,
                    u64::from(u32::MAX),
                    u64::MAX,
                ]);
                let width = *random.choice(&[1, 2, 3, 4, 8]);
                let end = input.len().min(at + width);
                input.splice(at..end, odd.to_le_bytes()[..width].iter().copied());
            }
            8 => {
                let (token, place) = (
                    token_at(input, at),
                    token_at(input, random.below(input.len() + 1)),
                );
                let piece = input[token].to_vec();
                input.splice(place, piece);
            }
            9 | 10 => {
                let other = self.any(random);
                let token = token_at(&other, random.below(other.len() + 1));
                input.splice(token_at(input, at), other[token].iter().copied());
            }
            7 if !self.words.is_empty() => {
                let word = random.choice(&self.words).clone();
                input.splice(at..at, word);
            }
            _ => input.insert(at, random.number() as u8),
        }
    }
}

/// The word, number or quoted text that has something at or behind `at`, or else a byte.
fn token_at(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'@' | 0x80..);
    let Some(first) = input.get(at) else {
        return input.len()..input.len();
    };
    if matches!(first, b'\'' | b'"' | b'`') {
        let len = input[at + 1..].iter().position(|byte| byte == first);
        return at..len.map_or(at + 1, |len| at + len + 2);
    }
    if !is_word(first) {
        return at..at + 1;
    }
    let before = input[..at].iter().rev().take_while(|byte| is_word(byte)).count();
    let behind = input[at..].iter().take_while(|byte| is_word(byte)).count();
    at - before..at + behind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_hidden() {
        let found = catch_unwind(|| {
            Corpus::new("hidden")
                .lines("SELECT 1\nnothing")
                .words("NULL")
                .play(200_000, |input| {
                    assert!(!(input.starts_with(b"SEL") && input.ends_with(b"NULL")), "found");
                });
        });
        assert!(found.is_err());
    }

    #[test]
    fn repeats_itself() {
        let corpus = Corpus::new("repeated").input("abc");
        let two = [7, 7].map(|seed| corpus.mutated(&mut Random::new(seed)));
        assert_eq!(two[0], two[1]);
    }
}
