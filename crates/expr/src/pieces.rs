//! Long texts in pieces, between which it is asked whether the statement is to end.
//!
//! A loop that does little for each byte, and a library that knows nothing of statements, go through 64 MB in half a second or more, and a
//! statement may have many of them. So what changes or reads a whole text gets it in pieces of a mebibyte. A piece ends before a byte that
//! begins a character: characters that are wrong end there too, so what is made of the pieces is what is made of the whole.

use std::borrow::Cow;
use tidemark_types::error::Result;
use tidemark_types::error::memory::{check_memory, reserve_memory};

/// So many bytes are given to what cannot ask by itself.
pub(crate) const PIECE: usize = 1 << 20;

/// Returns the pieces of bytes.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = Result<&[u8]>> {
    bytes.chunks(PIECE).map(|piece| check_memory().map(|()| piece))
}

/// Returns the pieces of a text, of whole characters.
pub(crate) fn pieces_of_text(text: &[u8]) -> impl DoubleEndedIterator<Item = Result<&[u8]>> {
    let count = text.len().div_ceil(PIECE);
    let begin = move |n: usize| {
        let begins = |at: &usize| text[*at] & 0xC0 != 0x80;
        (n * PIECE..text.len()).find(begins).unwrap_or(text.len())
    };
    (0..count).map(move |n| {
        check_memory()?;
        Ok(&text[if n == 0 { 0 } else { begin(n) }..begin(n + 1)])
    })
}

/// Returns what `change` makes of the pieces of a text, of whole characters.
pub(crate) fn changed(text: &[u8], mut change: impl FnMut(&[u8], &mut Vec<u8>)) -> Result<Vec<u8>> {
    let _room = reserve_memory(text.len())?;
    let mut out = Vec::with_capacity(text.len());
    for piece in pieces_of_text(text) {
        change(piece?, &mut out);
    }
    Ok(out)
}

/// A long text that a library reads in pieces of its own. It fails when the statement is to end, which [`check_memory`] then says.
pub(crate) struct Pieces<'b>(pub &'b [u8]);

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        check_memory().map_err(std::io::Error::other)?;
        let length = out.len().min(PIECE);
        std::io::Read::read(&mut self.0, &mut out[..length])
    }
}

/// Returns the text of an argument. One that is long has taken time to make.
pub(crate) fn made(text: Cow<[u8]>) -> Result<Cow<[u8]>> {
    if text.len() >= PIECE {
        check_memory()?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tidemark_types::error::interrupt::watch;
    use tidemark_types::temporal::format::{format_datetime, format_time};
    use tidemark_types::{Charset, Date, Locale, Time};

    #[test]
    fn pieces_are_of_whole_characters() {
        let text = format!("a{}", "ä€".repeat(PIECE));
        let mut pieces: Vec<&[u8]> = pieces_of_text(text.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(pieces.concat(), text.as_bytes());
        assert!(pieces.len() > 4 && pieces.iter().all(|piece| std::str::from_utf8(piece).is_ok()));
        pieces.reverse();
        assert!(
            pieces_of_text(text.as_bytes())
                .rev()
                .map(Result::unwrap)
                .eq(pieces)
        );
        let wrong = vec![0x80; 3 * PIECE];
        assert_eq!(
            pieces_of_text(&wrong)
                .map(Result::unwrap)
                .collect::<Vec<_>>()
                .concat(),
            wrong
        );
    }

    #[test]
    fn what_works_in_pieces_ends_with_its_statement() {
        let interrupt = Arc::default();
        watch(&interrupt);
        let text = "a".repeat(2 * PIECE);
        let whole = changed(text.as_bytes(), |piece, out| {
            out.extend_from_slice(&Charset::Utf8mb4.upper(piece))
        });
        assert_eq!(whole.unwrap(), text.to_uppercase().into_bytes());
        interrupt.kill();
        assert!(changed(text.as_bytes(), |_, _| ()).is_err());
        assert!(made(Cow::Borrowed(text.as_bytes())).is_err());
        let day = Date::new(2009, 10, 4).midnight();
        assert!(format_datetime(day, text.as_bytes(), Locale::english()).is_err());
        assert!(format_time(Time::from_hms(false, 1, 0, 0, 0, 0), text.as_bytes()).is_err());
        interrupt.reset();
    }
}
