//! Writes an answer: status, headers, body. The connection is closed behind it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// A client that takes nothing for so long is let go.
pub const WRITE_TIME_MAX: Duration = Duration::from_secs(5);
/// What a client still sends is read for so long, and so much of it: closing before would take the answer from it.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_LEN_MAX: usize = 64 << 10;

/// Nothing from elsewhere, no script in the page itself, in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// An answer.
pub struct Response {
    /// Of the first line.
    pub status: u16,
    /// `Content-Type`
    pub content_type: &'static str,
    /// Another header, name and value.
    pub header: Option<(&'static str, &'static str)>,
    /// What is sent behind the headers.
    pub body: Vec<u8>,
}

impl Response {
    /// Status 200 with a body.
    pub fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response {
            status: 200,
            content_type,
            header: None,
            body: body.into(),
        }
    }

    /// A status and a line of text that says why.
    pub fn text(status: u16, text: &str) -> Response {
        Response {
            status,
            ..Response::ok("text/plain; charset=utf-8", format!("{text}\n"))
        }
    }

    /// The same with one more header.
    pub fn with(self, name: &'static str, value: &'static str) -> Response {
        Response {
            header: Some((name, value)),
            ..self
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}

/// The first line and the headers that every answer has.
pub fn head(status: u16, content_type: &str) -> String {
    format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n",
        reason(status)
    )
}

/// Sends the answer. HEAD gets everything but the body.
pub fn send(mut stream: &TcpStream, response: &Response, is_head: bool) -> io::Result<()> {
    let mut bytes = head(response.status, response.content_type);
    if let Some((name, value)) = response.header {
        bytes += &format!("{name}: {value}\r\n");
    }
    bytes += &format!("Content-Length: {}\r\n\r\n", response.body.len());
    let mut bytes = bytes.into_bytes();
    if !is_head {
        bytes.extend_from_slice(&response.body);
    }
    stream.set_write_timeout(Some(WRITE_TIME_MAX))?;
    let deadline = Instant::now() + WRITE_TIME_MAX;
    // In pieces, so that one who takes a byte now and then does not stay for ever.
    for piece in bytes.chunks(16 << 10) {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.write_all(piece)?;
    }
    Ok(())
}

/// Ends the connection once its client has read the answer: closed before, with something of the client's unread, it would be reset, and the
/// answer lost.
pub fn linger(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let deadline = Instant::now() + LINGER;
    let mut block = [0u8; 4096];
    let mut seen = 0;
    while seen < LINGER_LEN_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut block)? {
            0 => break,
            read => seen += read,
        }
    }
    Ok(())
}
