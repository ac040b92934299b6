//! The processor time of a process on this machine, and which process listens on a port.
//!
//! ```text
//!  /proc/net/tcp     port, state LISTEN → number of the socket
//!  /proc/PID/fd/*    → socket:[number]     whose it is
//!  /proc/PID/stat    fields 14, 15: time in user and system mode, in ticks; 16, 17: of children that have ended
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// In which `/proc` gives times: the kernel's interface has 100 per second whatever the kernel itself counts with.
const TICKS_PER_S: f64 = 100.0;
/// Where the first of two times stands behind the program's name.
const OWN_TIMES: usize = 11;
const CHILDREN_TIMES: usize = 13;
/// The state LISTEN.
const LISTEN: &str = "0A";

/// A process.
#[derive(Debug, PartialEq, Eq)]
pub struct Process(PathBuf);

impl Process {
    /// This one.
    pub fn own() -> Process {
        Process(PathBuf::from("/proc/self"))
    }

    /// The one that listens on a TCP port. `None` if there is none, or it is another user's.
    pub fn listening(port: u16) -> Option<Process> {
        let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
            .iter()
            .filter_map(|file| fs::read_to_string(file).ok())
            .flat_map(|table| listeners(&table, port))
            .map(|inode| format!("socket:[{inode}]"))
            .collect();
        let is_process = |path: &Path| matches!(path.file_name(), Some(name) if name.as_encoded_bytes()[0].is_ascii_digit());
        fs::read_dir("/proc")
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_process(path))
            .find(|path| holds(path, &sockets).unwrap_or(false))
            .map(Process)
    }

    /// Seconds of all its threads, in user and system mode.
    pub fn cpu_s(&self) -> Option<f64> {
        cpu_of(&fs::read_to_string(self.0.join("stat")).ok()?, OWN_TIMES)
    }
}

/// Seconds of the processes that this one has started and waited for.
pub(crate) fn children_cpu_s() -> Option<f64> {
    cpu_of(&fs::read_to_string("/proc/self/stat").ok()?, CHILDREN_TIMES)
}

/// The numbers of sockets that listen on the port.
fn listeners(table: &str, port: u16) -> Vec<String> {
    let mut found = Vec::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [_, local, _, state, ..] = fields[..]
            && state == LISTEN
            && let Some((_, hex)) = local.rsplit_once(':')
            && u16::from_str_radix(hex, 16) == Ok(port)
            && let Some(inode) = fields.get(9)
        {
            found.push((*inode).to_owned());
        }
    }
    found
}

fn holds(process: &Path, sockets: &[String]) -> Option<bool> {
    let mut files = fs::read_dir(process.join("fd")).ok()?;
    Some(files.any(|file| {
        let link = file.and_then(|file| fs::read_link(file.path()));
        link.is_ok_and(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
    }))
}

/// Of the text of `stat`. Its second field, the program's name, may have blanks and parentheses.
fn cpu_of(stat: &str, first: usize) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let user: f64 = fields.nth(first)?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_process_of_a_port_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = Process::listening(port).unwrap();
        assert_eq!(found.0, PathBuf::from(format!("/proc/{}", std::process::id())));
        assert!(found.cpu_s().is_some());
        drop(listener);
        assert_eq!(Process::listening(port), None);
    }

    #[test]
    fn times_are_read_behind_any_name() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 25 75";
        assert_eq!(cpu_of(stat, OWN_TIMES), Some(2.0));
        assert_eq!(cpu_of(stat, CHILDREN_TIMES), Some(1.0));
        assert_eq!(cpu_of("7 (a", OWN_TIMES), None);
    }
}
