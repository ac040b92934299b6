//! The isolation lab: the published experiments on transaction isolation, run on any server that speaks MySQL's protocol or PostgreSQL's.
//!
//! - [`command()`]: `tidemark lab list | explain | run | report | simulate | compare | load`.
//! - [`run`], [`compare`], [`summary`]: runs experiments; says what has changed; shows results as text.
//! - [`report`]: results as a page with plots.
//! - [`simulate`]: what more cores would show, from service times that were measured.
//! - [`experiments`]: what there is to run, and how each is measured.
//! - [`load`]: the load generator, with sysbench's workloads and some that it lacks.
//! - [`client`]: a connection, whichever protocol it speaks.
//! - [`server`]: what experiments run on, by URL, or a Tidemark of the lab's own.
//! - [`results`], [`stats`]: what was found, line by line; medians and noise.
//!
//! The lab is a client: it uses nothing of the server that it measures, and measures all servers alike.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

pub mod client;
mod command;
pub mod compare;
pub mod experiments;
pub mod failure;
pub mod interrupt;
pub mod level;
pub mod load;
pub mod report;
pub mod results;
pub mod run;
pub mod server;
pub mod simulate;
pub mod stats;
pub mod summary;
mod table;
mod words;

pub use command::command;
