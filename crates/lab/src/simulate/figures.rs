//! Service times: what the simulator is fed with.
//!
//! ```text
//!  results of clients-2010, clients-2017, open-writers on servers that have the exhibits' names
//!                  processor time per transaction at RR, of server and client: the least of the repeats, since other work only adds
//!                  RC ÷ RR, repeat by repeat: what the simulator is checked against
//!  the engine's benchmark `views`, exhibit by exhibit
//!                  the price of a view, by the number of open transactions  →  a line through them, less that of the tide
//! ```
//!
//! A view takes less than a microsecond of a transaction of a hundred, so its price is measured where nothing else is, in the engine. Both are in the
//! program as they were measured (`recorded.json`; the tide's price is that of `pruning_off`, whose view it is); results that the reader has measured take the place of the former.

use super::books::{EXHIBITS, Price};
use super::hardware;
use crate::results::{self, Line};
use crate::stats::Sample;
use crate::table::{Table, part};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const RECORDED: &str = include_str!("recorded.json");
/// The exhibit that all others are compared with.
const TIDE: &str = "tide";
/// A latch that nobody else wants is taken and released in no less.
const LATCH_NS: f64 = 20.0;

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    /// Where.
    pub(super) machine: String,
    pub(super) cores: usize,
    pub(super) line_ns: f64,
    pub(super) switch_ns: f64,
    pub(super) exhibits: BTreeMap<String, OfExhibit>,
}

/// One exhibit's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OfExhibit {
    /// The price of a view by open transactions, nanoseconds: opened and closed, with the exhibit open.
    pub(super) views: Vec<(f64, f64)>,
    /// Processor time per transaction by experiment.
    pub(super) demands: BTreeMap<String, Demand>,
    /// What the simulator is checked against.
    pub(super) ratios: Vec<Ratio>,
}

/// Processor time of a transaction at RR, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Demand {
    pub(super) server_us: f64,
    pub(super) client_us: f64,
}

/// RC ÷ RR in transactions per second: the least, the median and the greatest of the repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ratio {
    pub(super) experiment: String,
    pub(super) clients: usize,
    pub(super) open: usize,
    pub(super) rc_by_rr: [f64; 3],
}

impl Figures {
    /// Those in the program.
    pub(super) fn recorded() -> Result<Figures, String> {
        serde_json::from_str(RECORDED).map_err(|e| format!("the recorded figures cannot be read: {e}"))
    }

    /// Those of results, and of this machine; prices of views are the recorded ones.
    pub(super) fn of(lines: &[Line]) -> Result<Figures, String> {
        let recorded = Figures::recorded()?;
        let cells = results::cells(lines);
        let Some(scale) = cells.iter().map(|cell| cell.key.scale.as_str()).next() else {
            return Err("there is nothing in the results to simulate with".to_owned());
        };
        let tables = ["open-writers", "clients-2010", "clients-2017"]
            .map(|experiment| (experiment, Table::new(&cells, experiment, scale)));
        let exhibits = EXHIBITS
            .iter()
            .filter_map(|exhibit| {
                let views = recorded.exhibits.get(exhibit.name)?.views.clone();
                let of = OfExhibit::of(&tables, exhibit.name, views);
                (!of.demands.is_empty()).then(|| (exhibit.name.to_owned(), of))
            })
            .collect();
        let server = lines.iter().find_map(|line| match line {
            Line::Server(server) => Some(server),
            Line::Cell(_) => None,
        });
        Ok(Figures {
            machine: server.map_or_else(String::new, |server| {
                format!("{} × {}", server.cpus, server.cpu_model)
            }),
            cores: server.map_or(1, |server| server.cpus),
            line_ns: hardware::line_ns().map_err(|failure| failure.to_string())?,
            switch_ns: hardware::switch_ns().map_err(|failure| failure.to_string())?,
            exhibits,
        })
    }

    /// An exhibit's figures.
    pub(super) fn exhibit(&self, name: &str) -> Result<&OfExhibit, String> {
        let of = self.exhibits.get(name);
        of.ok_or_else(|| {
            format!("the results have no open-writers, clients-2010 and clients-2017 of a server '{name}'")
        })
    }

    /// An exhibit's price of a view.
    pub(super) fn price(&self, name: &str) -> Result<Price, String> {
        let tide = self.exhibit(TIDE)?.line()?.0.max(0.0);
        let (at_none, by_open) = self.exhibit(name)?.line()?;
        Ok(Price {
            outside_ns: tide,
            view_ns: (at_none - tide).max(if name == TIDE { 0.0 } else { LATCH_NS }),
            entry_ns: by_open.max(0.0),
        })
    }

    /// An exhibit's processor time of an experiment's transactions, without their view.
    pub(super) fn demand(&self, name: &str, experiment: &str) -> Result<Demand, String> {
        let price = self.price(name)?;
        let demand = self.exhibit(name)?.demands.get(experiment);
        let demand =
            demand.ok_or_else(|| format!("the results have no {experiment} of a server '{name}'"))?;
        Ok(Demand {
            server_us: (demand.server_us - (price.outside_ns + price.view_ns) / 1e3).max(1.0),
            ..*demand
        })
    }
}

fn number(cell: &str, name: &str) -> usize {
    part(cell, name).and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// The same cell at RC.
fn at_rc(cell: &str) -> String {
    cell.replace("level=RR", "level=RC")
}

impl OfExhibit {
    fn of(tables: &[(&str, Table<'_>)], server: &str, views: Vec<(f64, f64)>) -> OfExhibit {
        let mut of = OfExhibit {
            views,
            ..OfExhibit::default()
        };
        for (experiment, table) in tables {
            let at_rr: Vec<&str> = table
                .cells
                .iter()
                .copied()
                .filter(|cell| {
                    part(cell, "level") == Some("RR") && table.sample(cell, server, "tps").is_some()
                })
                .collect();
            for cell in &at_rr {
                of.put_cell(experiment, table, server, cell);
            }
            let least = |cell: &str, value: &str| Some(table.sample(cell, server, value)?.min);
            // Beside nobody, with as many clients as there are.
            let busiest = at_rr
                .iter()
                .filter(|cell| number(cell, "open") == 0)
                .max_by_key(|cell| number(cell, "clients"));
            if let Some(cell) = busiest
                && let (Some(server_us), Some(client_us)) =
                    (least(cell, "server_cpu_us"), least(cell, "client_cpu_us"))
            {
                let demand = Demand { server_us, client_us };
                of.demands.insert((*experiment).to_owned(), demand);
            }
        }
        of
    }

    fn put_cell(&mut self, experiment: &str, table: &Table<'_>, server: &str, cell: &str) {
        let rates = |cell: &str| -> BTreeMap<u32, f64> {
            let lines = table.lines(cell, server).iter();
            lines
                .filter_map(|line| Some((line.key.repeat, *line.found.values.get("tps")?)))
                .collect()
        };
        let rc = rates(&at_rc(cell));
        let ratios: Vec<f64> = rates(cell)
            .into_iter()
            .filter_map(|(repeat, rr)| Some(rc.get(&repeat)? / rr))
            .collect();
        if let Some(sample) = Sample::of(&ratios) {
            self.ratios.push(Ratio {
                experiment: experiment.to_owned(),
                clients: number(cell, "clients"),
                open: number(cell, "open"),
                rc_by_rr: [sample.min, sample.median, sample.max],
            });
        }
    }

    /// The price of a view beside nobody, and for each open transaction: the line of least squares.
    fn line(&self) -> Result<(f64, f64), String> {
        let count = self.views.len() as f64;
        if self.views.is_empty() {
            return Err("no price of a view is recorded".to_owned());
        }
        let mean = |of: fn(&(f64, f64)) -> f64| self.views.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|view| view.0), mean(|view| view.1));
        let spread: f64 = self.views.iter().map(|view| (view.0 - x).powi(2)).sum();
        let common: f64 = self.views.iter().map(|view| (view.0 - x) * (view.1 - y)).sum();
        let slope = if spread > 0.0 { common / spread } else { 0.0 };
        // A slope below nothing is noise, and so would be what it adds at the beginning.
        Ok(match slope > 0.0 {
            true => (y - slope * x, slope),
            false => (y, 0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CellLine, Found, Key};

    fn line(experiment: &str, cell: String, server: &str, repeat: u32, values: &[(&str, f64)]) -> Line {
        Line::Cell(CellLine {
            key: Key {
                experiment: experiment.to_owned(),
                cell,
                server: server.to_owned(),
                scale: "quick".to_owned(),
                repeat,
            },
            at_unix_s: 1,
            found: Found {
                values: values
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), *value))
                    .collect(),
                ..Found::default()
            },
        })
    }

    #[test]
    fn processor_time_is_the_least_and_without_the_view() {
        let mut lines = Vec::new();
        for (server, more) in [("tide", 0.0), ("trx_sys", 1.0)] {
            for (level, tps) in [("RR", 1000.0), ("RC", 400.0)] {
                for (repeat, noise) in [(1, 0.0), (2, 7.0)] {
                    let cell = format!("open=0 clients=8 level={level}");
                    let values = [
                        ("tps", tps + noise),
                        ("server_cpu_us", 50.0 + more + noise),
                        ("client_cpu_us", 9.0),
                    ];
                    lines.push(line("open-writers", cell, server, repeat, &values));
                }
            }
        }
        let figures = Figures::of(&lines).unwrap();
        let price = figures.price("trx_sys").unwrap();
        let without = 51.0 - (price.outside_ns + price.view_ns) / 1e3;
        let demand = figures.demand("trx_sys", "open-writers").unwrap();
        assert_eq!((demand.server_us, demand.client_us), (without, 9.0));
        let ratio = &figures.exhibits["trx_sys"].ratios[0];
        assert_eq!((ratio.rc_by_rr[0], ratio.clients), (0.4, 8));
        assert!(figures.price("procarray").is_err());
        assert!(figures.demand("tide", "clients-2017").is_err());
    }

    #[test]
    fn prices_are_a_line_less_that_of_the_tide() {
        let of = |views: &[(f64, f64)]| OfExhibit {
            views: views.to_vec(),
            ..OfExhibit::default()
        };
        let exhibits = BTreeMap::from([
            ("tide".to_owned(), of(&[(0.0, 300.0), (1000.0, 299.0)])),
            (
                "trx_sys".to_owned(),
                of(&[(0.0, 400.0), (100.0, 600.0), (1000.0, 2400.0)]),
            ),
            ("cached_view".to_owned(), of(&[(0.0, 301.0)])),
        ]);
        let figures = Figures {
            machine: String::new(),
            cores: 2,
            line_ns: 1.0,
            switch_ns: 1.0,
            exhibits,
        };
        let price = |name: &str| figures.price(name).unwrap();
        assert_eq!(
            (
                price("tide").outside_ns,
                price("tide").view_ns,
                price("tide").entry_ns
            ),
            (299.5, 0.0, 0.0)
        );
        assert!(
            (price("trx_sys").view_ns - 100.5).abs() < 1e-6 && (price("trx_sys").entry_ns - 2.0).abs() < 1e-6
        );
        assert_eq!(price("cached_view").view_ns, LATCH_NS);
    }

    #[test]
    fn what_is_recorded_has_every_exhibit() {
        let figures = Figures::recorded().unwrap();
        for exhibit in &EXHIBITS {
            figures.price(exhibit.name).unwrap();
            for experiment in ["open-writers", "clients-2010", "clients-2017"] {
                figures.demand(exhibit.name, experiment).unwrap();
            }
        }
        assert!(Figures::of(&[]).is_err());
    }
}
