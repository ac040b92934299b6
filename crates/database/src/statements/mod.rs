//! What statements did: how often each kind of them ran, how long it took, what it read and sent.
//!
//! ```text
//! session's thread                                          whoever reads
//!   statement ends: Figures                                   Digests::top, rows of performance_schema
//!      ├─ Meter: Sums, pending statements    ──┬─ listed by its digest ─────────┤
//!      └─ the last ten events                  └─ listed by its session ────────┘
//!   plan, prepared statement or session goes: the meter's sums are added to what digest and session had before
//! ```
//!
//! It is always on, so it must cost next to nothing. A plan remembers its [`Meter`], so that a statement is normalised once and not
//! each time it runs. A meter belongs to one session: its thread puts down what a statement did with plain stores, on cache lines
//! that no other thread writes; nothing is locked, nothing is allocated. A [few dozen](digests) statements at a time are added up, in
//! one loop and under locks that are taken once for all of them. Readers, who are rare, add the meters up, and what is pending in each.
//!
//! With many sessions, most of what it costs is not instructions but cache lines: what a session counted last has left the near caches before its
//! next statement. So what each statement writes lies together, in lines of its own; it is asked for when the statement begins
//! ([`prefetch`](tidemark_engine::prefetch)); and what few statements have is not looked at for the others.
//!
//! - [`figures`]: what one statement did, and sums of that. [`histogram`]: latencies by powers of ten.
//! - [`errors`]: with which errors they ended.
//! - [`digests`]: sums by kind of statement, and `gathered`, of all meters of one. [`history`]: the last statements of a session. [`accounts`]: sums and connections of
//!   accounts.
//! - [`prepared`]: prepared statements, and what their executions did.
//! - [`transactions`] and [`stages`]: the other events of a session; [`recent`]: the last of each kind; [`long`]: the last events of all
//!   sessions. [`setup`]: which of all these are collected. [`rules`]: of which accounts and tables they are.

pub mod accounts;
pub mod digests;
pub mod errors;
pub mod figures;
mod gathered;
pub mod histogram;
pub mod history;
pub mod long;
pub mod prepared;
pub mod recent;
pub mod ring;
pub mod rules;
pub mod setup;
pub mod stages;
pub mod transactions;

pub use digests::{Digest, DigestSummary, Digests, Meter, Order};
pub use figures::{Figures, Rare, Sums, Totals};
