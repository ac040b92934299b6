//! What the studies found, in figures: to stand beside what is measured here, and to be told from it.
//!
//! These are the only figures of a report that come from elsewhere. Those of a study that gives a curve are drawn, on axes of their own:
//! its machine had another number of processors, and the server was another one.

use crate::report::chart::{Below, Chart, Curve, Point};
use crate::report::figures::kind;

/// A study's figures.
pub(super) struct Study {
    /// What was measured, and where.
    pub(super) setting: &'static str,
    /// Figures by what they are.
    pub(super) figures: &'static [(&'static str, &'static str)],
    /// Transactions per second by clients and level.
    curves: &'static [(&'static str, &'static [f64])],
}

const CLIENTS_2010: [&str; 10] = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512"];

/// The study of an experiment; `None` if none gives figures.
pub(super) fn study(experiment: &str) -> Option<&'static Study> {
    Some(match experiment {
        "clients-2010" => &Study {
            setting: "Mark Callaghan, 2010: MySQL 5.0.84, 8 cores, sysbench oltp read-only, 1 table of 2,000,000 rows, ranges of 1,000",
            figures: &[],
            curves: &[
                (
                    "RR",
                    &[
                        186.0, 356.0, 649.0, 1137.0, 1130.0, 1106.0, 1074.0, 1066.0, 1039.0, 1004.0,
                    ],
                ),
                (
                    "RC",
                    &[
                        177.0, 335.0, 641.0, 1111.0, 1094.0, 1075.0, 1046.0, 1011.0, 957.0, 886.0,
                    ],
                ),
            ],
        },
        "ratio-2015" => &Study {
            setting: "Dimitri Kravtchuk, 2015: MySQL 5.7, 40 cores, 64 clients, 32 tables of 10,000,000 rows",
            figures: &[
                ("RC and RU against RR, points and ranges", "some throughput lost"),
                (
                    "RC and RU against RR, ten point selects",
                    "about half the throughput lost",
                ),
            ],
            curves: &[],
        },
        "hot-row-2015" => &Study {
            setting: "Peter Zaitsev, 2015: one hot row, one client, a snapshot held for 20 s",
            figures: &[
                (
                    "updates per second, before and while the snapshot is held",
                    "15,000 → 60",
                ),
                ("buffer pool reads per update", "65 → 37,000"),
                ("longest history list", "280,000"),
            ],
            curves: &[],
        },
        "three-points-79005" => &Study {
            setting: "zhai weixiang, bug #79005, 2015–16: MySQL 5.7, 20 tables of 1,000,000 rows, 128 clients, RC",
            figures: &[
                (
                    "waits for trx_sys_mutex, and the mean of one",
                    "16.1 million, 6.3 µs",
                ),
                (
                    "… with the view used again where nothing had committed",
                    "5.0 million",
                ),
                ("transactions per second, before and with that", "37,700 → 38,300"),
            ],
            curves: &[],
        },
        "clients-2017" => &Study {
            setting: "Vadim Tkachenko, 2017: MySQL 5.6 and 5.7 and Percona Server, 72 cores, 1 to 1,024 clients",
            figures: &[
                ("clients beyond which RC grew no more, 5.6 and 5.7", "16 and 36"),
                ("RC against RR with more clients", "about a third"),
            ],
            curves: &[],
        },
        "tpcc-2015" => &Study {
            setting: "Dimitri Kravtchuk, 2015: MySQL 5.7, 40 cores, DBT-2 with 500 warehouses, 64 clients",
            figures: &[("RC and RU against RR", "a little throughput lost")],
            curves: &[],
        },
        "open-writers" => &Study {
            setting: "Measured by this project before the lab was there, on two cores: 8 clients beside 500 open write transactions",
            figures: &[
                ("throughput kept by MariaDB 10.11", "79 %"),
                ("throughput kept by PostgreSQL 18", "63 %"),
            ],
            curves: &[],
        },
        _ => return None,
    })
}

/// The curve of a level, if the study of an experiment gives one.
pub(crate) fn curve(experiment: &str, level: &str) -> Option<&'static [f64]> {
    let curves = study(experiment)?.curves.iter();
    curves
        .copied()
        .find_map(|(of, values)| (of == level).then_some(values))
}

impl Study {
    /// Its plot, if it gives a curve.
    pub(super) fn chart(&self) -> Option<Chart> {
        let curve = |(level, values): &(&str, &[f64])| Curve {
            name: (*level).to_owned(),
            kind: kind(level),
            points: (0..)
                .zip(*values)
                .map(|(x, &y)| Point {
                    x: f64::from(x),
                    y,
                    range: None,
                })
                .collect(),
        };
        (!self.curves.is_empty()).then(|| Chart {
            title: "literature: MySQL 5.0, 8 cores".to_owned(),
            below: Below::Names(CLIENTS_2010.map(str::to_owned).to_vec()),
            below_label: "clients",
            left_label: "transactions per second",
            curves: self.curves.iter().map(curve).collect(),
            bands: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::catalogue::EXPERIMENTS;

    #[test]
    fn curves_have_all_their_points() {
        for study in EXPERIMENTS.iter().filter_map(|experiment| study(experiment.name)) {
            assert!(!study.figures.is_empty() || study.chart().is_some());
            assert!(
                study
                    .curves
                    .iter()
                    .all(|(_, values)| values.len() == CLIENTS_2010.len())
            );
        }
    }
}
