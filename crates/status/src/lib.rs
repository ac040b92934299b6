//! The status page, metrics and health of a server, over HTTP: `--status-port`.
//!
//! ```text
//!  listener   accepts connections, a bounded number of them; start and stop
//!  routes     the answer to each request, and the access rules
//!  stream     the page's events
//!  shared     what the connections share, and how many there may be
//!  hub        one sampler for everybody who looks
//!  picture    what the page shows, as JSON
//!  metrics    what Prometheus collects
//!  figures    the server's counters at one moment
//!  login      who may look
//!  request, response   HTTP
//! ```
//!
//! Whoever can connect may send anything, and the database must not notice: connections are bounded and so is what each may send
//! and how long it may take. Nothing is sampled while nobody looks. A sample takes no lock that a statement waits for beyond the
//! copy of a list, and the next one comes so much later that sampling never takes more than a hundredth of one core.
//!
//! *HTTP.* Requests are parsed by `httparse`, hyper's parser: kept by hyper's maintainers, MIT or Apache, without dependencies, built
//! in two seconds. What else is needed is a GET without a body, an answer and a close, which `response` is. `tiny_http` reads headers
//! without bounds or time limits, which is what must not be here; hyper without tokio still wants an executor and timers
//! written for it; both would be more code to trust than is saved. A connection carries one request, so there is no pipelining.
//!
//! *Metrics.* Text by hand: `prometheus-client` is made for counters that it owns, while these are kept elsewhere and read once a scrape.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod figures;
mod hub;
mod listener;
mod login;
mod metrics;
mod picture;
mod request;
mod response;
mod routes;
mod shared;
mod stream;

pub use listener::StatusServer;
