//! All experiments: the study, its question, what is done here, and what the study found.

use crate::experiments::{Cell, Experiment, Scale, Work, spec};
use crate::level::Level;
use crate::load::Workload;
use crate::load::oltp::Oltp;
use crate::load::tables::Tables;
use crate::load::tpcc::schema::Size;

/// In the order of the studies.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "clients-2010",
        study: "Callaghan, 2010, MySQL 5.0 on 8 cores",
        question: "What does READ COMMITTED cost against REPEATABLE READ as clients become more, when all of them only read?",
        workload: "oltp_read_only with ranges of 1,000 rows, statements sent as texts, one table, ids uniform; RR and RC, 1 to 512 clients. \
                   The study's table had 2,000,000 rows, as the full run's; the quick one's has 100,000.",
        found: "Both grow to 8 clients (1,137 tps RR, 1,111 RC) and sink slowly to 512 (1,004 and 886): RC is 1 to 6 % behind up to 128 clients and \
                12 % at 512. A read view copies the list of open transactions under the mutex that everything shares, once per \
                transaction at RR and once per statement at RC.",
        cells: clients_2010,
    },
    Experiment {
        name: "ratio-2015",
        study: "Kravtchuk, 2015, MySQL 5.7 on 40 cores",
        question: "What do the weaker levels cost by the share of transactions that write, with ranges and with point selects alone?",
        workload: "oltp_read_write, prepared, one transaction in 128, 16, 4, 2 or 1 writes; the same with ten point selects in place of all reads \
                   (psel). RR, RC and RU, 64 clients in the full run, 16 in the quick one; 8 tables of 200,000 rows or 4 of 25,000 \
                   (the study's: 32 of 10,000,000).",
        found: "RC and RU lose some of the throughput with ranges, and half of it with point selects, to waits for the mutex of the \
                list of transactions. The advice was: RR for short statements, RC for long ones over data that others change.",
        cells: ratio_2015,
    },
    Experiment {
        name: "hot-row-2015",
        study: "Zaitsev, 2015",
        question: "What does a snapshot that is held do to the updates of one hot row?",
        workload: "One row of a small table, updated by key as fast as it goes, by one client, in the full run by 16, too; a snapshot at RR is opened, reads the row, \
                   and is held (60 s, quick 5 s) and reads it again, then a second one, which then reads it over and over (every 20 ms or as often as it goes) for as long again. Rate and \
                   history by the second.",
        found: "The updates fell from 15,000 to 60 per second, and each came to read 37,000 pages where it had read 65; the history \
                list was 280,000 long, and no view of the server said who waited for what.",
        cells: hot_row_2015,
    },
    Experiment {
        name: "three-points-79005",
        study: "zhai weixiang, 2015, bug #79005, 5.7",
        question: "What do short transactions wait for at READ COMMITTED?",
        workload: "BEGIN, three rows by primary key, each of a table drawn anew, COMMIT, as texts; RC, and RR beside it; 1, 16 and 128 clients (quick: 1 and \
                   16); 8 tables of 200,000 rows or 4 of 25,000 (the study's: 20 of 1,000,000). With the waits by event, if the server counts them.",
        found: "With 128 clients the mutex of the list of transactions was what threads waited for most: 16.1 million waits of 6.3 µs. \
                Using a view again when nothing had committed in between left 5.0 million, and 38,300 tps in place of 37,700.",
        cells: three_points,
    },
    Experiment {
        name: "clients-2017",
        study: "Tkachenko, 2017, MySQL 5.6 and 5.7 and Percona Server on 72 cores",
        question: "Up to how many clients does each level scale, when transactions read and write?",
        workload: "oltp_read_write, prepared; RR and RC, 1 to 1,024 clients (quick: 1 to 64); 8 tables of 200,000 rows or 4 of 25,000.",
        found: "RC grew no more beyond 16 clients in 5.6 and 36 in 5.7, and then stayed at a third of what RR did.",
        cells: clients_2017,
    },
    Experiment {
        name: "open-writers",
        study: "the cause that the studies of 2010, 2015 and 2017 share",
        question: "Does a statement's price depend on how many transactions are open that have written?",
        workload: "The transactions of three-points-79005 at RC and RR by 8 clients, beside 0, 100 and 500 transactions (full: 0, 10, 100 and 1,000) that have each \
                   inserted a row and stay open.",
        found: "Where a view is a copy of the list of open transactions, it grows with the list: MariaDB 10.11 kept 79 % of its throughput beside \
                500, PostgreSQL 18 63 %, on two cores.",
        cells: open_writers,
    },
    Experiment {
        name: "tpcc-2015",
        study: "Kravtchuk, 2015, MySQL 5.7 on 40 cores; TPC-C, 2010",
        question: "What does each level cost TPC-C's transactions, how many fail, and is the data right afterwards?",
        workload: "The five transactions of TPC-C as DBT-2 runs them, without think times, statements sent as texts, reads locking where a change follows; \
                   RU, RC, RR and SERIALIZABLE; 16 and 64 clients on 10 warehouses (quick: 8 on 2 small ones; the study's: 500 warehouses). \
                   A transaction that meets a deadlock or a lock wait timeout is tried again. Afterwards the twelve consistency conditions \
                   are checked.",
        found: "RC and RU lost a little against RR on DBT-2, less than with sysbench's shorter statements.",
        cells: tpcc_2015,
    },
    Experiment {
        name: "queue",
        study: "a known weakness of multi-version engines",
        question: "What does a snapshot that is held do to a queue in a table?",
        workload: "8 clients insert messages, 8 take the first by SELECT … ORDER BY id LIMIT 1 FOR UPDATE and DELETE, with and without SKIP LOCKED, 5,000 messages \
                   at the beginning; a snapshot at RR is held for 120 s (quick: 6 s). Counted are messages taken.",
        found: "The deleted rows stay for the snapshot's sake at the very end where consumers look, and each look passes over all of them: \
                the rate falls the longer the snapshot is held.",
        cells: queue,
    },
    Experiment {
        name: "meaning",
        study: "Berenson et al., 1995; Adya, 1999; Kleppmann's Hermitage",
        question: "What does each level let happen, and is it what the documentation says?",
        workload: "Seven anomalies, from dirty write to write skew, each a script of two sessions on two rows, at each of the four levels.",
        found: "InnoDB's REPEATABLE READ reads one snapshot, yet writes to the present state: updates can be lost and writes can skew there, and \
                only SERIALIZABLE rules them out.",
        cells: meaning,
    },
];

/// The one of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

const QUICK: Tables = Tables {
    count: 4,
    rows: 25_000,
};
const FULL: Tables = Tables {
    count: 8,
    rows: 200_000,
};
const RR_RC: [Level; 2] = [Level::RepeatableRead, Level::ReadCommitted];

/// A cell for each level and number of clients; levels take turns.
fn by_clients(clients: &[usize], workload: impl Fn() -> Workload) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &clients in clients {
        for level in RR_RC {
            let label = format!("clients={clients} level={}", level.short());
            cells.push(Cell::load(label, workload(), clients, level));
        }
    }
    cells
}

fn clients_2010(scale: &Scale) -> Vec<Cell> {
    let one = |rows| Tables { count: 1, rows };
    let tables = scale.tables(one(100_000), one(2_000_000));
    let clients = scale.clients(&[1, 4, 16, 64], &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    by_clients(&clients, || {
        Workload::Oltp(Oltp {
            prepared: false,
            ..Oltp::read_only(tables, 1000)
        })
    })
}

fn ratio_2015(scale: &Scale) -> Vec<Cell> {
    let tables = scale.tables(QUICK, FULL);
    let ratios: &[u32] = scale.pick(&[128, 4, 1], &[128, 16, 4, 2, 1]);
    let mut cells = Vec::new();
    for clients in scale.clients(&[16], &[64]) {
        for psel in [false, true] {
            for &ratio in ratios {
                for level in [
                    Level::RepeatableRead,
                    Level::ReadCommitted,
                    Level::ReadUncommitted,
                ] {
                    let mut oltp = Oltp::read_write(tables, ratio);
                    if psel {
                        oltp.ranges = None;
                    }
                    let reads = if psel { "points" } else { "classic" };
                    let label = format!(
                        "reads={reads} ratio={ratio} clients={clients} level={}",
                        level.short()
                    );
                    cells.push(Cell::load(label, Workload::Oltp(oltp), clients, level));
                }
            }
        }
    }
    cells
}

fn hot_row_2015(scale: &Scale) -> Vec<Cell> {
    let clients = scale.clients(&[1], &[1, 16]).into_iter();
    clients
        .map(|clients| Cell {
            label: format!("clients={clients}"),
            work: Work::HotRow { clients },
        })
        .collect()
}

fn three_points(scale: &Scale) -> Vec<Cell> {
    let tables = scale.tables(QUICK, FULL);
    let clients = scale.clients(&[1, 16], &[1, 16, 128]);
    let mut cells = by_clients(&clients, || Workload::ThreePoints(tables));
    for cell in &mut cells {
        if let Work::Load(spec) = &cell.work {
            cell.work = Work::LoadWithWaits(spec.clone());
        }
    }
    cells
}

fn clients_2017(scale: &Scale) -> Vec<Cell> {
    let tables = scale.tables(QUICK, FULL);
    let clients = scale.clients(&[1, 16, 64], &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
    by_clients(&clients, || Workload::Oltp(Oltp::read_write(tables, 1)))
}

fn open_writers(scale: &Scale) -> Vec<Cell> {
    let tables = scale.tables(QUICK, FULL);
    let counts: &[usize] = scale.pick(&[0, 100, 500], &[0, 10, 100, 1000]);
    let mut cells = Vec::new();
    for clients in scale.clients(&[8], &[8]) {
        for &count in counts {
            for level in RR_RC {
                let spec = spec(Workload::ThreePoints(tables), clients, level);
                cells.push(Cell {
                    label: format!("open={count} clients={clients} level={}", level.short()),
                    work: Work::OpenWriters(spec, count),
                });
            }
        }
    }
    cells
}

fn tpcc_2015(scale: &Scale) -> Vec<Cell> {
    let size = scale.pick(Size::quick(2), Size::specified(10));
    let mut cells = Vec::new();
    for clients in scale.clients(&[8], &[16, 64]) {
        for level in Level::ALL {
            cells.push(Cell {
                label: format!("clients={clients} level={}", level.short()),
                work: Work::Tpcc(spec(Workload::Tpcc(size), clients, level), size),
            });
        }
    }
    cells
}

fn queue(_: &Scale) -> Vec<Cell> {
    [false, true]
        .map(|skip_locked| Cell {
            label: format!("skip_locked={}", if skip_locked { "on" } else { "off" }),
            work: Work::Queue { skip_locked },
        })
        .to_vec()
}

fn meaning(_: &Scale) -> Vec<Cell> {
    Level::ALL
        .map(|level| Cell {
            label: format!("level={}", level.short()),
            work: Work::Meaning(level),
        })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_labels_are_unique() {
        let names: BTreeSet<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        assert_eq!(names.len(), EXPERIMENTS.len());
        for experiment in EXPERIMENTS {
            for scale in [Scale::quick(), Scale::full()] {
                let cells = (experiment.cells)(&scale);
                let labels: BTreeSet<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
                assert_eq!(labels.len(), cells.len(), "{}", experiment.name);
            }
        }
    }

    /// All experiments on four servers within half an hour, tables and connections not counted.
    #[test]
    fn a_quick_run_is_quick() {
        let scale = Scale::quick();
        let cells = EXPERIMENTS
            .iter()
            .flat_map(|experiment| (experiment.cells)(&scale));
        let once: f64 = cells.map(|cell| cell.expected(&scale).as_secs_f64()).sum();
        let all = once * f64::from(scale.repeats) * 4.0;
        assert!(all < 27.0 * 60.0, "{all} s");
    }
}
