//! Reads the head of a request, within bounds of length and time.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A head that is longer is refused.
const HEAD_LEN_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
/// The whole head must be there within this time, however it trickles in.
pub const HEAD_TIME_MAX: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `HEAD`, …
    pub method: String,
    /// The path, without the query behind `?`.
    pub path: String,
    /// `Host`; `None`: there is none.
    pub host: Option<String>,
    /// `Authorization`
    pub authorization: Option<String>,
    /// `Accept`
    pub accept: String,
}

/// Why there is no request to answer.
#[derive(Debug)]
pub enum Unreadable {
    /// The client is gone, or said nothing.
    Gone,
    /// An answer with this status says why.
    Refused(u16),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Unreadable::Refused(408),
            _ => Unreadable::Gone,
        }
    }
}

/// Reads a request's head. What comes behind it is left alone.
pub fn read(mut stream: &TcpStream) -> Result<Request, Unreadable> {
    let deadline = Instant::now() + HEAD_TIME_MAX;
    let mut head = Vec::with_capacity(1024);
    let mut block = [0u8; 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Unreadable::Refused(408));
        }
        stream.set_read_timeout(Some(left))?;
        let read = match stream.read(&mut block) {
            Ok(0) => return Err(Unreadable::Gone),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        head.extend_from_slice(&block[..read]);
        if let Some(request) = parse(&head)? {
            return Ok(request);
        }
        if head.len() >= HEAD_LEN_MAX {
            return Err(Unreadable::Refused(431));
        }
    }
}

/// The request of a whole head; `None`: there is more to come.
fn parse(head: &[u8]) -> Result<Option<Request>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Unreadable::Refused(431)),
        Err(httparse::Error::Version) => return Err(Unreadable::Refused(505)),
        Err(_) => return Err(Unreadable::Refused(400)),
    }
    let target = parsed.path.unwrap_or_default();
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: target.split('?').next().unwrap_or_default().to_owned(),
        ..Request::default()
    };
    for header in parsed.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let Ok(value) = std::str::from_utf8(header.value) else {
            return Err(Unreadable::Refused(400));
        };
        if is("host") {
            // Two of them are a way to have two readers see two requests.
            if request.host.replace(value.trim().to_owned()).is_some() {
                return Err(Unreadable::Refused(400));
            }
        } else if is("authorization") {
            request.authorization = Some(value.to_owned());
        } else if is("accept") {
            request.accept = value.to_owned();
        }
    }
    if parsed.version == Some(1) && request.host.is_none() {
        return Err(Unreadable::Refused(400));
    }
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &[u8]) -> u16 {
        match parse(head) {
            Ok(Some(_)) => 200,
            Ok(None) => 100,
            Err(Unreadable::Refused(status)) => status,
            Err(Unreadable::Gone) => 0,
        }
    }

    #[test]
    fn a_head_is_taken_apart() {
        let head = b"GET /metrics?x=1 HTTP/1.1\r\nHost: localhost:1\r\naccept: text/plain\r\n\r\n";
        let request = parse(head).unwrap().unwrap();
        assert_eq!((&*request.method, &*request.path), ("GET", "/metrics"));
        assert_eq!(
            (request.host.as_deref(), &*request.accept),
            (Some("localhost:1"), "text/plain")
        );
        assert_eq!(status(&head[..head.len() - 1]), 100);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(status(b"\x16\x03\x01\x02\x00"), 400);
        assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(b"GET / HTTP/1.0\r\n\r\n"), 200);
        assert_eq!(status(b"GET / HTTP/3.0\r\n\r\n"), 505);
        assert_eq!(status(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(status(b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n"), 400);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(status(many.as_bytes()), 431);
    }

    #[test]
    fn heads_of_any_bytes() {
        let corpus = tidemark_testing::fuzz::Corpus::new("status_request")
            .input("GET /metrics?x HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n")
            .input("HEAD / HTTP/1.0\r\nAuthorization: Basic cm9vdDo=\r\n\r\n");
        corpus.play(20_000, |input| {
            let _ = parse(input);
        });
    }
}
