//! The way to one client: its transport, the answer being collected for it, and what both sides have agreed on.

use crate::capability::Capabilities;
use crate::errors;
use crate::packet::{Input, Output, ReadError};
use crate::reply;
use crate::results::ColumnEncoding;
use crate::transport::Transport;
use std::io;
use tidemark_sql::types::Charset;
use tidemark_sql::{Result, SqlError};

pub struct Channel {
    pub transport: Transport,
    pub out: Output,
    pub capabilities: Capabilities,
    /// How the columns of the current result set are encoded; kept for its memory.
    pub encodings: Vec<ColumnEncoding>,
    /// The character set of names and of errors: `character_set_results`.
    pub texts: Option<Charset>,
    /// The client cannot be written to any more.
    broken: bool,
}

impl Channel {
    pub fn new(transport: Transport) -> Channel {
        Channel {
            transport,
            out: Output::new(),
            capabilities: Capabilities::default(),
            encodings: Vec::new(),
            texts: None,
            broken: false,
        }
    }

    pub fn has(&self, capability: Capabilities) -> bool {
        self.capabilities.has(capability)
    }

    /// Reads the next packet of the current exchange.
    pub fn read<'a>(&mut self, input: &'a mut Input, len_max: usize) -> Result<&'a [u8], ReadError> {
        input.packet(&mut self.transport, &mut self.out.sequence, len_max)
    }

    /// Reads the next packet of what the client is sending, for which it has `net_read_timeout`.
    pub fn read_rest<'a>(&mut self, input: &'a mut Input, len_max: usize) -> Result<&'a [u8], ReadError> {
        input.rest(&mut self.transport, &mut self.out.sequence, len_max)
    }

    /// Reads the first packet of a new exchange.
    #[inline]
    pub fn read_command<'a>(&mut self, input: &'a mut Input, len_max: usize) -> Result<&'a [u8], ReadError> {
        self.out.sequence = 0;
        input.packet(&mut self.transport, &mut self.out.sequence, len_max)
    }

    pub fn error(&mut self, error: &SqlError) {
        let with_state = self.has(Capabilities::PROTOCOL_41);
        reply::put_error(&mut self.out, error, self.texts, with_state);
    }

    /// Sends all packets that have ended.
    #[inline]
    pub fn send(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let sent = self.transport.write_all(self.out.finished());
        self.out.sent();
        self.broken = sent.is_err();
        sent
    }

    /// [`Channel::send`] in the middle of a statement.
    pub fn send_part(&mut self) -> Result<()> {
        self.send().map_err(|e| errors::write_failed(&e))
    }

    /// What the client sends cannot be understood any more: nothing is sent to it either.
    pub fn give_up(&mut self) {
        self.broken = true;
    }

    pub fn is_broken(&self) -> bool {
        self.broken
    }
}
