//! Packets: how the byte streams of both directions are cut.
//!
//! ```text
//!  length: 3 bytes | sequence: 1 byte | payload: length bytes
//! ```
//!
//! A payload of 16 MiB − 1 or more is sent in pieces of exactly that length, the last one shorter, perhaps empty.
//! The sequence number counts the packets of one exchange, both directions together, and begins at 0 with each command.
//!
//! [`Input`] reads as much as the socket has into one buffer and hands out packets in place, so that a client that
//! sends several commands at once costs one system call; a packet is valid until the next is asked for. [`Output`]
//! collects the packets of an answer, headers filled in as each one ends, to be written in one call.

use std::io::{self, Read};

/// The longest payload of one packet; one that is this long is continued in the next.
pub const PIECE_LEN_MAX: usize = 0xff_ffff;
pub const HEADER_LEN: usize = 4;
const INPUT_LEN: usize = 16 << 10;
/// So many bytes of a payload that is not taken are read, so that its sender gets to read why: as many as any client sends.
const SKIPPED_LEN_MAX: usize = 1 << 30;
/// Buffers that a large packet has made larger than this are given back: each of hundreds of idle clients could keep as much.
const KEPT_LEN_MAX: usize = 128 << 10;

/// Why there is no packet.
#[derive(Debug)]
pub enum ReadError {
    /// The peer has closed the connection between two packets.
    Closed,
    /// Nothing came in the time given to a silent client.
    Idle,
    /// The peer stopped, or closed, in the middle of a packet.
    Truncated,
    /// Larger than is allowed.
    TooLarge(Remainder),
    /// There is no memory for it.
    NoMemory(Remainder),
    OutOfOrder,
    Io(io::Error),
}

/// What is still to come of a payload that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remainder {
    /// The bytes of the piece at hand that have not been handed out.
    piece_len: usize,
    /// Another piece follows.
    continues: bool,
}

impl Remainder {
    /// Of a piece of which so many bytes have not been handed out.
    fn of_piece(len: usize, left: usize) -> Remainder {
        Remainder {
            piece_len: left,
            continues: len == PIECE_LEN_MAX,
        }
    }
}

/// Makes room for so many bytes more; false if the session may not hold them, or the system has none.
fn grows(buffer: &mut Vec<u8>, more: usize) -> bool {
    buffer.capacity() - buffer.len() >= more
        || tidemark_memory::hold(more as u64).is_ok() && buffer.try_reserve(more).is_ok()
}

/// What [`Input`] reads from: a stream that can be told how long to wait.
pub trait Source: Read {
    /// The next read may wait for as long as a client may be silent.
    fn expect_command(&mut self) -> io::Result<()>;
    /// The next read continues something begun, and may wait only `net_read_timeout`.
    fn expect_rest(&mut self) -> io::Result<()>;
}

pub struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Payloads that came in several pieces are put together here.
    assembled: Vec<u8>,
}

impl Input {
    pub fn new() -> Input {
        Input {
            buffer: vec![0; INPUT_LEN],
            start: 0,
            end: 0,
            assembled: Vec::new(),
        }
    }

    /// The next payload. `sequence` is the number it must have, and becomes the number of the packet after it.
    #[inline]
    pub fn packet(
        &mut self,
        source: &mut impl Source,
        sequence: &mut u8,
        len_max: usize,
    ) -> Result<&[u8], ReadError> {
        let len = self.piece_len(source, sequence, len_max, true)?;
        if len < PIECE_LEN_MAX {
            let payload = self.piece(source, len)?;
            return Ok(&self.buffer[payload]);
        }
        self.packet_of_pieces(source, sequence, len_max, len)
    }

    /// [`Input::packet`] of a client that is in the middle of sending several.
    pub fn rest(
        &mut self,
        source: &mut impl Source,
        sequence: &mut u8,
        len_max: usize,
    ) -> Result<&[u8], ReadError> {
        let len = self.piece_len(source, sequence, len_max, false)?;
        self.packet_of_pieces(source, sequence, len_max, len)
    }

    /// Whether nothing has been read that was not handed out.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether a whole packet is already here, so that reading it would not wait.
    #[inline]
    pub fn has_packet(&self) -> bool {
        let buffered = &self.buffer[self.start..self.end];
        buffered.len() >= HEADER_LEN && buffered.len() - HEADER_LEN >= header_len(buffered)
    }

    /// Takes what has been read but not handed out: after a request for TLS it belongs to the TLS layer.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        let taken = self.buffer[self.start..self.end].to_vec();
        (self.start, self.end) = (0, 0);
        taken
    }

    /// Reads and forgets what is left of a payload that is not taken, so that its sender gets to read why. `sequence` becomes the number
    /// of the packet after it.
    pub fn skip(
        &mut self,
        source: &mut impl Source,
        sequence: &mut u8,
        mut left: Remainder,
    ) -> Result<(), ReadError> {
        let mut skipped = 0;
        loop {
            while left.piece_len > 0 {
                if self.start == self.end {
                    (self.start, self.end) = (0, 0);
                    self.fill(source, 1, false)?;
                }
                let len = left.piece_len.min(self.end - self.start);
                self.start += len;
                left.piece_len -= len;
                skipped += len;
            }
            if !left.continues || skipped >= SKIPPED_LEN_MAX {
                return Ok(());
            }
            while self.end - self.start < HEADER_LEN {
                self.fill(source, HEADER_LEN, false)?;
            }
            let header = &self.buffer[self.start..self.start + HEADER_LEN];
            let len = header_len(header);
            *sequence = header[3].wrapping_add(1);
            self.start += HEADER_LEN;
            left = Remainder::of_piece(len, len);
        }
    }

    #[cold]
    fn packet_of_pieces(
        &mut self,
        source: &mut impl Source,
        sequence: &mut u8,
        len_max: usize,
        first_len: usize,
    ) -> Result<&[u8], ReadError> {
        let mut len = first_len;
        self.assembled.clear();
        loop {
            let payload = self.piece(source, len)?;
            if !grows(&mut self.assembled, len) {
                self.assembled = Vec::new();
                return Err(ReadError::NoMemory(Remainder::of_piece(len, 0)));
            }
            self.assembled.extend_from_slice(&self.buffer[payload]);
            if len < PIECE_LEN_MAX {
                return Ok(&self.assembled);
            }
            let left = len_max.saturating_sub(self.assembled.len());
            len = self.piece_len(source, sequence, left, false)?;
        }
    }

    /// Reads a header.
    #[inline]
    fn piece_len(
        &mut self,
        source: &mut impl Source,
        sequence: &mut u8,
        len_max: usize,
        first: bool,
    ) -> Result<usize, ReadError> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if first {
                self.shrink();
            }
        }
        while self.end - self.start < HEADER_LEN {
            self.fill(source, HEADER_LEN, first && self.start == self.end)?;
        }
        let header = &self.buffer[self.start..self.start + HEADER_LEN];
        let len = header_len(header);
        if header[3] != *sequence {
            return Err(ReadError::OutOfOrder);
        }
        *sequence = sequence.wrapping_add(1);
        self.start += HEADER_LEN;
        if len > len_max {
            return Err(ReadError::TooLarge(Remainder::of_piece(len, len)));
        }
        Ok(len)
    }

    /// Reads a payload; where in the buffer it stands.
    #[inline]
    fn piece(&mut self, source: &mut impl Source, len: usize) -> Result<std::ops::Range<usize>, ReadError> {
        while self.end - self.start < len {
            self.fill(source, len, false)?;
        }
        let payload = self.start..self.start + len;
        self.start += len;
        Ok(payload)
    }

    /// Reads once, on the way to having `wanted` bytes. The buffer grows with what has come, never with what a
    /// header has merely announced.
    fn fill(&mut self, source: &mut impl Source, wanted: usize, between: bool) -> Result<(), ReadError> {
        if self.start + wanted > self.buffer.len() && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            let grown = (self.buffer.len() * 2).min(wanted.max(INPUT_LEN));
            let grown = grown.max(self.end + 1);
            if !grows(&mut self.buffer, grown - self.end) {
                return Err(ReadError::NoMemory(Remainder::of_piece(wanted, wanted)));
            }
            self.buffer.resize(grown, 0);
        }
        let expected = if between {
            source.expect_command()
        } else {
            source.expect_rest()
        };
        expected.map_err(ReadError::Io)?;
        loop {
            match source.read(&mut self.buffer[self.end..]) {
                Ok(0) if between => return Err(ReadError::Closed),
                Ok(0) => return Err(ReadError::Truncated),
                Ok(n) => {
                    self.end += n;
                    return Ok(());
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(if between {
                        ReadError::Idle
                    } else {
                        ReadError::Truncated
                    });
                }
                Err(e) => return Err(ReadError::Io(e)),
            }
        }
    }

    fn shrink(&mut self) {
        if self.buffer.len() > KEPT_LEN_MAX {
            self.buffer = vec![0; INPUT_LEN];
        }
        if self.assembled.capacity() > KEPT_LEN_MAX {
            self.assembled = Vec::new();
        }
    }
}

impl Default for Input {
    fn default() -> Self {
        Input::new()
    }
}

#[inline]
fn header_len(header: &[u8]) -> usize {
    u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize
}

/// The payload of the first of these packets, which are whole; none if there is no packet.
pub fn first_payload(packets: &[u8]) -> Option<&[u8]> {
    let (header, rest) = packets.split_at_checked(HEADER_LEN)?;
    Some(&rest[..header_len(header)])
}

/// A place between two packets of an answer, to take back what follows it.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    len: usize,
    sequence: u8,
}

/// The packets of an answer, on their way out.
#[derive(Default)]
pub struct Output {
    buffer: Vec<u8>,
    /// Where the header of the packet being written stands.
    packet: usize,
    pub sequence: u8,
}

impl Output {
    pub fn new() -> Output {
        Output::default()
    }

    /// Begins a packet; its payload is appended to what this returns.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.packet = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_LEN]);
        &mut self.buffer
    }

    /// The payload of the packet begun, to go on writing it.
    #[inline]
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Where in [`Output::payload`] the packet begun has its first byte.
    #[inline]
    pub fn payload_start(&self) -> usize {
        self.packet + HEADER_LEN
    }

    /// The length of the payload so far.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.buffer.len() - self.payload_start()
    }

    /// Ends the packet begun.
    #[inline]
    pub fn end(&mut self) {
        let len = self.payload_len();
        if len >= PIECE_LEN_MAX {
            return self.end_in_pieces();
        }
        let header = (len as u32) | (self.sequence as u32) << 24;
        self.buffer[self.packet..self.packet + HEADER_LEN].copy_from_slice(&header.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
        self.packet = self.buffer.len();
    }

    #[cold]
    fn end_in_pieces(&mut self) {
        let payload = self.buffer.split_off(self.payload_start());
        self.buffer.truncate(self.packet);
        let mut rest = payload.as_slice();
        loop {
            let (piece, after) = rest.split_at(rest.len().min(PIECE_LEN_MAX));
            let header = piece.len() as u32 | (self.sequence as u32) << 24;
            self.buffer.extend_from_slice(&header.to_le_bytes());
            self.buffer.extend_from_slice(piece);
            self.sequence = self.sequence.wrapping_add(1);
            rest = after;
            if piece.len() < PIECE_LEN_MAX {
                break;
            }
        }
        self.packet = self.buffer.len();
    }

    /// The place after the packet that ended last.
    pub fn mark(&self) -> Mark {
        Mark {
            len: self.packet,
            sequence: self.sequence,
        }
    }

    /// The bytes of the packets since `mark`, of which none has been sent.
    pub fn len_since(&self, mark: Mark) -> usize {
        self.packet - mark.len
    }

    /// Takes back all packets since `mark`, of which none has been sent.
    pub fn take_since(&mut self, mark: Mark) -> Vec<u8> {
        self.buffer.truncate(self.packet);
        self.packet = mark.len;
        self.sequence = mark.sequence;
        self.buffer.split_off(mark.len)
    }

    /// Forgets the packet begun, if there is one.
    pub fn abandon(&mut self) {
        self.buffer.truncate(self.packet);
    }

    pub fn packet(&mut self, payload: &[u8]) {
        self.begin().extend_from_slice(payload);
        self.end();
    }

    /// All packets that have ended.
    #[inline]
    pub fn finished(&self) -> &[u8] {
        &self.buffer[..self.packet]
    }

    /// Bytes buffered.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Forgets what [`Output::finished`] has shown.
    #[inline]
    pub fn sent(&mut self) {
        let unfinished = self.buffer.len() - self.packet;
        if unfinished == 0 && self.buffer.capacity() > KEPT_LEN_MAX {
            self.buffer = Vec::new();
        } else {
            self.buffer.drain(..self.packet);
        }
        self.packet = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that delivers bytes in portions of a fixed size.
    struct Drip {
        bytes: Vec<u8>,
        at: usize,
        portion: usize,
        reads: usize,
    }

    impl Drip {
        fn new(bytes: Vec<u8>, portion: usize) -> Drip {
            Drip {
                bytes,
                at: 0,
                portion,
                reads: 0,
            }
        }
    }

    impl Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.reads += 1;
            let n = out.len().min(self.portion).min(self.bytes.len() - self.at);
            out[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
            self.at += n;
            Ok(n)
        }
    }

    impl Source for Drip {
        fn expect_command(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn expect_rest(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Output::new();
        for payload in payloads {
            out.packet(payload);
        }
        out.finished().to_vec()
    }

    #[test]
    fn a_packet_is_its_length_its_number_and_its_payload() {
        assert_eq!(
            written(&[b"ab", b"", b"c"]),
            [2, 0, 0, 0, b'a', b'b', 0, 0, 0, 1, 1, 0, 0, 2, b'c']
        );
    }

    #[test]
    fn packets_come_out_as_they_went_in_however_the_network_cuts_them() {
        let payloads: Vec<Vec<u8>> = (0..50usize)
            .map(|n| (0..n * n * 7).map(|i| (i * 31 + n) as u8).collect())
            .collect();
        let parts: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let bytes = written(&parts);
        for portion in [1, 2, 3, 5, 1000, 1 << 20] {
            let mut source = Drip::new(bytes.clone(), portion);
            let (mut input, mut sequence) = (Input::new(), 0);
            for payload in &payloads {
                let packet = input.packet(&mut source, &mut sequence, 1 << 20).unwrap();
                assert_eq!(packet, payload.as_slice());
            }
            assert!(matches!(
                input.packet(&mut source, &mut sequence, 1 << 20),
                Err(ReadError::Closed)
            ));
        }
    }

    #[test]
    fn pipelined_packets_cost_one_read() {
        let mut source = Drip::new(written(&[b"one", b"two", b"three"]), usize::MAX);
        let (mut input, mut sequence) = (Input::new(), 0);
        for (payload, more) in [(&b"one"[..], true), (b"two", true), (b"three", false)] {
            assert_eq!(input.packet(&mut source, &mut sequence, 100).unwrap(), payload);
            assert_eq!(input.has_packet(), more);
        }
        assert_eq!(source.reads, 1);
    }

    #[test]
    fn large_payloads_are_cut_and_put_together() {
        for len in [
            PIECE_LEN_MAX - 1,
            PIECE_LEN_MAX,
            PIECE_LEN_MAX + 1,
            2 * PIECE_LEN_MAX,
        ] {
            let payload: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let bytes = written(&[&payload, b"after"]);
            let pieces = len / PIECE_LEN_MAX + 1;
            assert_eq!(bytes.len(), len + pieces * HEADER_LEN + HEADER_LEN + 5);
            let mut source = Drip::new(bytes, 1 << 20);
            let (mut input, mut sequence) = (Input::new(), 0);
            assert!(input.packet(&mut source, &mut sequence, 1 << 26).unwrap() == payload);
            assert_eq!(sequence as usize, pieces);
            assert_eq!(
                input.packet(&mut source, &mut sequence, 1 << 26).unwrap(),
                b"after"
            );
        }
    }

    #[test]
    fn limits_and_numbers_are_checked() {
        let (mut input, mut sequence) = (Input::new(), 0);
        let mut source = Drip::new(written(&[&[7; 100], b"next"]), usize::MAX);
        let Err(ReadError::TooLarge(left)) = input.packet(&mut source, &mut sequence, 99) else {
            panic!("a packet beyond the limit");
        };
        assert_eq!(left, Remainder::of_piece(100, 100));

        let mut source = Drip::new(vec![1, 0, 0, 3, 9], usize::MAX);
        let (mut input, mut sequence) = (Input::new(), 0);
        assert!(matches!(
            input.packet(&mut source, &mut sequence, 99),
            Err(ReadError::OutOfOrder)
        ));

        let mut source = Drip::new(vec![5, 0, 0, 0, 9], usize::MAX);
        let (mut input, mut sequence) = (Input::new(), 0);
        assert!(matches!(
            input.packet(&mut source, &mut sequence, 99),
            Err(ReadError::Truncated)
        ));
    }

    #[test]
    fn what_is_not_taken_is_skipped_to_its_end() {
        for len in [
            100,
            PIECE_LEN_MAX - 1,
            PIECE_LEN_MAX,
            PIECE_LEN_MAX + 100,
            3 * PIECE_LEN_MAX,
        ] {
            for len_max in [10, PIECE_LEN_MAX, 2 * PIECE_LEN_MAX] {
                let bytes = written(&[&vec![7; len], b"next"]);
                let mut source = Drip::new(bytes, 1 << 20);
                let (mut input, mut sequence) = (Input::new(), 0);
                let left = match input.packet(&mut source, &mut sequence, len_max) {
                    Ok(payload) => {
                        assert!(payload.len() == len && len <= len_max);
                        continue;
                    }
                    Err(ReadError::TooLarge(left)) => left,
                    Err(other) => panic!("{other:?}"),
                };
                input.skip(&mut source, &mut sequence, left).unwrap();
                assert_eq!(sequence as usize, len / PIECE_LEN_MAX + 1);
                assert_eq!(
                    input.packet(&mut source, &mut sequence, 10).unwrap(),
                    b"next",
                    "{len} {len_max}"
                );
            }
        }
    }

    #[test]
    fn an_announced_length_alone_takes_no_memory() {
        let mut source = Drip::new(vec![0xfe, 0xff, 0xff, 0, 1, 2, 3], usize::MAX);
        let (mut input, mut sequence) = (Input::new(), 0);
        let _ = input.packet(&mut source, &mut sequence, 1 << 30);
        assert!(input.buffer.len() <= 2 * INPUT_LEN);
    }

    #[test]
    fn an_unfinished_packet_can_be_taken_back() {
        let mut out = Output::new();
        out.packet(b"row");
        out.begin().extend_from_slice(b"half a r");
        out.abandon();
        out.packet(b"error");
        assert_eq!(out.finished(), written(&[b"row", b"error"]));
        out.begin().extend_from_slice(b"later");
        out.sent();
        out.end();
        assert_eq!(out.finished(), [5, 0, 0, 2, b'l', b'a', b't', b'e', b'r']);
    }
}
