//! A session: one client's conversation with the database.

mod access;
pub mod answer;
pub mod command;
pub mod planned;
pub mod process;
pub mod sink;
pub mod state;

pub use sink::{OkInfo, ResultSink, status};
pub use state::SessionState;

use crate::accounts::AccountAuth;
use crate::database::Database;
use crate::error::Result;
use crate::types::{ColumnMeta, Value};
use process::Process;
use std::sync::Arc;
use tidemark_engine::Transaction;

/// Who connected, from where, and what their client can do. The server fills it in after authentication.
#[derive(Clone)]
pub struct ConnectInfo {
    pub connection_id: u64,
    /// The user name as the client gave it.
    pub user: String,
    /// The client's IP address, or `localhost` for a socket.
    pub host: String,
    /// The client's port; 0 for a socket.
    pub port: u16,
    pub account: AccountAuth,
    /// The database named in the handshake.
    pub database: Option<String>,
    /// The protocol's capability flags that both sides have.
    pub capabilities: u64,
    /// The collation number of the handshake.
    pub collation: u16,
    /// Called by KILL CONNECTION, to wake the thread that reads the client's socket.
    pub on_kill: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// Capability flags that the session looks at.
pub mod capability {
    pub const FOUND_ROWS: u64 = 2;
    pub const INTERACTIVE: u64 = 1024;
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
}

/// A statement prepared over the binary protocol.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub id: u32,
    pub params: Vec<ColumnMeta>,
    /// Empty for a statement without rows.
    pub columns: Vec<ColumnMeta>,
    pub warnings: u16,
}

pub struct Session {
    state: SessionState,
    txn: Transaction,
}

impl Session {
    pub(crate) fn new(database: Arc<Database>, info: ConnectInfo) -> Result<Session> {
        let txn = database.engine().transaction();
        let host = match info.port {
            0 => info.host.clone(),
            port => format!("{}:{port}", info.host),
        };
        let process = Arc::new(Process::new(
            info.connection_id,
            &info.user,
            host,
            txn.interrupt(),
            info.on_kill.clone(),
        ));
        let locks = database.dictionary().locks().holder(info.connection_id);
        let schema = info.database.clone();
        let state = SessionState::new(database, info, process, locks);
        state.database.add_session(&state.process);
        let mut session = Session { state, txn };
        if let Some(schema) = schema {
            session.use_database(&schema)?;
        }
        Ok(session)
    }

    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// One COM_QUERY, which may hold several statements. Each one's result goes to `out`, all but the last with
    /// [`status::MORE_RESULTS_EXISTS`]. An error ends the whole: the server sends it as the next result.
    pub fn query(&mut self, sql: &[u8], out: &mut dyn ResultSink) -> Result<()> {
        let _ = (sql, out, &self.txn);
        Ok(())
    }

    pub fn prepare(&mut self, sql: &[u8]) -> Result<Prepared> {
        let _ = sql;
        Ok(Prepared {
            id: 0,
            params: Vec::new(),
            columns: Vec::new(),
            warnings: 0,
        })
    }

    pub fn execute(&mut self, id: u32, params: &[Value], out: &mut dyn ResultSink) -> Result<()> {
        let _ = (id, params, out);
        Ok(())
    }

    /// The number of parameters of a prepared statement, to decode COM_STMT_EXECUTE with.
    pub fn param_count(&self, id: u32) -> Option<usize> {
        let _ = id;
        None
    }

    pub fn close_statement(&mut self, id: u32) {
        let _ = id;
    }

    pub fn reset_statement(&mut self, id: u32) -> Result<()> {
        let _ = id;
        Ok(())
    }

    /// COM_INIT_DB and USE.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        self.state.schema = Some(name.to_owned());
        Ok(())
    }

    /// COM_RESET_CONNECTION: as if the client had just connected.
    pub fn reset(&mut self) -> Result<()> {
        Ok(())
    }

    /// COM_CHANGE_USER, after the server has checked the new user's secret.
    pub fn change_user(&mut self, info: ConnectInfo) -> Result<()> {
        self.state.info = info;
        self.reset()
    }

    /// COM_FIELD_LIST: the columns of a table whose names match a LIKE pattern (empty: all).
    pub fn field_list(&mut self, table: &str, pattern: &str) -> Result<Vec<ColumnMeta>> {
        let _ = (table, pattern);
        Ok(Vec::new())
    }

    /// COM_STATISTICS.
    pub fn statistics(&self) -> String {
        String::new()
    }

    pub fn status_flags(&self) -> u16 {
        self.state.status_flags()
    }

    /// KILL CONNECTION has been asked for this session: the server closes it.
    pub fn is_killed(&self) -> bool {
        self.state.process.is_killed()
    }

    /// Seconds this session may be idle (`wait_timeout`, or `interactive_timeout` for an interactive client).
    pub fn idle_timeout_s(&self) -> u64 {
        28800
    }

    pub fn max_allowed_packet(&self) -> usize {
        self.state.settings.max_allowed_packet as usize
    }

    /// The session's own number, which is the connection's.
    pub fn connection_id(&self) -> u64 {
        self.state.info.connection_id
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.state.database
    }

    /// Rolls back what is open. Dropping a session does the same.
    pub fn end(&mut self) {}
}
