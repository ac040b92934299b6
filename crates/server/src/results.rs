//! Rows on the wire: the text protocol, where every value is its text, and the binary one, where a column's type says
//! how many bytes a number has.
//!
//! The executor calls [`Results`] with values that may still lie in a latched page, so a value is written straight
//! into the connection's output and nothing here waits, except [`ResultSink::flush`]. A binary value whose kind does
//! not fit its column would make the client misread all that follows; such a row is an error at its end instead.

use crate::channel::Channel;
use crate::cursor::Cursor;
use crate::errors;
use crate::packet::{Input, Mark};
use crate::reply;
use crate::wire::{put_bytes, put_lenenc};
use tidemark_sql::types::convert::{format_double_fixed, format_float_fixed};
use tidemark_sql::types::meta::{flag, wire};
use tidemark_sql::types::{Charset, ColumnMeta, Date, DateTime, SqlType, Time};
use tidemark_sql::{OkInfo, Result, ResultSink, SessionChange, SqlError, status};

/// Answers are sent in portions of about this size.
const PORTION_LEN: usize = 64 << 10;
/// Longest packet of a client's file: what clients may be set to send at most.
const FILE_PART_MAX: usize = 1 << 30;
/// The protocol's own limit of a row.
const ROW_LEN_MAX: usize = 1 << 30;

/// What encoding a value needs to know of its column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnEncoding {
    type_byte: u8,
    /// Digits to which the text of a number is filled with zeros; 0 for none.
    zeros: u8,
    /// Bytes of a BIT value.
    bit_bytes: u8,
    /// Digits behind the point of a FLOAT or DOUBLE; 31 where they vary.
    decimals: u8,
}

impl ColumnEncoding {
    fn of(column: &ColumnMeta) -> ColumnEncoding {
        let zeros = match column.type_byte {
            _ if column.flags & flag::ZEROFILL != 0 => column.length.min(255) as u8,
            _ => 0,
        };
        ColumnEncoding {
            type_byte: column.type_byte,
            zeros,
            bit_bytes: column.length.div_ceil(8).min(8) as u8,
            decimals: match column.type_byte {
                wire::FLOAT | wire::DOUBLE => column.decimals,
                _ => SqlType::NOT_FIXED,
            },
        }
    }
}

/// A statement's results on their way into the channel, as text or as binary.
pub struct Results<'a, const BINARY: bool> {
    channel: &'a mut Channel,
    /// The column that the next value belongs to.
    at: usize,
    /// A value did not fit its column's type.
    misfit: bool,
    /// Another result of the command follows the one at hand.
    more: bool,
    /// How much may be collected before it should be sent.
    portion_len: usize,
    /// The result is to wait behind a cursor, and nothing of it has been sent.
    collecting: Option<Collecting>,
    cursor: Option<Cursor>,
    /// The client is sending a file. It waits for the answer before it sends anything else, so what is buffered here is the file's.
    file: Option<Input>,
}

/// Where the parts of an answer stand that is to open a cursor.
#[derive(Clone, Copy, Debug)]
struct Collecting {
    answer: Mark,
    definitions_end: Mark,
    rows: Mark,
}

pub type TextResults<'a> = Results<'a, false>;
pub type BinaryResults<'a> = Results<'a, true>;

impl<'a, const BINARY: bool> Results<'a, BINARY> {
    pub fn new(channel: &'a mut Channel) -> Self {
        Results {
            channel,
            at: 0,
            misfit: false,
            more: false,
            portion_len: PORTION_LEN,
            collecting: None,
            cursor: None,
            file: None,
        }
    }

    /// Results that wait behind a cursor, if they are not longer than `len_max`.
    pub fn for_cursor(channel: &'a mut Channel, len_max: usize) -> Self {
        let answer = channel.out.mark();
        let collecting = Collecting {
            answer,
            definitions_end: answer,
            rows: answer,
        };
        Results {
            collecting: Some(collecting),
            portion_len: len_max,
            ..Self::new(channel)
        }
    }

    /// The cursor that the statement's result has opened, if it has. A statement that failed leaves nothing of its result.
    pub fn into_cursor(self, done: Result<()>) -> Result<Option<Cursor>> {
        if let (Err(_), Some(collecting)) = (&done, self.collecting) {
            self.channel.out.take_since(collecting.answer);
        }
        done.map(|()| self.cursor)
    }

    #[inline]
    fn next_encoding(&mut self) -> ColumnEncoding {
        const NONE: ColumnEncoding = ColumnEncoding {
            type_byte: wire::NULL,
            zeros: 0,
            bit_bytes: 0,
            decimals: SqlType::NOT_FIXED,
        };
        let encoding = self.channel.encodings.get(self.at).copied();
        self.at += 1;
        self.misfit |= encoding.is_none();
        encoding.unwrap_or(NONE)
    }

    #[inline]
    fn payload(&mut self) -> &mut Vec<u8> {
        self.channel.out.payload()
    }

    /// A whole number in the column's form; `value` holds its bits.
    #[inline]
    fn whole(&mut self, value: u64, signed: bool) {
        let encoding = self.next_encoding();
        let bytes = value.to_le_bytes();
        match encoding.type_byte {
            wire::BIT => {
                let wanted = 8 - encoding.bit_bytes as usize;
                put_bytes(self.payload(), &value.to_be_bytes()[wanted..]);
            }
            wire::DOUBLE | wire::FLOAT if !BINARY && encoding.decimals < SqlType::NOT_FIXED => {
                let value = if signed { value as i64 as f64 } else { value as f64 };
                let text = format_double_fixed(value, encoding.decimals);
                put_number(self.payload(), &text, encoding.zeros);
            }
            _ if !BINARY => put_whole(self.payload(), value, signed, encoding.zeros),
            wire::LONGLONG => self.payload().extend_from_slice(&bytes),
            wire::LONG | wire::INT24 => self.payload().extend_from_slice(&bytes[..4]),
            wire::SHORT | wire::YEAR => self.payload().extend_from_slice(&bytes[..2]),
            wire::TINY => self.payload().push(bytes[0]),
            wire::DOUBLE | wire::FLOAT => {
                self.real(encoding, if signed { value as i64 as f64 } else { value as f64 });
            }
            _ => put_whole(self.payload(), value, signed, encoding.zeros),
        }
    }

    /// A binary DOUBLE or FLOAT.
    fn real(&mut self, encoding: ColumnEncoding, value: f64) {
        if encoding.type_byte == wire::FLOAT {
            self.payload().extend_from_slice(&(value as f32).to_le_bytes());
        } else {
            self.payload().extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Whether a length-encoded value is what a binary row has in this column.
    #[inline]
    fn expect_length_encoded(&mut self, encoding: ColumnEncoding) {
        let fixed = matches!(
            encoding.type_byte,
            wire::TINY
                | wire::SHORT
                | wire::LONG
                | wire::INT24
                | wire::LONGLONG
                | wire::YEAR
                | wire::FLOAT
                | wire::DOUBLE
                | wire::NULL
        );
        let temporal = matches!(
            encoding.type_byte,
            wire::DATE | wire::DATETIME | wire::TIMESTAMP | wire::TIME
        );
        self.misfit |= BINARY && (fixed || temporal);
    }

    /// Whether a temporal value is what a binary row has in this column; as its text elsewhere.
    fn temporal(&mut self, binary_types: &[u8], text: &Text, binary: &[u8]) {
        let encoding = self.next_encoding();
        if BINARY && binary_types.contains(&encoding.type_byte) {
            return put_bytes(self.payload(), binary);
        }
        self.expect_length_encoded(encoding);
        put_bytes(self.payload(), text.bytes());
    }
}

impl<const BINARY: bool> ResultSink for Results<'_, BINARY> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.channel.encodings.clear();
        self.channel
            .encodings
            .extend(columns.iter().map(ColumnEncoding::of));
        let out = &mut self.channel.out;
        put_lenenc(out.begin(), columns.len() as u64);
        out.end();
        for column in columns {
            reply::put_column(out, column, self.channel.texts);
        }
        let definitions_end = out.mark();
        // The flags of this packet are superseded by those at the end of the rows.
        reply::put_separator(out, self.channel.capabilities, 0, 0);
        if let Some(collecting) = &mut self.collecting {
            collecting.definitions_end = definitions_end;
            collecting.rows = out.mark();
        }
        Ok(())
    }

    fn texts_in(&mut self, charset: Option<Charset>) {
        self.channel.texts = charset;
    }

    fn more_follows(&mut self, more: bool) -> bool {
        std::mem::replace(&mut self.more, more)
    }

    #[inline]
    fn begin_row(&mut self) {
        self.at = 0;
        self.misfit = false;
        let nulls = (self.channel.encodings.len() + 9) / 8;
        let packet = self.channel.out.begin();
        if BINARY {
            packet.push(0);
            packet.resize(packet.len() + nulls, 0);
        }
    }

    #[inline]
    fn null(&mut self) {
        if BINARY {
            let bit = self.at + 2;
            let byte = self.channel.out.payload_start() + 1 + bit / 8;
            self.next_encoding();
            match self.payload().get_mut(byte) {
                Some(nulls) => *nulls |= 1 << (bit % 8),
                None => self.misfit = true,
            }
        } else {
            self.next_encoding();
            self.payload().push(0xfb);
        }
    }

    #[inline]
    fn int(&mut self, value: i64) {
        self.whole(value as u64, true);
    }

    #[inline]
    fn uint(&mut self, value: u64) {
        self.whole(value, false);
    }

    fn float(&mut self, value: f32) {
        let encoding = self.next_encoding();
        match encoding.type_byte {
            wire::FLOAT | wire::DOUBLE if BINARY => self.real(encoding, value as f64),
            _ => {
                self.expect_length_encoded(encoding);
                let text = format_float_fixed(value, encoding.decimals);
                put_number(self.payload(), &text, encoding.zeros);
            }
        }
    }

    fn double(&mut self, value: f64) {
        let encoding = self.next_encoding();
        match encoding.type_byte {
            wire::FLOAT | wire::DOUBLE if BINARY => self.real(encoding, value),
            _ => {
                self.expect_length_encoded(encoding);
                let text = format_double_fixed(value, encoding.decimals);
                put_number(self.payload(), &text, encoding.zeros);
            }
        }
    }

    fn decimal(&mut self, digits: &str) {
        let encoding = self.next_encoding();
        self.expect_length_encoded(encoding);
        put_number(self.payload(), digits, encoding.zeros);
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) {
        let encoding = self.next_encoding();
        self.expect_length_encoded(encoding);
        put_bytes(self.payload(), value);
    }

    fn date(&mut self, value: Date) {
        let Date { year, month, day } = value;
        let mut text = Text::default();
        text.date(year, month, day);
        let year = year.to_le_bytes();
        let binary = [year[0], year[1], month, day];
        let len = if binary == [0; 4] { 0 } else { 4 };
        self.temporal(
            &[wire::DATE, wire::DATETIME, wire::TIMESTAMP],
            &text,
            &binary[..len],
        );
    }

    fn datetime(&mut self, value: DateTime) {
        let Date { year, month, day } = value.date;
        let (hour, minute, second) = (value.hour, value.minute, value.second);
        let micros = value.micro;
        let mut text = Text::default();
        text.date(year, month, day);
        text.push(b' ');
        text.two_digits(hour);
        text.clock(minute, second, micros, value.fsp);
        let mut binary = [0; 11];
        binary[..2].copy_from_slice(&year.to_le_bytes());
        binary[2..7].copy_from_slice(&[month, day, hour, minute, second]);
        binary[7..].copy_from_slice(&micros.to_le_bytes());
        let len = match (micros, [hour, minute, second], (year, month, day)) {
            (0, [0, 0, 0], (0, 0, 0)) => 0,
            (0, [0, 0, 0], _) => 4,
            (0, _, _) => 7,
            _ => 11,
        };
        self.temporal(
            &[wire::DATE, wire::DATETIME, wire::TIMESTAMP],
            &text,
            &binary[..len],
        );
    }

    fn time(&mut self, value: Time) {
        let negative = value.negative();
        let (hours, minutes, seconds, micros) = value.parts();
        let mut text = Text::default();
        if negative {
            text.push(b'-');
        }
        match u8::try_from(hours) {
            Ok(hours @ 0..=99) => text.two_digits(hours),
            _ => text.extend(itoa::Buffer::new().format(hours).as_bytes()),
        }
        text.clock(minutes, seconds, micros, value.fsp);
        let mut binary = [0; 12];
        binary[0] = negative as u8;
        binary[1..5].copy_from_slice(&(hours / 24).to_le_bytes());
        binary[5..8].copy_from_slice(&[(hours % 24) as u8, minutes, seconds]);
        binary[8..].copy_from_slice(&micros.to_le_bytes());
        let len = match (micros, hours, minutes, seconds) {
            (0, 0, 0, 0) => 0,
            (0, ..) => 8,
            _ => 12,
        };
        self.temporal(&[wire::TIME], &text, &binary[..len]);
    }

    #[inline]
    fn end_row(&mut self) -> Result<()> {
        if self.misfit || self.at != self.channel.encodings.len() {
            self.channel.out.abandon();
            return Err(SqlError::unknown(
                "A value does not fit the type of its result column",
            ));
        }
        if self.channel.out.payload_len() > ROW_LEN_MAX {
            self.channel.out.abandon();
            return Err(errors::packet_too_large());
        }
        self.channel.out.end();
        Ok(())
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.channel.out.len() >= self.portion_len
    }

    fn flush(&mut self) -> Result<()> {
        self.collecting = None;
        self.portion_len = PORTION_LEN;
        self.channel.send_part()
    }

    fn ask_for_file(&mut self, path: &str) -> Result<()> {
        const ASK: u8 = 0xfb;
        let packet = self.channel.out.begin();
        packet.push(ASK);
        packet.extend_from_slice(path.as_bytes());
        self.channel.out.end();
        self.channel.send_part()?;
        self.file = Some(Input::new());
        Ok(())
    }

    fn file_part(&mut self, part: &mut Vec<u8>) -> Result<bool> {
        part.clear();
        let Some(input) = &mut self.file else {
            return Ok(false);
        };
        match self.channel.read_rest(input, FILE_PART_MAX) {
            Ok([]) => {
                // What came behind the file would be lost: no client may send that before the answer.
                if !input.is_empty() {
                    self.channel.give_up();
                }
                self.file = None;
                Ok(false)
            }
            Ok(bytes) => {
                part.extend_from_slice(bytes);
                Ok(true)
            }
            Err(_) => {
                // Where the file ends is not known any more.
                self.file = None;
                self.channel.give_up();
                Err(errors::file_cut_short())
            }
        }
    }

    fn end_rows(&mut self, warnings: u16, mut status: u16, changes: &[SessionChange]) -> Result<()> {
        if let Some(collecting) = self.collecting
            && self.channel.out.len_since(collecting.rows) <= self.portion_len
        {
            self.cursor = Some(Cursor::new(self.channel.out.take_since(collecting.rows)));
            self.channel.out.take_since(collecting.definitions_end);
            status |= status::CURSOR_EXISTS;
        }
        if self.more {
            status |= status::MORE_RESULTS_EXISTS;
        }
        let (out, capabilities) = (&mut self.channel.out, self.channel.capabilities);
        reply::put_end_with(out, capabilities, warnings, status, changes);
        Ok(())
    }

    fn ok(&mut self, info: &OkInfo) -> Result<()> {
        let out = &mut self.channel.out;
        match self.more {
            false => reply::put_ok(out, info),
            true => reply::put_ok(
                out,
                &OkInfo {
                    status: info.status | status::MORE_RESULTS_EXISTS,
                    ..info.clone()
                },
            ),
        }
        Ok(())
    }
}

#[inline]
fn put_whole(out: &mut Vec<u8>, value: u64, signed: bool, zeros: u8) {
    let mut buffer = itoa::Buffer::new();
    let text = if signed {
        buffer.format(value as i64)
    } else {
        buffer.format(value)
    };
    put_number(out, text, zeros);
}

/// A number's text, filled with zeros up to `zeros` digits.
#[inline]
fn put_number(out: &mut Vec<u8>, text: &str, zeros: u8) {
    let fill = (zeros as usize).saturating_sub(text.len());
    put_lenenc(out, (fill + text.len()) as u64);
    out.resize(out.len() + fill, b'0');
    out.extend_from_slice(text.as_bytes());
}

/// The text of a date or a time, which is never longer than this.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    len: usize,
}

impl Text {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn two_digits(&mut self, n: u8) {
        self.push(b'0' + n / 10 % 10);
        self.push(b'0' + n % 10);
    }

    fn date(&mut self, year: u16, month: u8, day: u8) {
        self.two_digits((year / 100) as u8);
        self.two_digits((year % 100) as u8);
        self.push(b'-');
        self.two_digits(month);
        self.push(b'-');
        self.two_digits(day);
    }

    /// `:MM:SS` and the fraction.
    fn clock(&mut self, minute: u8, second: u8, micros: u32, decimals: u8) {
        self.push(b':');
        self.two_digits(minute);
        self.push(b':');
        self.two_digits(second);
        if decimals > 0 {
            self.push(b'.');
            let mut unit = 100_000;
            for _ in 0..decimals.min(6) {
                self.push(b'0' + (micros / unit % 10) as u8);
                unit = (unit / 10).max(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Patience, Socket, Transport};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::time::Duration;

    fn channel() -> Channel {
        let (ours, _) = UnixStream::pair().unwrap();
        let wait = Duration::from_secs(1);
        let patience = Patience {
            idle: wait,
            read: wait,
            write: wait,
        };
        Channel::new(Transport::new(Socket::Unix(Arc::new(ours)), patience).unwrap())
    }

    fn column(type_byte: u8, length: u32, flags: u16) -> ColumnMeta {
        ColumnMeta {
            db: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: "x".into(),
            org_name: String::new(),
            charset: 63,
            length,
            type_byte,
            flags,
            decimals: SqlType::NOT_FIXED,
        }
    }

    fn date(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    fn datetime(
        (year, month, day): (u16, u8, u8),
        (hour, minute, second): (u8, u8, u8),
        micro: u32,
        fsp: u8,
    ) -> DateTime {
        DateTime {
            date: date(year, month, day),
            hour,
            minute,
            second,
            fsp,
            micro,
            repeated: 0,
        }
    }

    fn time(negative: bool, (hours, minutes, seconds): (i64, i64, i64), micros: i64, fsp: u8) -> Time {
        let micros = (hours * 3600 + minutes * 60 + seconds) * 1_000_000 + micros;
        Time {
            micros: if negative { -micros } else { micros },
            fsp,
        }
    }

    /// The payload of one row of columns of these types.
    fn row<const BINARY: bool>(types: &[u8], values: impl Fn(&mut dyn ResultSink)) -> Result<Vec<u8>> {
        let columns: Vec<ColumnMeta> = types.iter().map(|t| column(*t, 16, 0)).collect();
        row_of::<BINARY>(&columns, values)
    }

    fn row_of<const BINARY: bool>(
        columns: &[ColumnMeta],
        values: impl Fn(&mut dyn ResultSink),
    ) -> Result<Vec<u8>> {
        let mut channel = channel();
        let mut results = Results::<BINARY>::new(&mut channel);
        results.columns(columns)?;
        let before = results.channel.out.finished().len();
        results.begin_row();
        values(&mut results);
        results.end_row()?;
        Ok(channel.out.finished()[before + 4..].to_vec())
    }

    #[test]
    fn text_rows_spell_their_values() {
        let types = [
            wire::LONG,
            wire::LONGLONG,
            wire::DOUBLE,
            wire::NEWDECIMAL,
            wire::VAR_STRING,
            wire::BLOB,
        ];
        let packet = row::<false>(&types, |out| {
            out.int(-7);
            out.uint(u64::MAX);
            out.double(0.5);
            out.decimal("12.30");
            out.bytes(b"text");
            out.null();
        });
        assert_eq!(
            packet.unwrap(),
            b"\x02-7\x1418446744073709551615\x030.5\x0512.30\x04text\xfb"
        );
    }

    #[test]
    fn text_of_numbers_with_fixed_decimals() {
        let fixed = |type_byte| ColumnMeta {
            decimals: 2,
            ..column(type_byte, 8, 0)
        };
        let packet = row_of::<false>(
            &[fixed(wire::DOUBLE), fixed(wire::FLOAT), fixed(wire::DOUBLE)],
            |out| {
                out.double(1.5);
                out.float(-0.0);
                out.int(3);
            },
        );
        assert_eq!(packet.unwrap(), b"\x041.50\x05-0.00\x043.00");
    }

    #[test]
    fn text_of_dates_and_times() {
        let packet = row::<false>(&[wire::DATE, wire::DATETIME, wire::TIME, wire::TIME], |out| {
            out.date(date(2024, 2, 9));
            out.datetime(datetime((2024, 2, 9), (1, 2, 3), 40_500, 3));
            out.time(time(true, (838, 59, 59), 0, 0));
            out.time(time(false, (1, 2, 3), 4, 6));
        });
        let expected = b"\x0a2024-02-09\x172024-02-09 01:02:03.040\x0a-838:59:59\x0f01:02:03.000004";
        assert_eq!(packet.unwrap(), expected);
    }

    #[test]
    fn zeros_and_bits() {
        let columns = [
            column(wire::LONG, 5, flag::ZEROFILL | flag::UNSIGNED),
            column(wire::YEAR, 4, flag::ZEROFILL | flag::UNSIGNED),
            column(wire::BIT, 10, 0),
        ];
        let values = |out: &mut dyn ResultSink| {
            out.uint(42);
            out.int(0);
            out.uint(0x201);
        };
        assert_eq!(
            row_of::<false>(&columns, values).unwrap(),
            b"\x0500042\x040000\x02\x02\x01"
        );
        let expected = b"\0\0\x2a\0\0\0\0\0\x02\x02\x01";
        assert_eq!(row_of::<true>(&columns, values).unwrap(), expected);
    }

    #[test]
    fn binary_rows_have_the_width_of_their_types() {
        let types = [
            wire::TINY,
            wire::SHORT,
            wire::LONG,
            wire::LONGLONG,
            wire::FLOAT,
            wire::DOUBLE,
            wire::STRING,
        ];
        let packet = row::<true>(&types, |out| {
            out.int(-1);
            out.int(-2);
            out.null();
            out.uint(3);
            out.float(1.0);
            out.double(-2.0);
            out.bytes(b"s");
        });
        let mut expected = vec![0, 0b0001_0000, 0, 0xff, 0xfe, 0xff, 3, 0, 0, 0, 0, 0, 0, 0];
        expected.extend_from_slice(&1f32.to_le_bytes());
        expected.extend_from_slice(&(-2f64).to_le_bytes());
        expected.extend_from_slice(b"\x01s");
        assert_eq!(packet.unwrap(), expected);
    }

    #[test]
    fn binary_dates_and_times_leave_out_what_is_zero() {
        let types = [
            wire::DATE,
            wire::DATE,
            wire::DATETIME,
            wire::DATETIME,
            wire::TIME,
            wire::TIME,
        ];
        let packet = row::<true>(&types, |out| {
            out.date(date(2024, 2, 9));
            out.date(date(0, 0, 0));
            out.datetime(datetime((2024, 2, 9), (1, 2, 3), 0, 0));
            out.datetime(datetime((2024, 2, 9), (0, 0, 0), 5, 6));
            out.time(time(true, (25, 1, 2), 0, 0));
            out.time(time(false, (0, 0, 0), 0, 0));
        });
        let mut expected = vec![0, 0];
        expected.extend_from_slice(&[4, 0xe8, 7, 2, 9]);
        expected.push(0);
        expected.extend_from_slice(&[7, 0xe8, 7, 2, 9, 1, 2, 3]);
        expected.extend_from_slice(&[11, 0xe8, 7, 2, 9, 0, 0, 0, 5, 0, 0, 0]);
        expected.extend_from_slice(&[8, 1, 1, 0, 0, 0, 1, 1, 2]);
        expected.push(0);
        assert_eq!(packet.unwrap(), expected);
    }

    #[test]
    fn a_row_that_does_not_fit_its_columns_is_an_error() {
        assert!(row::<true>(&[wire::LONG], |out| out.bytes(b"7")).is_err());
        assert!(row::<true>(&[wire::LONG], |out| out.double(7.0)).is_err());
        assert!(row::<false>(&[wire::LONG, wire::LONG], |out| out.int(1)).is_err());
        assert!(
            row::<false>(&[wire::LONG], |out| {
                out.int(1);
                out.int(2);
            })
            .is_err()
        );
    }
}
