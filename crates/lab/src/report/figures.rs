//! Which plots an experiment has, and their points: what the study would have drawn, once for each server.
//!
//! A server has its plot to itself. The studies ask what a level or a snapshot does to one server; between servers figures may differ
//! by more than that, and the smaller one's shape would be lost at the bottom of a common plot.

use crate::level::Level;
use crate::report::chart::{Below, Chart, Curve, Point};
use crate::results::CellLine;
use crate::stats::Sample;
use crate::table::{Table, part};

/// The plots of an experiment, in the order in which they are shown.
pub(super) fn charts(experiment: &str, table: &Table<'_>) -> Vec<Chart> {
    let throughput = |below: &'static str, label: &'static str| Throughput {
        below,
        label,
        only: None,
        title: "",
    };
    let mut charts = Vec::new();
    for server in &table.servers {
        match experiment {
            "clients-2010" | "clients-2017" | "three-points-79005" => {
                charts.push(throughput("clients", "clients").chart(table, server));
            }
            "ratio-2015" => {
                for (reads, title) in [("classic", ": points and ranges"), ("points", ": ten points")] {
                    let shape = Throughput {
                        only: Some(("reads", reads)),
                        title,
                        ..throughput("ratio", "one transaction in … writes")
                    };
                    charts.push(shape.chart(table, server));
                }
            }
            "open-writers" => {
                charts.push(throughput("open", "open transactions that have written").chart(table, server));
            }
            "hot-row-2015" => charts.extend(beside_a_snapshot(
                table,
                server,
                "updates_per_s",
                "updates per second",
            )),
            "tpcc-2015" => charts.push(throughput("level", "isolation level").chart(table, server)),
            "queue" => charts.extend(beside_a_snapshot(
                table,
                server,
                "taken_per_s",
                "taken per second",
            )),
            _ => {}
        }
    }
    charts.retain(|chart| !chart.curves.is_empty());
    charts
}

/// The colour and mark of a level, the same in all plots.
pub(super) fn kind(level: &str) -> usize {
    [
        Level::RepeatableRead,
        Level::ReadCommitted,
        Level::ReadUncommitted,
        Level::Serializable,
    ]
    .iter()
    .position(|of| of.short() == level)
    .unwrap_or(Level::ALL.len())
}

/// Transactions per second over one part of the cells' labels; a curve for each rest of the label.
struct Throughput {
    below: &'static str,
    label: &'static str,
    /// Cells of this value alone.
    only: Option<(&'static str, &'static str)>,
    title: &'static str,
}

impl Throughput {
    fn chart(&self, table: &Table<'_>, server: &str) -> Chart {
        let is_wanted = |cell: &&&str| {
            self.only
                .is_none_or(|(name, value)| part(cell, name) == Some(value))
        };
        let cells: Vec<(&str, Sample)> = table
            .cells
            .iter()
            .filter(is_wanted)
            .filter_map(|cell| Some((*cell, table.sample(cell, server, "tps")?)))
            .collect();
        let mut names: Vec<&str> = cells
            .iter()
            .filter_map(|(cell, _)| part(cell, self.below))
            .collect();
        // Levels from the weakest to the strongest, numbers from the least to the greatest.
        names.sort_by_key(|name| match Level::of_short(name) {
            Some(level) => level as u64,
            None => name.parse().unwrap_or(u64::MAX),
        });
        names.dedup();
        let mut curves: Vec<Curve> = Vec::new();
        for (cell, sample) in &cells {
            let Some(x) = names.iter().position(|name| part(cell, self.below) == Some(name)) else {
                continue;
            };
            let name = self.curve_name(cell, &cells);
            let at = curves
                .iter()
                .position(|curve| curve.name == name)
                .unwrap_or_else(|| {
                    let kind = match kind(&name) {
                        kind if kind < Level::ALL.len() => kind,
                        _ => curves.len(),
                    };
                    curves.push(Curve {
                        name,
                        kind,
                        points: Vec::new(),
                    });
                    curves.len() - 1
                });
            curves[at].points.push(point(x as f64, sample));
        }
        for curve in &mut curves {
            curve.points.sort_by(|one, other| one.x.total_cmp(&other.x));
        }
        Chart {
            title: format!("{server}{}", self.title),
            below: Below::Names(names.iter().map(|name| (*name).to_owned()).collect()),
            below_label: self.label,
            left_label: "transactions per second",
            curves,
            bands: Vec::new(),
        }
    }

    /// What a cell's label says beside the place below, as far as cells differ in it.
    fn curve_name(&self, cell: &str, cells: &[(&str, Sample)]) -> String {
        let differs = |name: &str| {
            cells
                .iter()
                .any(|(other, _)| part(other, name) != part(cell, name))
        };
        let parts: Vec<&str> = cell
            .split(' ')
            .filter_map(|word| word.split_once('='))
            .filter(|(name, _)| *name != self.below && (*name == "level" || differs(name)))
            .map(|(name, value)| {
                if name == "level" {
                    value
                } else {
                    name_of(cell, name)
                }
            })
            .collect();
        parts.join(" ")
    }
}

/// The whole word of a label, as `clients=16`.
fn name_of<'a>(cell: &'a str, name: &str) -> &'a str {
    let mut words = cell.split(' ');
    words
        .find(|word| word.split_once('=').is_some_and(|(of, _)| of == name))
        .unwrap_or_default()
}

pub(super) fn point(x: f64, sample: &Sample) -> Point {
    Point {
        x,
        y: sample.median,
        range: (sample.len > 1).then_some((sample.min, sample.max)),
    }
}

/// A rate, and what the server gives as its history meanwhile.
fn beside_a_snapshot(table: &Table<'_>, server: &str, series: &str, label: &'static str) -> [Chart; 2] {
    let history = over_time(table, server, "history", "length of the history");
    [
        over_time(table, server, series, label),
        Chart {
            title: format!("{server}, history"),
            ..history
        },
    ]
}

/// One figure second by second: a curve for each repeat, a colour for each cell.
fn over_time(table: &Table<'_>, server: &str, series: &str, label: &'static str) -> Chart {
    let mut chart = Chart {
        title: server.to_owned(),
        below: Below::Time,
        below_label: "seconds",
        left_label: label,
        curves: Vec::new(),
        bands: Vec::new(),
    };
    for (kind, cell) in table.cells.iter().enumerate() {
        let mut name = (*cell).to_owned();
        for line in table.lines(cell, server) {
            let Some((at, seen)) = line.found.series.get("at_s").zip(line.found.series.get(series)) else {
                continue;
            };
            if chart.curves.is_empty() {
                chart.bands = held(line, at);
            }
            // Where a server gives no history, it is -1.
            let points = at.iter().zip(seen).filter(|(_, y)| **y >= 0.0);
            let points: Vec<Point> = points.map(|(&x, &y)| Point { x, y, range: None }).collect();
            if !points.is_empty() {
                chart.curves.push(Curve {
                    name: std::mem::take(&mut name),
                    kind,
                    points,
                });
            }
        }
    }
    chart
}

/// The times in which a snapshot was held. A point of a time line is about the time since the one before.
fn held(line: &CellLine, at: &[f64]) -> Vec<(f64, f64)> {
    let mut bands: Vec<(f64, f64)> = Vec::new();
    let Some(held) = line.found.series.get("held") else {
        return bands;
    };
    let begins = std::iter::once(&0.0).chain(at);
    for ((&begin, &end), _) in begins.zip(at).zip(held).filter(|(_, held)| **held > 0.0) {
        match bands.last_mut() {
            Some(last) if last.1 == begin => last.1 = end,
            _ => bands.push((begin, end)),
        }
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{lines, timeline};
    use crate::results;

    #[test]
    fn a_curve_is_a_level_and_a_plot_a_server() {
        let lines = lines();
        let lines = results::cells(&lines);
        let charts = charts("clients-2017", &Table::new(&lines, "clients-2017", "quick"));
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["one", "two"], "the server that died has none");
        let names: Vec<&str> = charts[0].curves.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["RR", "RC"]);
        assert_eq!(
            charts[0].below,
            Below::Names(vec!["1".to_owned(), "16".to_owned()])
        );
        let point = charts[0].curves[1].points[1];
        assert_eq!(
            (point.x, point.y, point.range),
            (1.0, 500.0, Some((490.0, 510.0)))
        );
    }

    #[test]
    fn snapshots_are_bands() {
        let lines = [timeline()];
        let lines = results::cells(&lines);
        let charts = charts("hot-row-2015", &Table::new(&lines, "hot-row-2015", "quick"));
        assert_eq!(charts[0].bands, [(1.0, 3.0), (4.0, 5.0)]);
        assert_eq!(charts[0].curves[0].points.len(), 5);
        assert_eq!(charts[1].title, "one, history");
        assert_eq!(charts[1].curves[0].points[2].y, 900.0);
        assert_eq!(charts[1].curves[0].points.len(), 4, "once it gave none");
    }
}
