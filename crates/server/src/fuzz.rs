//! Whatever bytes a client sends, reading them ends with a value or an error.

use crate::attributes;
use crate::capability::Capabilities;
use crate::handshake::{Login, is_tls_request};
use crate::packet::{Input, Output, Source};
use crate::params::{Received, Statement};
use crate::wire::Fields;
use std::io::{self, Read};
use tidemark_sql::types::Charset;
use tidemark_testing::fuzz::Corpus;

const CAPABILITIES: [u32; 4] = [
    0x200,
    0x200 | 0x8000 | 0x8_0000 | 8,
    0x200 | 0x20_0000 | 0x8_0000 | 0x10_0000 | 8,
    u32::MAX,
];

/// A stream that delivers its bytes in portions, the first byte being their length.
struct Stream<'a> {
    bytes: &'a [u8],
    portion: usize,
}

impl Read for Stream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.bytes.len().min(out.len()).min(self.portion);
        let (now, later) = self.bytes.split_at(n);
        out[..n].copy_from_slice(now);
        self.bytes = later;
        Ok(n)
    }
}

impl Source for Stream<'_> {
    fn expect_command(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn expect_rest(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![7];
    for payload in payloads {
        let mut output = Output::new();
        output.packet(payload);
        bytes.extend_from_slice(output.finished());
    }
    bytes
}

#[test]
fn packets_of_any_bytes() {
    let corpus = Corpus::new("packet")
        .input(packets(&[b"\x03SELECT 1"]))
        .input(packets(&[b"\x0e", b"", &[b'x'; 300]]))
        .input([&[1][..], &[0xff; 12]].concat());
    corpus.play(20_000, |input| {
        let Some((portion, bytes)) = input.split_first() else {
            return;
        };
        let mut stream = Stream {
            bytes,
            portion: usize::from(*portion).max(1),
        };
        let mut reader = Input::new();
        let mut read = 0;
        loop {
            let mut sequence = 0;
            match reader.packet(&mut stream, &mut sequence, 1 << 20) {
                Ok(payload) => read += payload.len() + 4,
                Err(_) => break,
            }
            assert!(read <= bytes.len(), "more was read than sent");
        }
    });
}

/// The client's answer to the greeting, with everything in it.
fn login() -> Vec<u8> {
    let mut packet = 0x003A_A20Du32.to_le_bytes().to_vec();
    packet.extend_from_slice(&[0, 0, 0, 1, 45]);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(b"root\0\x14proofproofproofproof");
    packet.extend_from_slice(b"test\0mysql_native_password\0\x0b\x04_pid\x0512345");
    packet
}

#[test]
fn logins_of_any_bytes() {
    let corpus = Corpus::new("login")
        .input(login())
        .input(b"root\0\x00test\0\x2d\x00caching_sha2_password\0".as_slice())
        .input(&login()[..32]);
    corpus.play(20_000, |input| {
        is_tls_request(input);
        for server in CAPABILITIES {
            let server = Capabilities(server);
            for login in [Login::parse(input, server), Login::parse_change(input, server)]
                .into_iter()
                .flatten()
            {
                assert!(login.user.len() + login.proof.len() + login.attributes.len() <= input.len());
            }
        }
    });
}

/// COM_STMT_EXECUTE of a few parameters: NULL bits, types, values.
#[test]
fn parameters_of_any_bytes() {
    let corpus = Corpus::new("parameters")
        .input(b"\x03\x00\x01\x08\x00\xfd\x00\x0c\x00\x2a\0\0\0\0\0\0\0\x03abc\x0b\xe8\x07\x02\x1d\x0c\x22\x38\x40\xe2\x01\x00".as_slice())
        .input(b"\x02\x05\x01\x06\x00\x05\x00\0\0\0\0\0\0\xf0\x3f".as_slice())
        .input(b"\x04\x00\x01\x01\x80\x02\x80\x0b\x00\xf6\x00\xff\xff\xff\x08\0\0\0\0\0\x01\x02\x03\x041.50".as_slice())
        .input(b"\x01\x00\x00".as_slice());
    corpus.play(20_000, |input| {
        let Some((count, bytes)) = input.split_first() else {
            return;
        };
        let mut statement = Statement::new(usize::from(*count));
        let mut received = Received::default();
        // Twice: types sent once hold for later executions.
        for _ in 0..2 {
            let mut fields = Fields::new(bytes);
            if statement
                .read(&mut fields, None, Charset::LATIN1, &mut received)
                .is_ok()
            {
                assert_eq!(received.values.len(), usize::from(*count));
            }
        }
    });
}

/// What stands before the text of COM_QUERY, and a COM_STMT_EXECUTE whose values may have names.
#[test]
fn attributes_of_any_bytes() {
    let corpus = Corpus::new("attributes")
        .input(b"\x02\x01\x02\x01\xfe\x00\x01a\xfe\x00\x01b\x05helloDO 1".as_slice())
        .input(b"\x00\x01DO 1".as_slice())
        .input(b"\x01\x01\x00\x01\x0c\x00\x0btraceparent\x07\xe8\x07\x02\x1d\x0c\x22\x38DO 1".as_slice());
    corpus.play(20_000, |input| {
        let mut received = Received::default();
        if let Ok(text) = attributes::before_text(input, Charset::LATIN1, &mut received) {
            assert!(text.len() < input.len());
        }
        let mut fields = Fields::new(input);
        if let Ok(count) = attributes::count(&mut fields) {
            let mut statement = Statement::new(1);
            if statement
                .read(&mut fields, Some(count), Charset::LATIN1, &mut received)
                .is_ok()
            {
                assert_eq!(received.values.len(), 1);
            }
        }
    });
}
