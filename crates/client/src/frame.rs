//! Packets on a stream of bytes: three bytes of length, a sequence number, the payload.
//!
//! ```text
//!  input    | read already | packet | bytes that came with it |      read ahead, one system call for many packets
//!           0            start                            filled
//! ```
//!
//! A packet stays where it was received, and the next one overwrites it: answers are read, or skipped, without a copy or
//! an allocation. What is sent is put together in `output`, behind room for its header, and goes out in one write.
//!
//! A payload of [`FRAGMENT_LEN_MAX`] bytes goes on in the next packet. Such packets are joined in place by moving the later ones
//! over their headers.

use crate::{Error, PACKET_LEN_MAX, Stream};
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

const HEADER_LEN: usize = 4;
const FRAGMENT_LEN_MAX: usize = 0xff_ffff;
/// What the input buffer begins with, and what it may grow to for reading ahead only, bytes.
const INPUT_LEN_MIN: usize = 16 << 10;
const AHEAD_LEN_MAX: usize = 256 << 10;

/// A stream cut into packets.
pub(crate) struct Framed<S = Stream> {
    stream: S,
    input: Vec<u8>,
    /// What is in front of it was given out and is done with.
    start: usize,
    /// What is behind it holds nothing yet.
    filled: usize,
    packet: Range<usize>,
    output: Vec<u8>,
    sequence: u8,
}

impl<S: Read + Write> Framed<S> {
    pub(crate) fn new(stream: S) -> Framed<S> {
        Framed {
            stream,
            input: vec![0; INPUT_LEN_MIN],
            start: 0,
            filled: 0,
            packet: 0..0,
            output: vec![0; HEADER_LEN],
            sequence: 0,
        }
    }

    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// The payload that was received last.
    pub(crate) fn packet(&self) -> &[u8] {
        &self.input[self.packet.clone()]
    }

    /// An empty payload to be filled, then sent by [`send`](Framed::send).
    pub(crate) fn payload(&mut self) -> &mut Vec<u8> {
        self.output.clear();
        self.output.resize(HEADER_LEN, 0);
        &mut self.output
    }

    /// The packets of a command are numbered from 0.
    pub(crate) fn begin_command(&mut self) {
        self.sequence = 0;
    }

    /// Sends what was put into [`payload`](Framed::payload).
    pub(crate) fn send(&mut self) -> io::Result<()> {
        let len = self.output.len() - HEADER_LEN;
        if len < FRAGMENT_LEN_MAX {
            let header = header(len, self.next_sequence());
            self.output[..HEADER_LEN].copy_from_slice(&header);
            return self.stream.write_all(&self.output);
        }
        let mut at = HEADER_LEN;
        loop {
            let part = (self.output.len() - at).min(FRAGMENT_LEN_MAX);
            let header = header(part, self.next_sequence());
            self.stream.write_all(&header)?;
            self.stream.write_all(&self.output[at..at + part])?;
            at += part;
            if part < FRAGMENT_LEN_MAX {
                return Ok(());
            }
        }
    }

    /// Receives the next payload; see [`packet`](Framed::packet).
    pub(crate) fn receive(&mut self) -> Result<(), Error> {
        let mut len = self.fragment(0)?;
        let mut joined = len;
        while len == FRAGMENT_LEN_MAX {
            // `start` is at the first header all the time.
            let end = HEADER_LEN + joined;
            len = self.fragment(end)?;
            let next = self.start + end;
            self.input.copy_within(next + HEADER_LEN..self.filled, next);
            self.filled -= HEADER_LEN;
            joined += len;
        }
        let begin = self.start + HEADER_LEN;
        self.packet = begin..begin + joined;
        self.start = self.packet.end;
        Ok(())
    }

    /// Has a whole packet at `at` bytes behind `start`, and gives its payload's length.
    fn fragment(&mut self, at: usize) -> Result<usize, Error> {
        self.have(at + HEADER_LEN)?;
        let header = &self.input[self.start + at..][..HEADER_LEN];
        let len = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        if header[3] != self.sequence {
            return Err(Error::Malformed("a packet's number"));
        }
        if at + len > PACKET_LEN_MAX {
            return Err(Error::Malformed("a packet of more than 1 GiB"));
        }
        self.next_sequence();
        self.have(at + HEADER_LEN + len)?;
        Ok(len)
    }

    /// Reads until there are `len` bytes behind `start`.
    fn have(&mut self, len: usize) -> io::Result<()> {
        while self.filled - self.start < len {
            if self.start == self.filled {
                (self.start, self.filled) = (0, 0);
            } else if self.start + len > self.input.len() {
                self.input.copy_within(self.start..self.filled, 0);
                (self.start, self.filled) = (0, self.filled - self.start);
            }
            if self.start + len > self.input.len() {
                self.input.resize(len.next_power_of_two(), 0);
            }
            let free = self.input.len() - self.filled;
            match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => {
                    let why = "the server has closed the connection";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
                }
                Ok(read) => {
                    self.filled += read;
                    if read == free && self.input.len() < AHEAD_LEN_MAX {
                        self.input.resize(self.input.len() * 2, 0);
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // What Linux says when the time that was set for reading is over.
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "no answer in time"));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn next_sequence(&mut self) -> u8 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }
}

fn header(len: usize, sequence: u8) -> [u8; HEADER_LEN] {
    [len as u8, (len >> 8) as u8, (len >> 16) as u8, sequence]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Gives its bytes a few at a time; keeps what is written.
    struct Slow {
        input: Cursor<Vec<u8>>,
        step: usize,
        written: Vec<u8>,
    }

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(self.step);
            self.input.read(&mut buffer[..len])
        }
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn framed(input: Vec<u8>, step: usize) -> Framed<Slow> {
        Framed::new(Slow {
            input: Cursor::new(input),
            step,
            written: Vec::new(),
        })
    }

    fn sent(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = framed(Vec::new(), 1);
        for payload in payloads {
            out.payload().extend_from_slice(payload);
            out.send().unwrap();
        }
        out.stream.written
    }

    #[test]
    fn packets_come_back_however_they_are_cut() {
        let payloads: [&[u8]; 5] = [b"a", b"", &[7; 40_000], b"bc", &[8; 100]];
        let bytes = sent(&payloads);
        for step in [1, 3, 5, 4096, 1 << 20] {
            let mut input = framed(bytes.clone(), step);
            for payload in payloads {
                input.receive().unwrap();
                assert!(input.packet() == payload, "{step}");
            }
            assert!(matches!(input.receive(), Err(Error::Io(_))));
        }
    }

    #[test]
    fn long_payloads_are_cut_and_joined() {
        for extra in [0, 1, FRAGMENT_LEN_MAX] {
            let long: Vec<u8> = (0..FRAGMENT_LEN_MAX + extra).map(|at| at as u8).collect();
            let bytes = sent(&[&long, b"next"]);
            let fragments = 2 + extra / FRAGMENT_LEN_MAX;
            assert_eq!(bytes.len(), long.len() + fragments * HEADER_LEN + HEADER_LEN + 4);
            let mut input = framed(bytes, 1 << 16);
            input.receive().unwrap();
            assert!(input.packet() == long, "{extra}");
            input.receive().unwrap();
            assert_eq!(input.packet(), b"next");
        }
    }

    #[test]
    fn a_packet_out_of_order_is_refused() {
        let mut bytes = sent(&[b"a", b"b"]);
        bytes[5 + 3] = 7;
        let mut input = framed(bytes, 100);
        input.receive().unwrap();
        assert!(matches!(input.receive(), Err(Error::Malformed(_))));
    }
}
