//! How many files the process may have open, and what fits in that: `open_files_limit`, `max_connections` and
//! `tidemark_max_logins`.
//!
//! A connection is a file; of the log's segments few are open, however many there are. The limit that a process starts with is made for
//! a shell, so it is raised as far as the system allows. If that is too little for all the connections there may be, fewer are allowed,
//! as in MySQL, so that a client that is one too many is answered with error 1040.

use tidemark_sql::Database;

/// Files that are opened later than the data and before a connection is: segments of the log, copies, logs, the status page.
const LATER: u64 = 24;
/// Connections there are in any case.
const CONNECTIONS_MIN: u64 = 1;
const LOGINS_MIN: u64 = 4;

/// How many connections and logins there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clients {
    connections: u64,
    logins: u64,
}

impl Clients {
    /// Files that they take at most: the threads of logins that came to nothing keep theirs a little longer.
    fn files(self) -> u64 {
        self.connections + 1 + 3 * self.logins
    }

    /// As many as fit in so many files. Logins have a quarter of them at most.
    fn within(self, files: u64) -> Clients {
        if self.files() <= files {
            return self;
        }
        let logins = self.logins.min((files / 12).max(LOGINS_MIN));
        let left = files.saturating_sub(3 * logins + 1);
        Clients {
            connections: self.connections.min(left.max(CONNECTIONS_MIN)),
            logins,
        }
    }
}

/// Raises the limit as far as it goes, and returns what it is.
pub fn raise_limit() -> u64 {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => limit,
        Err(e) => {
            log::warn!("the limit of open files stays as it is: {e}");
            rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(1024, |(soft, _)| soft)
        }
    }
}

/// Sets `open_files_limit` to what the limit is, and has no more connections than fit in it. The data is open, and no client is
/// connected.
pub fn fit_connections(database: &Database, limit: u64) -> Result<(), String> {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
    let wanted = Clients {
        connections: database.variable_u64("max_connections"),
        logins: database.variable_u64("tidemark_max_logins"),
    };
    let fitting = wanted.within(limit.saturating_sub(open + LATER));
    let set = |name: &str, value: u64| {
        let set = database.set_variable_at_start(name, &value.to_string());
        set.map_err(|e| e.message)
    };
    set("open_files_limit", limit)?;
    for (name, wanted, fitting) in [
        ("max_connections", wanted.connections, fitting.connections),
        ("tidemark_max_logins", wanted.logins, fitting.logins),
    ] {
        if fitting < wanted {
            log::warn!(
                "{name} is {fitting}, not {wanted}: the system lets the server open {limit} files (ulimit -n)"
            );
            set(name, fitting)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_fit_in_the_files_there_are() {
        let wanted = Clients {
            connections: 151,
            logins: 512,
        };
        assert_eq!(wanted.within(10_000), wanted);
        for files in 20..2000 {
            let fitting = wanted.within(files);
            assert!(fitting.files() <= files, "{files}: {fitting:?}");
            assert!(
                fitting.connections >= 7 && fitting.logins >= LOGINS_MIN,
                "{files}: {fitting:?}"
            );
        }
        let none = wanted.within(0);
        assert_eq!((none.connections, none.logins), (CONNECTIONS_MIN, LOGINS_MIN));
    }
}
