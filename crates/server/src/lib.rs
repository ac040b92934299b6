//! The MySQL protocol in front of the SQL floor.
//!
//! ```text
//!  listen      TCP addresses and the Unix socket
//!  server      who is connected; start and stop
//!  connection  one client, one thread: log in, then command after command
//!  client_log  what the log says of clients, within bounds
//!  handshake, capability, auth, provings, secrets   who the client is
//!  command, params, attributes  what it asks for
//!  results, reply               what it is answered
//!  channel, packet, transport   packets, and the bytes below them
//!  wire, errors                 integers, strings and errors as the protocol has them
//! ```
//!
//! One connection is one thread with blocking reads and writes. A command that came in one segment and is answered in
//! one costs two system calls and no allocation in this crate.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod attributes;
mod auth;
mod capability;
mod channel;
mod client_log;
mod command;
mod connection;
mod cursor;
mod errors;
#[cfg(test)]
mod fuzz;
mod gate;
mod handshake;
mod listen;
mod packet;
mod params;
mod provings;
mod reply;
mod results;
mod secrets;
mod server;
mod tls;
mod transport;
mod wire;

pub use server::{Server, ServerOptions};
