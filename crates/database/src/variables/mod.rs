//! System variables: their values, for the server and for each session.
//!
//! - `registry`: every variable, declared once with its kind, bounds, default and meaning.
//! - `setting`: the value of one; `values`: those of all, the server's and a session's.
//! - `settings`: what statements need all the time, decoded; `trace`: for the optimizer trace; `switches`: several in one variable;
//!   `tracked`: which changes clients are told of; `spelling`: which name a mistyped one may have been;
//!   `engine_name`: what the names of storage engines stand for.
//! - [`persist`]: those that outlive a restart.

mod engine_name;
pub mod persist;
mod positions;
pub(crate) mod registry;
pub(crate) mod setting;
pub(crate) mod settings;
mod spelling;
mod switches;
mod trace;
mod tracked;
pub(crate) mod values;

pub use engine_name::EngineName;
pub use registry::{
    CIPHER_SUITES, CIPHERS, DEFS, Def, Fate, HINTABLE, Kind, OLD_OPTION_NAMES, Role, VariableScope, fate,
    find, listed,
};
pub use setting::{Setting, check_kept, check_settable};
pub use settings::{CounterMode, Rewrites, Settings, TransactionInfo, isolation_by_name, isolation_name};
pub use spelling::spelling_distance;
pub use trace::TraceSettings;
pub use tracked::{check_tracked, is_tracked, listed_name, tracks_schema, tracks_state};
pub use values::{Globals, Values};

/// The server's variables with their defaults as options, in the order of names.
pub fn variable_defaults() -> Vec<(&'static str, &'static str)> {
    let listed = listed(true).into_iter();
    listed.map(|(name, at)| (name, DEFS[at].default)).collect()
}

/// The value of `@@version`.
pub const VERSION: &str = concat!("8.4.0-tidemark-", env!("CARGO_PKG_VERSION"));

pub(crate) const SQL_MODE: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                                   ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
