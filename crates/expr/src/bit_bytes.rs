//! Bit operations on bytes: of two binary strings of one length, or of one that is shifted or inverted, the result is a binary string of that
//! length. The first bit of the first byte is the highest. A hexadecimal literal is a number, unless it stands beside bytes, and so is NULL;
//! but what is NULL by its type and neither a literal nor a subquery is bytes by itself.

use super::node::{BitOp, Expr, Node};
use tidemark_types::TypeKind;
use tidemark_types::error::{Result, SqlError, er};

/// Whether an operation on these operands is one on bytes.
pub(crate) fn is_on_bytes(op: BitOp, left: &Expr, right: &Expr) -> bool {
    match op {
        BitOp::ShiftLeft | BitOp::ShiftRight => is_bytes(left),
        _ => {
            let may_be = |e: &Expr| e.ty.is_binary_string() || e.ty.kind == TypeKind::Null;
            let strings = may_be(left) && may_be(right);
            strings && (is_bytes(left) || is_bytes(right))
        }
    }
}

/// Whether it is bytes by itself: a hexadecimal literal, which is marked as unsigned, is not.
pub(crate) fn is_bytes(e: &Expr) -> bool {
    let is_null = || e.is_null_by_type() && !matches!(e.node, Node::Literal(_) | Node::Subquery { .. });
    e.ty.is_binary_string() && !e.ty.unsigned || is_null()
}

/// Error 3513 if the lengths differ.
pub(crate) fn joined(op: BitOp, a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    if a.len() != b.len() {
        return Err(SqlError::new(
            er::INVALID_BITWISE_OPERANDS_SIZE,
            "Binary operands of bitwise operators must be of equal length",
        ));
    }
    let pairs = a.iter().zip(b);
    Ok(match op {
        BitOp::And => pairs.map(|(x, y)| x & y).collect(),
        BitOp::Or => pairs.map(|(x, y)| x | y).collect(),
        _ => pairs.map(|(x, y)| x ^ y).collect(),
    })
}

/// Bits that are shifted in are zero.
pub(crate) fn shifted(op: BitOp, bytes: &[u8], by: u64) -> Vec<u8> {
    let length = bytes.len();
    let whole = usize::try_from(by / 8).unwrap_or(usize::MAX);
    let bits = (by % 8) as u32;
    let at = |index: Option<usize>| index.and_then(|i| bytes.get(i)).copied().unwrap_or(0) as u16;
    (0..length)
        .map(|i| match op {
            BitOp::ShiftLeft => {
                let from = i.checked_add(whole);
                let pair = at(from) << 8 | at(from.and_then(|i| i.checked_add(1)));
                (pair << bits >> 8) as u8
            }
            _ => {
                let from = i.checked_sub(whole);
                let pair = at(from.and_then(|i| i.checked_sub(1))) << 8 | at(from);
                (pair >> bits) as u8
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shifted_as_one_number() {
        let shifted = |op, by| shifted(op, &[0x01, 0x80, 0xFF], by);
        assert_eq!(shifted(BitOp::ShiftLeft, 1), [0x03, 0x01, 0xFE]);
        assert_eq!(shifted(BitOp::ShiftLeft, 9), [0x01, 0xFE, 0x00]);
        assert_eq!(shifted(BitOp::ShiftRight, 1), [0x00, 0xC0, 0x7F]);
        assert_eq!(shifted(BitOp::ShiftRight, 12), [0x00, 0x00, 0x18]);
        for by in [24, 25, u64::MAX] {
            assert_eq!(shifted(BitOp::ShiftLeft, by), [0, 0, 0]);
            assert_eq!(shifted(BitOp::ShiftRight, by), [0, 0, 0]);
        }
        assert_eq!(shifted(BitOp::ShiftRight, 0), [0x01, 0x80, 0xFF]);
    }

    #[test]
    fn operands_are_of_one_length() {
        assert_eq!(joined(BitOp::Xor, b"ab", b"ac").unwrap(), [0, 1]);
        assert_eq!(joined(BitOp::And, b"ab", b"a").unwrap_err().code, 3513);
    }
}
