//! The processor time of a process on this machine, and which process listens on a port.
//!
//! ```text
//!  /proc/net/tcp     port, state LISTEN → number of the socket
//!  /proc/PID/fd/*    → socket:[number]     whose it is
//!  /proc/PID/stat    field 4: its parent; 14, 15: time in user and system mode, in ticks; 16, 17: of children that have ended
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// In which `/proc` gives times: the kernel's interface has 100 per second whatever the kernel itself counts with.
const TICKS_PER_S: f64 = 100.0;
/// Where the parent, and the first of two times, stand behind the program's name.
const PARENT: usize = 1;
const OWN_TIMES: usize = 11;
const CHILDREN_TIMES: usize = 13;
/// The state LISTEN.
const LISTEN: &str = "0A";

/// A process.
#[derive(Debug, PartialEq, Eq)]
pub struct Process {
    path: PathBuf,
    with_children: bool,
}

impl Process {
    /// This one.
    pub fn own() -> Process {
        Process::at(PathBuf::from("/proc/self"))
    }

    fn at(path: PathBuf) -> Process {
        Process {
            path,
            with_children: false,
        }
    }

    /// The same with the processes that it has started, those that have ended included: what a server is that has a process for each session.
    pub fn with_children(self) -> Process {
        Process {
            with_children: true,
            ..self
        }
    }

    /// The one that listens on a TCP port. `None` if there is none, or it is another user's.
    pub fn listening(port: u16) -> Option<Process> {
        let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
            .iter()
            .filter_map(|file| fs::read_to_string(file).ok())
            .flat_map(|table| listeners(&table, port))
            .map(|inode| format!("socket:[{inode}]"))
            .collect();
        processes()
            .find(|path| holds(path, &sockets).unwrap_or(false))
            .map(Process::at)
    }

    /// Seconds of all its threads, in user and system mode.
    pub fn cpu_s(&self) -> Option<f64> {
        let stat = fs::read_to_string(self.path.join("stat")).ok()?;
        let own = cpu_of(&stat, OWN_TIMES)?;
        if !self.with_children {
            return Some(own);
        }
        let id = self.path.file_name()?.to_str()?;
        let running = processes()
            .filter_map(|path| fs::read_to_string(path.join("stat")).ok())
            .filter(|stat| field(stat, PARENT) == Some(id))
            .filter_map(|stat| Some(cpu_of(&stat, OWN_TIMES)? + cpu_of(&stat, CHILDREN_TIMES)?));
        Some(own + cpu_of(&stat, CHILDREN_TIMES)? + running.sum::<f64>())
    }
}

/// The directories of all processes, the oldest first.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ids: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    ids.sort_unstable();
    ids.into_iter().map(|id| PathBuf::from(format!("/proc/{id}")))
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

/// A field of the text of `stat`. The second one, the program's name, may have blanks and parentheses.
fn field(stat: &str, at: usize) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(at)
}

fn cpu_of(stat: &str, first: usize) -> Option<f64> {
    let user: f64 = field(stat, first)?.parse().ok()?;
    let system: f64 = field(stat, first + 1)?.parse().ok()?;
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
        assert_eq!(found.path, PathBuf::from(format!("/proc/{}", std::process::id())));
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
        assert_eq!(field(stat, PARENT), Some("1"));
    }

    #[test]
    fn the_time_of_children_counts_while_they_run_and_after_they_have_ended() {
        let spin = || {
            std::process::Command::new("sh")
                .args([
                    "-c",
                    "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read line",
                ])
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        };
        let id = std::process::id();
        let this = Process::at(PathBuf::from(format!("/proc/{id}"))).with_children();
        let before = this.cpu_s().unwrap();
        let mut child = spin();
        let of_child = Process::at(PathBuf::from(format!("/proc/{}", child.id())));
        while of_child.cpu_s().unwrap() < 0.05 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let while_it_runs = this.cpu_s().unwrap();
        assert!(while_it_runs >= before + 0.05, "{before} {while_it_runs}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(this.cpu_s().unwrap() >= while_it_runs);
    }
}
