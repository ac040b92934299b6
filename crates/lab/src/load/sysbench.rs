//! Stock sysbench in place of the lab's own load generator, for those loads that its own scripts have.
//!
//! What it cannot do, and the lab then does not run: a share of transactions that write, statements on tables drawn anew, a rate second by
//! second, anything beside a load. It also differs in three ways, which its figures carry:
//!
//! - it cannot set its sessions' isolation level, so the server's global one (PostgreSQL: the database's) is set while it runs, and put back;
//! - it has no warm-up (sysbench 1.0), and knows whole seconds only;
//! - it gives one percentile and no histogram.
//!
//! The tables are the lab's, which are as sysbench makes them.

use crate::client::Dialect;
use crate::client::url::Url;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::level::Level;
use crate::load::oltp::{Oltp, Writes};
use crate::load::{Pace, Spec, Workload};
use crate::results::Found;
use crate::server::Server;
use crate::server::process::{Process, children_cpu_s};
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "sysbench";
/// How long it may take beyond its time: to connect a thousand clients, and to end.
const SLACK: Duration = Duration::from_secs(60);

/// The script and its options, or why sysbench has none.
pub(crate) fn script(spec: &Spec) -> Result<Vec<String>, &'static str> {
    if spec.pace != Pace::Closed {
        return Err("its clients of an open loop are another load");
    }
    if !spec.work.is_zero() {
        return Err("its clients have no other work to do");
    }
    let oltp = match &spec.workload {
        Workload::Oltp(oltp) => oltp,
        Workload::ThreePoints(_) => return Err("no script of sysbench draws a table for each statement"),
        Workload::HotRow => {
            return Err("no script of sysbench adds to one row, and it is watched second by second");
        }
        Workload::Queue { .. } => return Err("no script of sysbench has a queue"),
        Workload::Tpcc(_) => return Err("TPC-C is no script of sysbench"),
    };
    let Oltp {
        tables,
        points,
        ranges,
        writes,
        prepared,
        transaction,
    } = oltp;
    let name = match (writes, transaction) {
        (Writes::None, false) => "oltp_point_select",
        (Writes::None, true) => "oltp_read_only",
        (Writes::OneIn(1), _) => "oltp_read_write",
        (Writes::OneIn(_), _) => return Err("no script of sysbench writes in one transaction of several"),
        (Writes::NonIndexUpdate, _) => "oltp_update_non_index",
    };
    let mut words = vec![name.to_owned()];
    let mut option = |name: &str, value: String| words.push(format!("--{name}={value}"));
    option("tables", tables.count.to_string());
    option("table-size", tables.rows.to_string());
    option("rand-type", "uniform".to_owned());
    option(
        "db-ps-mode",
        if *prepared { "auto" } else { "disable" }.to_owned(),
    );
    if *transaction {
        option("point-selects", points.to_string());
        option(
            "range-selects",
            if ranges.is_some() { "on" } else { "off" }.to_owned(),
        );
    }
    if let Some(len) = ranges {
        option("range-size", len.to_string());
    }
    Ok(words)
}

/// Runs it for so long, and gives its figures.
pub(crate) fn measure(
    server: &Server,
    spec: &Spec,
    time: Duration,
    interrupt: &Interrupt,
) -> Result<Found, Failure> {
    let script = script(spec).map_err(|why| Failure::because(format!("sysbench cannot: {why}")))?;
    spec.workload.prepare(server, interrupt)?;
    let _level = match spec.level {
        Some(level) => Some(GlobalLevel::set(server, level)?),
        None => None,
    };
    let seconds = (time.as_secs_f64().ceil() as u64).max(1);
    let process = server.process();
    let cpu = || process.as_ref().and_then(Process::cpu_s);
    let before = (cpu(), children_cpu_s());
    let said = run(server, &script, spec.clients, seconds, interrupt)?;
    let after = (cpu(), children_cpu_s());
    let mut found = figures(&said)?;
    let transactions = found.values.remove("transactions").unwrap_or(1.0).max(1.0);
    for (name, before, after) in [
        ("server_cpu_us", before.0, after.0),
        ("client_cpu_us", before.1, after.1),
    ] {
        if let (Some(before), Some(after)) = (before, after) {
            found
                .values
                .insert(name.to_owned(), (after - before) * 1e6 / transactions);
        }
    }
    Ok(found)
}

fn run(
    server: &Server,
    script: &[String],
    clients: usize,
    seconds: u64,
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    let url = server.url();
    let driver = url.dialect.scheme();
    // By this name the client library would look for a socket of its own.
    let host = if url.host == "localhost" {
        "127.0.0.1"
    } else {
        &url.host
    };
    let child = Command::new(PROGRAM)
        .args(script)
        .arg(format!("--db-driver={driver}"))
        .arg(format!("--{driver}-host={host}"))
        .arg(format!("--{driver}-port={}", url.port))
        .arg(format!("--{driver}-user={}", url.login.user))
        .arg(format!("--{driver}-password={}", url.login.password))
        .arg(format!("--{driver}-db={}", url.database))
        .arg(format!("--threads={clients}"))
        .arg(format!("--time={seconds}"))
        .args(["--events=0", "--percentile=99", "run"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Failure::because(format!("{PROGRAM} cannot be started: {e}")))?;
    let mut child = Ends(child);
    let deadline = Instant::now() + Duration::from_secs(seconds) + SLACK;
    // It writes some kilobytes in all, which a pipe takes.
    while child.0.try_wait()?.is_none() {
        interrupt.check()?;
        if Instant::now() > deadline {
            return Err(Failure::because(format!(
                "{PROGRAM} has not ended {SLACK:.0?} after its time"
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut said = String::new();
    if let Some(mut output) = child.0.stdout.take() {
        output.read_to_string(&mut said)?;
    }
    Ok(said)
}

/// Does not outlive the lab.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Of what it says at the end.
fn figures(said: &str) -> Result<Found, Failure> {
    let number = |label: &str| -> Option<f64> {
        let line = said
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(label))?;
        line.split_whitespace().next()?.trim_end_matches('s').parse().ok()
    };
    let (Some(transactions), Some(seconds)) = (number("transactions:"), number("total time:")) else {
        let fatal = said.lines().find(|line| line.contains("FATAL"));
        let why = fatal.or(said.lines().last()).unwrap_or("nothing");
        return Err(Failure::because(format!("{PROGRAM} says: {why}")));
    };
    if transactions == 0.0 {
        return Err(Failure::because(format!(
            "no transaction has ended within {seconds} s"
        )));
    }
    let mut values = BTreeMap::from([
        ("transactions".to_owned(), transactions),
        ("tps".to_owned(), transactions / seconds),
    ]);
    for (name, label, times) in [
        ("p99_us", "99th percentile:", 1000.0),
        ("max_us", "max:", 1000.0),
        ("retried", "ignored errors:", 1.0),
    ] {
        if let Some(value) = number(label) {
            values.insert(name.to_owned(), value * times);
        }
    }
    Ok(Found {
        values,
        ..Found::default()
    })
}

/// The isolation level of new sessions: the server's, or the database's of PostgreSQL. It is put back.
struct GlobalLevel {
    server: Server,
    before: Option<String>,
}

impl GlobalLevel {
    fn set(server: &Server, level: Level) -> Result<GlobalLevel, Failure> {
        let mut client = server.connect()?;
        let rows = client.query(global_level(server.dialect()))?;
        let value = rows.first().and_then(|row| row.last()?.as_deref());
        let before = value.map(|value| String::from_utf8_lossy(value).replace('-', " "));
        client
            .query(&set_global(server.url(), &level.to_string()))
            .map_err(|e| Failure::because(format!("sysbench needs the global isolation level set: {e}")))?;
        Ok(GlobalLevel {
            server: server.clone(),
            before,
        })
    }
}

impl GlobalLevel {
    /// The statement that does. A level that was not set is set no more; every server of MySQL's kind has one.
    fn put_back(&self) -> Option<String> {
        let url = self.server.url();
        match (&self.before, url.dialect) {
            (Some(before), _) => Some(set_global(url, before)),
            (None, Dialect::MySql) => None,
            (None, Dialect::Postgres) => Some(format!(
                "ALTER DATABASE {} RESET default_transaction_isolation",
                url.dialect.quoted(&url.database)
            )),
        }
    }
}

impl Drop for GlobalLevel {
    fn drop(&mut self) {
        if let (Some(sql), Ok(mut client)) = (self.put_back(), self.server.connect()) {
            let _ = client.query(&sql);
        }
    }
}

/// What is set, in the last column.
fn global_level(dialect: Dialect) -> &'static str {
    match dialect {
        // The server has one of the two, by its age.
        Dialect::MySql => {
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')"
        }
        Dialect::Postgres => {
            "SELECT split_part(setting, '=', 2) FROM pg_db_role_setting, unnest(setconfig) AS setting \
             WHERE setrole = 0 AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) \
             AND setting LIKE 'default_transaction_isolation=%'"
        }
    }
}

fn set_global(url: &Url, level: &str) -> String {
    match url.dialect {
        Dialect::MySql => format!("SET GLOBAL TRANSACTION ISOLATION LEVEL {level}"),
        Dialect::Postgres => format!(
            "ALTER DATABASE {} SET default_transaction_isolation = '{}'",
            url.dialect.quoted(&url.database),
            level.to_lowercase()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tables::Tables;

    const SAID: &str = "\
SQL statistics:
    transactions:                        5000   (2488.77 per sec.)
    ignored errors:                      3      (1.49 per sec.)
General statistics:
    total time:                          2.0000s
Latency (ms):
         max:                                   11.50
         99th percentile:                        1.25
";

    #[test]
    fn its_figures_are_read() {
        let values = figures(SAID).unwrap().values;
        let of = |name: &str| values[name];
        assert_eq!(
            (of("tps"), of("p99_us"), of("max_us"), of("retried")),
            (2500.0, 1250.0, 11500.0, 3.0)
        );
        let why = figures("a\nFATAL: no connection\nb\n").err().unwrap().to_string();
        assert!(why.contains("FATAL: no connection"), "{why}");
        assert!(figures("").is_err());
    }

    #[test]
    fn it_says_what_it_cannot_do() {
        let tables = Tables { count: 2, rows: 10 };
        let spec = |workload| Spec {
            workload,
            clients: 1,
            level: None,
            pace: Pace::Closed,
            work: Duration::ZERO,
        };
        let words = script(&spec(Workload::Oltp(Oltp {
            prepared: false,
            ..Oltp::read_only(tables, 1000)
        })));
        let expected = "oltp_read_only --tables=2 --table-size=10 --rand-type=uniform --db-ps-mode=disable --point-selects=10 --range-selects=on --range-size=1000";
        assert_eq!(words.unwrap().join(" "), expected);
        let points = script(&spec(Workload::Oltp(Oltp {
            ranges: None,
            ..Oltp::read_write(tables, 1)
        })));
        assert!(points.unwrap().contains(&"--range-selects=off".to_owned()));
        assert!(script(&spec(Workload::Oltp(Oltp::read_write(tables, 4)))).is_err());
        assert!(script(&spec(Workload::HotRow)).is_err());
        assert!(script(&spec(Workload::ThreePoints(tables))).is_err());
    }
}
