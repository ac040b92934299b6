//! The answer to each request, and the access rules that apply to it.
//!
//! `/health` and `/ready` tell nothing but a state, are for everybody, and are answered however many others are. All else is for this machine, or, where others can connect,
//! for accounts with the PROCESS privilege.
//!
//! *DNS rebinding.* A page from elsewhere can have its own name point to 127.0.0.1 and then read what this server answers, in the browser of
//! somebody on this machine. Its requests carry that name as `Host`, so on loopback every other name than the machine's own is refused.

use crate::login::{self, Refusal};
use crate::metrics::{self, Form};
use crate::request::Request;
use crate::response::{self, Response};
use crate::shared::{Place, Shared};
use crate::stream;
use std::io;
use std::net::{IpAddr, TcpStream};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// The answer to a request that a client sends from `host`.
pub fn answer(place: &Place, stream: &TcpStream, request: &Request, host: &str) -> io::Result<()> {
    let shared = place.shared();
    let is_head = request.method == "HEAD";
    let answer = |stream: &TcpStream, response| response::send(stream, &response, is_head);
    if let Some(refusal) = refuse(shared, request) {
        return answer(stream, refusal);
    }
    match &*request.path {
        "/health" => return answer(stream, Response::text(200, "up")),
        "/ready" => {
            let response = match shared.is_ready() {
                true => Response::text(200, "ready"),
                false => Response::text(503, "starting or stopping"),
            };
            return answer(stream, response);
        }
        _ => {}
    }
    let Some(_answering) = place.answer() else {
        let response = Response::text(503, "too many are answered already");
        return answer(stream, response.with("Retry-After", "1"));
    };
    let Some(database) = shared.database() else {
        let response = Response::text(503, "the server is starting or stopping");
        return answer(stream, response.with("Retry-After", "1"));
    };
    if !shared.is_local {
        match login::check(&database, request.authorization.as_deref(), host) {
            Ok(()) => {}
            Err(Refusal::NotAllowed(why)) => return answer(stream, Response::text(403, why)),
            Err(Refusal::Unknown) => {
                let response = Response::text(401, "an account with the PROCESS privilege is needed");
                let scheme = "Basic realm=\"Tidemark\", charset=\"UTF-8\"";
                return answer(stream, response.with("WWW-Authenticate", scheme));
            }
        }
    }
    let response = match &*request.path {
        "/" => Response::ok(HTML, include_str!("page/index.html")),
        "/status.css" => Response::ok(CSS, include_str!("page/status.css")),
        "/status.js" => Response::ok(JS, include_str!("page/status.js")),
        "/charts.js" => Response::ok(JS, include_str!("page/charts.js")),
        "/icon.svg" => Response::ok(SVG, include_str!("page/icon.svg")),
        "/metrics" => {
            let form = Form::accepted(&request.accept);
            Response::ok(form.content_type(), metrics::text(&database, form))
        }
        "/events" if is_head => Response::ok("text/event-stream", ""),
        "/events" => match shared.hub.view() {
            Some(viewer) => {
                // The viewer must not keep the database open.
                drop(database);
                return stream::serve(stream, viewer);
            }
            None => Response::text(503, "too many look already").with("Retry-After", "5"),
        },
        _ => Response::text(404, "there is /, /metrics, /health and /ready"),
    };
    answer(stream, response)
}

/// What is wrong with a request before it is looked at what it asks for.
fn refuse(shared: &Shared, request: &Request) -> Option<Response> {
    if let Some(host) = &request.host
        && shared.is_local
        && !is_loopback_name(host)
    {
        let why =
            "the status page answers to localhost and 127.0.0.1; --status-address makes it listen elsewhere";
        return Some(Response::text(421, why));
    }
    if !matches!(&*request.method, "GET" | "HEAD") {
        return Some(Response::text(405, "only GET and HEAD").with("Allow", "GET, HEAD"));
    }
    None
}

/// Whether a `Host` is this machine's, whatever the port behind it.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_machines_own_names_are_its_names() {
        for name in [
            "localhost",
            "LocalHost:80",
            "127.0.0.1",
            "127.0.0.1:8306",
            "127.1.2.3:1",
            "[::1]",
            "[::1]:8306",
        ] {
            assert!(is_loopback_name(name), "{name}");
        }
        for name in [
            "",
            "example.com",
            "localhost.example.com:8306",
            "127.0.0.1.example.com",
            "10.0.0.1",
            "0.0.0.0",
            "[::2]:1",
            "::1",
        ] {
            assert!(!is_loopback_name(name), "{name}");
        }
    }
}
