//! The last lines of the server's log, for `performance_schema.error_log`. The program that writes the log tells them here too; they are
//! of the process, as the log is.
//!
//! Every line goes through [`printable`], so that nothing a client sends ends a line, moves a terminal's cursor or changes
//! the direction of what is read.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Write;

/// So many bytes of messages are kept at most.
const BYTES_MAX: usize = 1 << 20;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Something is wrong.
    Error,
    /// Something may be wrong.
    Warning,
    /// Something is so.
    Note,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Logged {
    /// In microseconds since 1970 UTC; two lines never have the same moment.
    pub micros: i64,
    /// How much it matters.
    pub priority: Priority,
    /// It is of the engine.
    pub of_engine: bool,
    /// The message.
    pub message: String,
}

/// Of a longer message the beginning and the end are logged, so many bytes of each.
const PART_LEN_MAX: usize = 32 << 10;

/// The target of a message of several lines. Its line feeds stay, and no line of it can be taken for the beginning of another
/// message.
pub const LINES: &str = "tidemark_lines";

/// A message as the log may hold it: on one line, without characters that are not seen, and not too long.
pub fn printable(message: &str) -> String {
    let mut out = String::with_capacity(message.len().min(2 * PART_LEN_MAX));
    let (head, left_out, tail) = ends(message);
    escape(head, &mut out);
    if left_out > 0 {
        let _ = write!(out, " … {left_out} bytes are left out … ");
        escape(tail, &mut out);
    }
    out
}

/// A message of several lines, each of them [`printable`]; what begins like the time of a message is indented.
pub fn printable_lines(message: &str) -> String {
    let mut out = String::new();
    for (n, line) in message.split('\n').enumerate() {
        if n > 0 {
            out.push('\n');
            if line.starts_with(|c: char| c.is_ascii_digit() || c == '{') {
                out.push('\t');
            }
        }
        out.push_str(&printable(line));
    }
    out
}

/// The beginning and the end of a text, and how much is between them.
fn ends(text: &str) -> (&str, usize, &str) {
    if text.len() <= 2 * PART_LEN_MAX {
        return (text, 0, "");
    }
    let from = text.floor_char_boundary(PART_LEN_MAX);
    let to = text.ceil_char_boundary(text.len() - PART_LEN_MAX);
    (&text[..from], to - from, &text[to..])
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unseen(c) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
}

/// Controls, separators of lines, and what Unicode has to format text with: direction, joiners, tags.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// What is kept of the log.
#[derive(Default)]
pub struct ErrorLog {
    lines: VecDeque<Logged>,
    bytes: usize,
    expired: u64,
    last_micros: i64,
}

static LOG: Mutex<ErrorLog> = Mutex::new(ErrorLog {
    lines: VecDeque::new(),
    bytes: 0,
    expired: 0,
    last_micros: 0,
});

impl ErrorLog {
    fn put(&mut self, mut line: Logged) {
        line.micros = line.micros.max(self.last_micros + 1);
        self.last_micros = line.micros;
        self.bytes += line.message.len();
        self.lines.push_back(line);
        while self.bytes > BYTES_MAX
            && let Some(old) = self.lines.pop_front()
        {
            self.bytes -= old.message.len();
            self.expired += 1;
        }
    }

    /// The lines that are kept, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &Logged> {
        self.lines.iter()
    }

    /// Bytes of their messages.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many lines are kept no more.
    pub fn expired(&self) -> u64 {
        self.expired
    }

    /// When the last line was written, in microseconds since 1970 UTC; 0: none was.
    pub fn last_micros(&self) -> i64 {
        self.last_micros
    }
}

/// A line was written to the log.
pub fn note(line: Logged) {
    LOG.lock().put(line);
}

/// Does something with what is kept.
pub fn with<T>(f: impl FnOnce(&ErrorLog) -> T) -> T {
    f(&LOG.lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_client_sends_ends_a_line() {
        assert_eq!(printable("Jürgen's \\ \"😀\""), "Jürgen's \\ \"😀\"");
        assert_eq!(
            printable("a\r\n\t\0\u{1b}[2J\u{7f}\u{9b}"),
            "a\\r\\n\\t\\u{0}\\u{1b}[2J\\u{7f}\\u{9b}"
        );
        assert_eq!(
            printable("\u{202e}\u{2066}\u{2028}\u{feff}"),
            "\\u{202e}\\u{2066}\\u{2028}\\u{feff}"
        );
        for c in (0..0x11_0000)
            .filter_map(char::from_u32)
            .filter(|c| c.is_control())
        {
            let shown = printable(&c.to_string());
            assert!(
                shown.starts_with('\\') && shown.chars().all(|c| c.is_ascii_graphic()),
                "{shown}"
            );
        }
        assert_eq!(
            printable_lines("a\n2026-11-27 b\nc\td"),
            "a\n\t2026-11-27 b\nc\\td"
        );
    }

    #[test]
    fn long_messages_keep_their_ends() {
        let long = format!("begin{}end", "ä".repeat(100_000));
        let shown = printable(&long);
        assert!(
            shown.starts_with("beginä") && shown.ends_with("äend") && shown.contains(" bytes are left out ")
        );
        assert!(shown.len() < 2 * PART_LEN_MAX + 100);
    }

    #[test]
    fn old_lines_give_way_and_moments_differ() {
        let mut log = ErrorLog::default();
        for n in 0..5 {
            log.put(Logged {
                micros: 7,
                priority: Priority::Note,
                of_engine: false,
                message: n.to_string().repeat(BYTES_MAX / 4),
            });
        }
        assert_eq!((log.lines().count(), log.expired()), (4, 1));
        assert!(log.bytes() <= BYTES_MAX);
        let moments: Vec<i64> = log.lines().map(|line| line.micros).collect();
        assert_eq!((moments, log.last_micros()), (vec![8, 9, 10, 11], 11));
    }
}
