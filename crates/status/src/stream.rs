//! The page's events: server-sent, one after each sample, until the client goes or the server stops.

use crate::hub::{Next, Viewer};
use crate::response::{self, WRITE_TIME_MAX};
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How often it is looked whether the client is still there.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Sends events as long as the client takes them.
pub fn serve(mut stream: &TcpStream, mut viewer: Viewer) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIME_MAX))?;
    let head = response::head(200, "text/event-stream; charset=utf-8");
    stream.write_all(format!("{head}\r\n{}", viewer.past()).as_bytes())?;
    loop {
        match viewer.next(LOOK_EVERY) {
            Next::Event(event) => stream.write_all(event.as_bytes())?,
            Next::Nothing if is_gone(stream)? => return Ok(()),
            Next::Nothing => {}
            Next::End => return Ok(()),
        }
    }
}

/// A client has nothing more to say; what it still says, or that it hangs up, ends the stream.
fn is_gone(stream: &TcpStream) -> io::Result<bool> {
    stream.set_nonblocking(true)?;
    let seen = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    Ok(!seen.is_err_and(|error| error.kind() == ErrorKind::WouldBlock))
}
