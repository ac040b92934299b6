//! Commands: what a client asks for once it is let in, and how each is answered.

use crate::attributes;
use crate::capability::Capabilities;
use crate::channel::Channel;
use crate::cursor::{CURSOR_LEN_MAX, CURSORS_LEN_MAX, Cursor};
use crate::errors;
use crate::params::{Received, Statement};
use crate::reply;
use crate::results::{BinaryResults, TextResults};
use crate::wire::Fields;
use rustc_hash::FxHashMap;
use std::mem;
use tidemark_sql::{OkInfo, Session, SqlError, command, status};

const QUIT: u8 = 0x01;
const INIT_DB: u8 = 0x02;
const QUERY: u8 = 0x03;
const FIELD_LIST: u8 = 0x04;
const STATISTICS: u8 = 0x09;
const PROCESS_INFO: u8 = 0x0a;
const PROCESS_KILL: u8 = 0x0c;
const PING: u8 = 0x0e;
pub const CHANGE_USER: u8 = 0x11;
const STMT_PREPARE: u8 = 0x16;
const STMT_EXECUTE: u8 = 0x17;
const STMT_SEND_LONG_DATA: u8 = 0x18;
const STMT_CLOSE: u8 = 0x19;
const STMT_RESET: u8 = 0x1a;
const SET_OPTION: u8 = 0x1b;
const STMT_FETCH: u8 = 0x1c;
const RESET_CONNECTION: u8 = 0x1f;

/// The flag of COM_STMT_EXECUTE that asks for a cursor.
const CURSOR_READ_ONLY: u8 = 1;
/// Values of commands longer than this are not kept for their memory.
const VALUES_KEPT_MAX: usize = 64 << 10;
/// Says that the number of values is there although the statement has no parameters.
const COUNT_IS_THERE: u8 = 8;

/// What becomes of the connection after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Command,
    /// The client has said goodbye, or its session was ended.
    Close,
}

/// What the server keeps for a client between commands, beside its session.
#[derive(Default)]
pub struct Commands {
    /// By numbers that the session has given.
    statements: FxHashMap<u32, Statement>,
    received: Received,
}

impl Commands {
    /// Runs one command and puts its answer into the channel.
    pub fn run(&mut self, packet: &[u8], channel: &mut Channel, session: &mut Session) -> Next {
        let Some((command, body)) = packet.split_first() else {
            channel.error(&errors::unknown_command());
            return Next::Command;
        };
        channel.texts = session.state().settings.character_set_results;
        let done = match *command {
            QUERY => self.query(body, channel, session),
            STMT_EXECUTE => self.execute(body, channel, session),
            QUIT => return Next::Close,
            other => self.run_rare(other, body, channel, session),
        };
        session.forget_query_attributes();
        match done {
            Ok(()) => Next::Command,
            Err(_) if session.is_cut_off() => Next::Close,
            // A body that is malformed, too: where the next packet begins is known all the same.
            Err(error) => {
                channel.texts = session.state().settings.character_set_results;
                channel.error(&error);
                Next::Command
            }
        }
    }

    fn run_rare(
        &mut self,
        command: u8,
        body: &[u8],
        channel: &mut Channel,
        session: &mut Session,
    ) -> Result<(), SqlError> {
        if let Some(counter) = counter_of(command) {
            session.count_command(counter);
        }
        match command {
            PING => ok(channel, session),
            INIT_DB => {
                session.use_database(&text(body))?;
                ok(channel, session);
            }
            FIELD_LIST => field_list(body, channel, session)?,
            STATISTICS => channel.out.packet(session.statistics().as_bytes()),
            PROCESS_INFO => session.query(b"SHOW PROCESSLIST", &mut TextResults::new(channel))?,
            PROCESS_KILL => {
                let statement = format!("KILL {}", Fields::new(body).u32()?);
                session.query(statement.as_bytes(), &mut TextResults::new(channel))?;
            }
            STMT_PREPARE => self.prepare(body, channel, session)?,
            STMT_SEND_LONG_DATA => self.send_long_data(body, session)?,
            STMT_CLOSE => {
                let id = Fields::new(body).u32()?;
                self.statements.remove(&id);
                session.close_statement(id);
            }
            STMT_RESET => {
                let id = Fields::new(body).u32()?;
                let statement = self.statements.get_mut(&id);
                let statement = statement.ok_or_else(|| SqlError::unknown_statement(id))?;
                session.count_command(command::STMT_RESET);
                statement.forget_long_data();
                statement.cursor = None;
                session.reset_statement(id)?;
                ok(channel, session);
            }
            STMT_FETCH => self.fetch(body, channel, session)?,
            SET_OPTION => {
                let allow = match Fields::new(body).u16()? {
                    0 => true,
                    1 => false,
                    _ => return Err(errors::unknown_command()),
                };
                session.set_multi_statements(allow);
                let status = session.status_flags();
                reply::put_end(&mut channel.out, channel.capabilities, 0, status);
            }
            RESET_CONNECTION => {
                self.forget();
                session.reset()?;
                ok(channel, session);
            }
            _ => return Err(errors::unknown_command()),
        }
        Ok(())
    }

    /// Forgets the prepared statements, as the session does when it is reset.
    pub fn forget(&mut self) {
        self.statements.clear();
    }

    fn prepare(&mut self, body: &[u8], channel: &mut Channel, session: &mut Session) -> Result<(), SqlError> {
        let prepared = session.prepare(body)?;
        let (columns, params) = (prepared.columns.len(), prepared.params.len());
        self.statements.insert(prepared.id, Statement::new(params));
        let packet = channel.out.begin();
        packet.push(0);
        packet.extend_from_slice(&prepared.id.to_le_bytes());
        packet.extend_from_slice(&(columns as u16).to_le_bytes());
        packet.extend_from_slice(&(params as u16).to_le_bytes());
        packet.push(0);
        packet.extend_from_slice(&prepared.warnings.to_le_bytes());
        channel.out.end();
        let status = session.status_flags();
        for definitions in [&prepared.params, &prepared.columns] {
            for column in definitions {
                reply::put_column(&mut channel.out, column, channel.texts);
            }
            if !definitions.is_empty() {
                reply::put_separator(&mut channel.out, channel.capabilities, 0, status);
            }
        }
        Ok(())
    }

    #[inline]
    fn query(&mut self, body: &[u8], channel: &mut Channel, session: &mut Session) -> Result<(), SqlError> {
        let text = if channel.has(Capabilities::QUERY_ATTRIBUTES) {
            let client = session.state().settings.character_set_client;
            let text = attributes::before_text(body, client, &mut self.received);
            self.hand_over_attributes(session);
            text?
        } else {
            body
        };
        session.query(text, &mut TextResults::new(channel))
    }

    /// What came by name is the session's, for this command.
    #[inline]
    fn hand_over_attributes(&mut self, session: &mut Session) {
        if !self.received.attributes.is_empty() {
            session.set_query_attributes(mem::take(&mut self.received.attributes));
        }
    }

    #[inline]
    fn execute(&mut self, body: &[u8], channel: &mut Channel, session: &mut Session) -> Result<(), SqlError> {
        let mut fields = Fields::new(body);
        let id = fields.u32()?;
        let (flags, _iterations) = (fields.u8()?, fields.u32()?);
        let statement = self.statements.get_mut(&id);
        let statement = statement.ok_or_else(|| SqlError::unknown_statement(id))?;
        let client = session.state().settings.character_set_client;
        let counts = channel.has(Capabilities::QUERY_ATTRIBUTES)
            && (statement.has_params() || flags & COUNT_IS_THERE != 0);
        let count = match counts {
            true => Some(attributes::count(&mut fields)?),
            false => None,
        };
        let is_large = body.len() > VALUES_KEPT_MAX || statement.has_long_data();
        let read = statement.read(&mut fields, count, client, &mut self.received);
        statement.forget_long_data();
        statement.cursor = None;
        self.hand_over_attributes(session);
        read?;
        if flags & CURSOR_READ_ONLY != 0 {
            return self.execute_with_cursor(id, channel, session);
        }
        let done = session.execute(id, &self.received.values, &mut BinaryResults::new(channel));
        if is_large {
            self.received.values = Vec::new();
        }
        done
    }

    #[cold]
    fn execute_with_cursor(
        &mut self,
        id: u32,
        channel: &mut Channel,
        session: &mut Session,
    ) -> Result<(), SqlError> {
        let kept: usize = self.cursors().map(Cursor::len).sum();
        let len_max = CURSOR_LEN_MAX.min(CURSORS_LEN_MAX.saturating_sub(kept));
        let mut results = BinaryResults::for_cursor(channel, len_max);
        let done = session.execute(id, &self.received.values, &mut results);
        self.received.values = Vec::new();
        let cursor = results.into_cursor(done)?;
        if let Some(statement) = self.statements.get_mut(&id) {
            statement.cursor = cursor;
        }
        Ok(())
    }

    fn cursors(&self) -> impl Iterator<Item = &Cursor> {
        self.statements.values().filter_map(|s| s.cursor.as_ref())
    }

    fn fetch(&mut self, body: &[u8], channel: &mut Channel, session: &Session) -> Result<(), SqlError> {
        let mut fields = Fields::new(body);
        let (id, count) = (fields.u32()?, fields.u32()?);
        let statement = self.statements.get_mut(&id);
        let statement = statement.ok_or_else(|| SqlError::unknown_statement(id))?;
        session.count_command(command::STMT_FETCH);
        let cursor = statement
            .cursor
            .as_mut()
            .ok_or_else(|| errors::no_open_cursor(id))?;
        let more = cursor.fetch(count, &mut channel.out);
        let flag = match more {
            true => status::CURSOR_EXISTS,
            false => status::LAST_ROW_SENT,
        };
        if !more {
            statement.cursor = None;
        }
        reply::put_end(
            &mut channel.out,
            channel.capabilities,
            0,
            session.status_flags() | flag,
        );
        Ok(())
    }

    fn send_long_data(&mut self, body: &[u8], session: &Session) -> Result<(), SqlError> {
        let mut fields = Fields::new(body);
        let (id, param) = (fields.u32()?, fields.u16()?);
        if let Some(statement) = self.statements.get_mut(&id) {
            session.count_command(command::STMT_SEND_LONG_DATA);
            statement.add_long_data(param as usize, fields.rest(), session.max_allowed_packet());
        }
        Ok(())
    }
}

/// The counter of a command that concerns neither a statement nor the session as a whole; those are counted where they are
/// carried out.
fn counter_of(command: u8) -> Option<usize> {
    Some(match command {
        INIT_DB => command::CHANGE_DB,
        FIELD_LIST => command::SHOW_FIELDS,
        STATISTICS => command::SHOW_STATUS,
        SET_OPTION => command::SET_OPTION,
        PING | RESET_CONNECTION => command::ADMIN,
        _ => return None,
    })
}

/// Answers that something was done.
pub fn ok(channel: &mut Channel, session: &Session) {
    let info = OkInfo {
        status: session.status_flags(),
        changes: session.state().take_changes(),
        ..OkInfo::default()
    };
    reply::put_ok(&mut channel.out, &info);
}

fn field_list(body: &[u8], channel: &mut Channel, session: &mut Session) -> Result<(), SqlError> {
    let mut fields = Fields::new(body);
    let (table, pattern) = (text(fields.until_nul()), text(fields.rest()));
    for column in session.field_list(&table, &pattern)? {
        reply::put_listed_column(&mut channel.out, &column, channel.texts);
    }
    let status = session.status_flags();
    reply::put_end(&mut channel.out, channel.capabilities, 0, status);
    Ok(())
}

/// A name from a packet.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
