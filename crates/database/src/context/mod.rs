//! What a running statement knows of the session and the server around it.
//!
//! Planner, executor, definitions, SHOW and the virtual tables get a [`SessionState`] by shared reference and report through
//! what else is here. The session itself (its transaction, its cached plans, its prepared statements) stands on top of all
//! of them, and none of them can reach it.
//!
//! - `database`: the server, that all sessions share; `options` it is started with, `counters` of what it does and the `latency` of it, its
//!   latest of `deadlocks`, its `components`, what connections have `tls` with, the last lines of the `error_log`, the `logs` of statements, the `modes` in which it refuses what it does else, the sizes of pool and log (`resize`).
//! - `client`: the other end of the connection; `process`: what other sessions see of this one; `profile`: where the time of its last statements went; `traces`: why they were planned so; `timer`: queries that may run
//!   only so long.
//! - `state`: variables (`user_variables`), current database, account; `diagnostics`: what belongs to one statement; `roles`: those that are
//!   active; `access`: what the account may do with them, and where names lead.
//! - `sink`: where results go; `answer`: results made in memory; [`command`]: kinds of statements, as they are counted;
//!   `table_use`: the tables of a plan, to be locked and checked.

pub(crate) mod access;
mod alone;
pub(crate) mod answer;
pub(crate) mod client;
pub mod command;
mod compiled;
pub mod components;
pub(crate) mod counters;
pub(crate) mod database;
pub(crate) mod deadlocks;
mod diagnostics;
pub mod error_log;
pub mod files;
mod handlers;
pub mod latency;
pub(crate) mod logs;
pub(crate) mod modes;
pub(crate) mod options;
pub mod own_files;
pub(crate) mod process;
pub mod profile;
mod query_attributes;
pub mod resize;
mod roles;
mod session_track;
pub(crate) mod sink;
pub(crate) mod state;
mod table_use;
mod timer;
pub(crate) mod tls;
pub mod traces;
mod traffic;
mod transaction_track;
mod user_variables;

pub use alone::{bind_alone, evaluate_with};
pub use answer::{Answer, Done, ResultRows, ok_info};
pub use client::{Client, ClientSocket, ConnectInfo, capability};
pub use compiled::Compiled;
pub use counters::{Counter, Totals};
pub use database::{Database, collator};
pub use deadlocks::Deadlock;
pub use diagnostics::{Diagnostics, Outer};
pub use handlers::{Handlers, OpenTable, Place};
pub use options::Options;
pub use process::{Process, SERVER_ID, SessionSnapshot};
pub use query_attributes::QueryAttributes;
pub use roles::{Acting, RightsAt};
pub use session_track::SessionChange;
pub use sink::{Discard, OkInfo, ResultSink, status};
pub use state::{DumpedTable, SessionState};
pub use table_use::TableUse;
pub use timer::Alarm;
pub use tls::TlsInUse;
pub use traffic::Bytes;
