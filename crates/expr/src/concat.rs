//! The texts of a GROUP_CONCAT, as many as its result can show.
//!
//! The result ends at `group_concat_max_len`, so no text that comes behind the one that is cut is ever seen. Without an
//! ORDER BY those that come later are not kept. With one, the texts are sorted whenever they take twice what was left the
//! last time, and what stands behind the cut is dropped: the memory is bounded by the result's length.

use super::Env;
use super::compare::order_values;
use super::infer::kind_of;
use super::{Aggregate, Expr};
use std::cmp::Ordering;
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{Val, Value};

/// Fewer bytes than this are not worth dropping.
const DROP_FROM: usize = 4 << 10;

/// About what a text takes beside its bytes and keys.
const TEXT_BYTES: usize = size_of::<Text>() + 32;

#[derive(Clone, Debug)]
struct Text {
    /// What it is ordered by.
    keys: Vec<Value>,
    bytes: Vec<u8>,
}

/// The texts of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Concat {
    texts: Vec<Text>,
    /// What they take in the result, each with a separator.
    bytes: usize,
    /// What was left when texts were dropped the last time.
    left: usize,
}

impl Concat {
    /// Adds a row's text: its arguments one after the other. Behind the arguments stand the keys of ORDER BY.
    pub fn push(&mut self, first: Val, rest: Vec<Val>, spec: &Aggregate, env: &Env) -> Result<()> {
        let limit = limit(env);
        if spec.order_by.is_empty() && self.bytes > limit + spec.separator.len() {
            return Ok(());
        }
        let mut rest = rest.into_iter();
        let mut bytes = first.checked_text()?.into_owned();
        for value in rest.by_ref().take(spec.args.len() - 1) {
            bytes.extend_from_slice(&value.checked_text()?);
        }
        check_memory()?;
        self.bytes += bytes.len() + spec.separator.len();
        self.texts.push(Text {
            keys: rest.map(Val::into_owned).collect(),
            bytes,
        });
        if !spec.order_by.is_empty() && self.bytes > limit && self.bytes > 2 * self.left.max(DROP_FROM) {
            self.drop_unseen(limit, spec, env)?;
        }
        Ok(())
    }

    /// About what it takes in memory.
    pub fn held_bytes(&self) -> usize {
        self.bytes + self.texts.len() * TEXT_BYTES
    }

    /// Leaves the texts up to the one that is cut.
    fn drop_unseen(&mut self, limit: usize, spec: &Aggregate, env: &Env) -> Result<()> {
        self.sort(&spec.order_by, env)?;
        let mut bytes = 0;
        let seen = |text: &Text| {
            let before = bytes;
            bytes += text.bytes.len() + spec.separator.len();
            before <= limit + spec.separator.len()
        };
        let seen = self.texts.iter().map(seen).take_while(|seen| *seen).count();
        self.texts.truncate(seen);
        let texts = self.texts.iter().map(|text| text.bytes.len());
        self.bytes = texts.map(|len| len + spec.separator.len()).sum();
        self.left = self.bytes;
        Ok(())
    }

    /// Sorts the texts; those with equal keys stay in the order in which they came.
    fn sort(&mut self, order: &[(Expr, bool)], env: &Env) -> Result<()> {
        let mut failed = None;
        self.texts.sort_by(|a, b| {
            for ((x, y), (e, descending)) in a.keys.iter().zip(&b.keys).zip(order) {
                match order_values(x, y, kind_of(&e.ty), env) {
                    Ok(Ordering::Equal) => {}
                    Ok(order) => return if *descending { order.reverse() } else { order },
                    Err(e) => {
                        failed = Some(e);
                        return Ordering::Equal;
                    }
                }
            }
            Ordering::Equal
        });
        failed.map_or(Ok(()), Err)
    }

    /// The result: NULL without a text, otherwise all of them, up to the limit.
    pub fn finish(mut self, spec: &Aggregate, env: &Env) -> Result<Value> {
        if self.texts.is_empty() {
            return Ok(Val::Null);
        }
        if !spec.order_by.is_empty() {
            self.sort(&spec.order_by, env)?;
        }
        let limit = limit(env);
        let mut out: Vec<u8> = Vec::new();
        for (i, text) in self.texts.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(&spec.separator);
            }
            out.extend_from_slice(&text.bytes);
            if out.len() > limit {
                let mut end = limit;
                while end > 0 && !spec.ty.is_binary_string() && out[end] & 0xC0 == 0x80 {
                    end -= 1;
                }
                out.truncate(end);
                env.complain(SqlError::group_concat_cut(i as u64 + 1))?;
                break;
            }
        }
        Ok(Val::Str(out.into()))
    }
}

/// How long a result may be.
fn limit(env: &Env) -> usize {
    let bytes = env.group_concat_max_len.min(env.max_allowed_packet);
    usize::try_from(bytes).unwrap_or(usize::MAX / 4)
}
