//! A Tidemark of the lab's own: this very program, on a free port, with its data in a directory that goes with it.
//!
//! It is stopped by SHUTDOWN when the lab ends, also by Ctrl-C. A lab that is killed leaves it running; the next one finds its
//! directory, whose file `lock` nobody has locked any more, and stops it from there. The file `address` in it has the port,
//! and the server says by `@@datadir` whether it is the one.
//!
//! The directory is in `TMPDIR`, or `/var/tmp`, which is on a disk: a server whose commits cost nothing because its data is
//! in memory would not be comparable.

use crate::client::url::{DATABASE, Url};
use crate::client::{Dialect, Login, PROGRAM};
use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tidemark_client::Client;

const PREFIX: &str = "tidemark-lab-";
const LOCK: &str = "lock";
/// What the file is called until it is locked.
const NOT_LOCKED: &str = "lock.new";
const ADDRESS: &str = "address";
const LOG: &str = "log";
const DATA: &str = "data";
/// How long it may take to close its data.
const STOP_TIME: Duration = Duration::from_secs(30);
/// Room for 1,024 clients and 1,000 open transactions; pages for the tables of the full experiments.
const SETTINGS: &[&str] = &[
    "--max-connections=2200",
    "--innodb-buffer-pool-size=1G",
    "--max-prepared-stmt-count=1000000",
];

/// A server that runs as long as this is there.
pub struct Own {
    child: Child,
    dir: PathBuf,
    url: Url,
    /// Says that the directory is in use.
    _lock: File,
    /// It writes a few lines when it stops, which somebody has to take.
    _output: BufReader<ChildStdout>,
}

impl Own {
    /// Starts one, with an exhibit of the museum or without; comes back when it can be connected to.
    pub fn start(exhibit: Option<&str>) -> Result<Own, Failure> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let base = base();
        stop_orphans(&base);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let dir = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let made = fs::create_dir_all(&dir);
        made.map_err(|e| Failure::because(format!("cannot make {}: {e}", dir.display())))?;
        let lock = locked(&dir)?;
        let program = std::env::current_exe()?;
        let mut child = Command::new(program)
            .arg("serve")
            .arg("--datadir")
            .arg(dir.join(DATA))
            .arg("--port=0")
            .args(SETTINGS)
            .args(exhibit.map(|exhibit| format!("--museum={exhibit}")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(dir.join(LOG))?)
            // Ctrl-C is for the lab, which then stops the server.
            .process_group(0)
            .spawn()?;
        let mut output = BufReader::new(child.stdout.take().ok_or_else(|| Failure::because("no pipe"))?);
        let Some(port) = port_said(&mut output) else {
            let _ = child.kill();
            let _ = child.wait();
            let log = fs::read_to_string(dir.join(LOG)).unwrap_or_default();
            let _ = fs::remove_dir_all(&dir);
            return Err(Failure::because(format!(
                "the server of the lab has not started: {}",
                log.lines().last().unwrap_or("it has said nothing")
            )));
        };
        let own = Own {
            child,
            url: url(port),
            dir,
            _lock: lock,
            _output: output,
        };
        fs::write(own.dir.join(ADDRESS), port.to_string())?;
        Ok(own)
    }

    /// Where it is.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// False if it has ended.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        shut_down(&self.url, &self.dir);
        let deadline = Instant::now() + STOP_TIME;
        while self.runs() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Marks a directory as in use. The file gets its name when it is locked: between the two another lab would take the directory for one that is left.
fn locked(dir: &Path) -> Result<File, Failure> {
    let made = dir.join(NOT_LOCKED);
    let lock = File::create(&made)?;
    lock.lock()?;
    fs::rename(made, dir.join(LOCK))?;
    Ok(lock)
}

fn base() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}

fn url(port: u16) -> Url {
    Url {
        dialect: Dialect::MySql,
        host: "127.0.0.1".to_owned(),
        port,
        login: Login {
            user: "root".to_owned(),
            password: String::new(),
        },
        database: DATABASE.to_owned(),
    }
}

/// The port of its greeting, `Connect with:  mariadb -h127.0.0.1 -P3306 …`. `None`: it has ended before.
fn port_said(output: &mut impl BufRead) -> Option<u16> {
    let mut lines = output.lines();
    lines.by_ref().find_map(|line| port_of(&line.ok()?))
}

fn port_of(line: &str) -> Option<u16> {
    let (_, rest) = line.strip_prefix("Connect with:")?.split_once(" -P")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Asks a server to stop, if it is the one whose data is in the directory.
fn shut_down(url: &Url, dir: &Path) {
    let Ok(mut client) = Client::connect(&url.target(), &url.login, PROGRAM) else {
        return;
    };
    let datadir = client.query("SELECT @@datadir").ok();
    let datadir = datadir
        .as_ref()
        .and_then(|rows| rows.first()?.first()?.as_deref());
    let is_there = datadir
        .and_then(|text| std::str::from_utf8(text).ok())
        .is_some_and(|text| Path::new(text).starts_with(dir));
    if is_there {
        let _ = client.query("SHUTDOWN");
    }
}

/// Stops servers whose lab was killed, and removes their data.
fn stop_orphans(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let is_labs = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let dir = entry.path();
        // One that has no such file yet is being made.
        let is_left = is_labs && File::open(dir.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if !is_left {
            continue;
        }
        let port = fs::read_to_string(dir.join(ADDRESS))
            .ok()
            .and_then(|port| port.parse().ok());
        if let Some(port) = port {
            shut_down(&url(port), &dir);
        }
        let _ = fs::remove_dir_all(&dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_greeting() {
        let mut text =
            &b"Tidemark 1 is ready\nConnect with:  mariadb -h127.0.0.1 -P3311 -uroot  (x)\nStop\n"[..];
        assert_eq!(port_said(&mut text), Some(3311));
        assert_eq!(port_said(&mut &b"Tidemark\n"[..]), None);
    }

    #[test]
    fn only_directories_that_nobody_uses_are_removed() {
        let base = std::env::temp_dir().join(format!("lab-own-{}", std::process::id()));
        let dir = |name: &str| {
            let dir = base.join(name);
            fs::create_dir_all(&dir).unwrap();
            dir
        };
        let (used, left) = (dir("tidemark-lab-1-0"), dir("tidemark-lab-2-0"));
        let (begun, others) = (dir("tidemark-lab-3-0"), dir("others"));
        let lock = locked(&used).unwrap();
        drop(locked(&left).unwrap());
        File::create(begun.join(NOT_LOCKED)).unwrap();
        drop(locked(&others).unwrap());
        stop_orphans(&base);
        assert_eq!(
            [&used, &left, &begun, &others].map(|dir| dir.exists()),
            [true, false, true, true]
        );
        drop(lock);
        fs::remove_dir_all(&base).unwrap();
    }
}
