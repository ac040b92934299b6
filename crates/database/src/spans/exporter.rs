//! The thread that sends spans: some at a time, each time over a connection of its own, by HTTP/1.1.
//!
//! One kind of request to one address needs no library: there is nothing to be redirected to, no body to be read, and no TLS, for a
//! collector stands beside the server or on its network. A collector that is slow or away holds up this thread alone: each
//! request has its time, and what it does not take is dropped, so that what is sent is always of the last seconds.

use super::{Span, document};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Spans that wait to be sent.
const QUEUE: usize = 2048;
/// Spans of a request.
const BATCH: usize = 512;
/// How long spans wait for others.
const GATHER: Duration = Duration::from_millis(500);
/// How long a collector may take to accept a connection, and then for each step.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a failure is told.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Counts {
    exported: AtomicU64,
    dropped: AtomicU64,
    closing: AtomicBool,
}

/// Where spans go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    /// Host and port.
    address: String,
    path: String,
}

#[derive(Debug)]
pub struct Exporter {
    queue: Option<SyncSender<Span>>,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    pub fn start(url: &str) -> Result<Exporter, String> {
        let endpoint = Endpoint::parse(url)?;
        let (queue, spans) = sync_channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let own = Arc::clone(&counts);
        let thread = std::thread::Builder::new()
            .name("spans".to_owned())
            .spawn(move || run(&endpoint, &spans, &own))
            .map_err(|error| error.to_string())?;
        Ok(Exporter {
            queue: Some(queue),
            counts,
            thread: Some(thread),
        })
    }

    pub fn send(&self, span: Span) {
        let is_sent = self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(span).is_ok());
        if !is_sent {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn counts(&self) -> (u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.counts.exported), of(&self.counts.dropped))
    }
}

impl Drop for Exporter {
    /// What is queued is still sent, unless the collector does not take it.
    fn drop(&mut self) {
        self.counts.closing.store(true, Ordering::Relaxed);
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(endpoint: &Endpoint, spans: &Receiver<Span>, counts: &Counts) {
    let mut complained: Option<Instant> = None;
    while let Ok(first) = spans.recv() {
        let batch = gather(first, spans);
        let count = batch.len() as u64;
        match endpoint.post(&document::of(&batch)) {
            Ok(()) => drop(counts.exported.fetch_add(count, Ordering::Relaxed)),
            Err(error) => {
                counts.dropped.fetch_add(count, Ordering::Relaxed);
                if complained.is_none_or(|when| when.elapsed() >= COMPLAIN_EVERY) {
                    log::warn!(
                        "spans are dropped: {} does not take them: {error}",
                        endpoint.address
                    );
                    complained = Some(Instant::now());
                }
                if counts.closing.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    }
}

fn gather(first: Span, spans: &Receiver<Span>) -> Vec<Span> {
    let (until, mut batch) = (Instant::now() + GATHER, vec![first]);
    while batch.len() < BATCH {
        match spans.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(span) => batch.push(span),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    batch
}

impl Endpoint {
    /// `http://HOST[:PORT][/PATH]`: without a port 4318, without a path `/v1/traces`.
    fn parse(url: &str) -> Result<Endpoint, String> {
        let rest = url
            .strip_prefix("http://")
            .ok_or("it does not begin with http://")?;
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || host.contains('@') || !is_plain(url) {
            return Err("it names no host".to_owned());
        }
        // The colons of an address of version 6 stand in brackets.
        let has_port = host.rsplit_once(':').is_some_and(|(name, port)| {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            is_number && (name.ends_with(']') || !name.contains(':'))
        });
        Ok(Endpoint {
            address: match has_port {
                true => host.to_owned(),
                false => format!("{host}:4318"),
            },
            path: match path {
                "" | "/" => "/v1/traces".to_owned(),
                path => path.to_owned(),
            },
        })
    }

    fn post(&self, body: &str) -> io::Result<()> {
        let address = self.address.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other("there is no such host"))?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        match &answer {
            [b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', b'2', _, _] => Ok(()),
            _ => Err(io::Error::other(format!(
                "it answers {}",
                String::from_utf8_lossy(&answer)
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::Parent;
    use std::net::TcpListener;

    fn span() -> Span {
        Span {
            parent: Parent {
                trace: [1; 16],
                span: [2; 8],
            },
            operation: "select".to_owned(),
            schema: Some("shop".to_owned()),
            text: None,
            began_nanos: 1,
            ended_nanos: 2,
            lock_nanos: 0,
            examined: 3,
            sent: 1,
            affected: 0,
            error: Some((1146, "no \"such\" table".to_owned())),
            connection: 7,
        }
    }

    #[test]
    fn urls_are_read() {
        let read = |url| Endpoint::parse(url).map(|e| (e.address, e.path));
        let is = |address: &str, path: &str| Ok((address.to_owned(), path.to_owned()));
        assert_eq!(read("http://localhost"), is("localhost:4318", "/v1/traces"));
        assert_eq!(read("http://10.0.0.1:80/a/b"), is("10.0.0.1:80", "/a/b"));
        assert_eq!(read("http://[::1]:99/"), is("[::1]:99", "/v1/traces"));
        assert_eq!(read("http://[::1]"), is("[::1]:4318", "/v1/traces"));
        for wrong in [
            "https://host",
            "host:4318",
            "http://",
            "http://a b",
            "http://user@host",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_arrive_at_the_collector() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let exporter = Exporter::start(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        exporter.send(span());
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = String::new();
        while !seen.contains("\"resourceSpans\"") || !seen.ends_with('}') {
            let mut part = [0; 4096];
            let read = stream.read(&mut part).unwrap();
            assert!(read > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&part[..read]));
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        assert!(seen.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{seen}");
        for part in [
            "01010101010101010101010101010101",
            "0202020202020202",
            "SELECT shop",
            "no \\\"such\\\" table",
        ] {
            assert!(seen.contains(part), "{part} in {seen}");
        }
        while exporter.counts().0 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(exporter.counts(), (1, 0));
    }

    #[test]
    fn a_span_is_queued_or_dropped_at_once() {
        // The kernel accepts connections to it, and nothing answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let exporter = Exporter::start(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let sent = 2 * (QUEUE + BATCH) as u64;
        (0..sent).for_each(|_| exporter.send(span()));
        let (exported, dropped) = exporter.counts();
        assert_eq!(exported, 0);
        assert!(dropped >= sent - (QUEUE + BATCH + 1) as u64, "{dropped}");
        drop(listener);
    }
}
