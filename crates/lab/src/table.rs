//! The results of one experiment at one scale as a table: a line for each cell, a column for each server, all repeats.

use crate::results::{CellLine, Finding};
use crate::stats::Sample;
use std::collections::BTreeMap;

/// The figures of one thing, cell by cell and server by server, in the order in which they were measured.
pub(crate) struct Table<'a> {
    pub(crate) cells: Vec<&'a str>,
    pub(crate) servers: Vec<&'a str>,
    /// Cell, server.
    lines: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a CellLine>>>,
}

impl<'a> Table<'a> {
    /// Of one experiment at one scale.
    pub(crate) fn new(lines: &[&'a CellLine], experiment: &str, scale: &str) -> Table<'a> {
        let mut table = Table {
            cells: Vec::new(),
            servers: Vec::new(),
            lines: BTreeMap::new(),
        };
        for line in lines {
            let key = &line.key;
            if key.experiment != experiment || key.scale != scale {
                continue;
            }
            if !table.cells.contains(&key.cell.as_str()) {
                table.cells.push(&key.cell);
            }
            if !table.servers.contains(&key.server.as_str()) {
                table.servers.push(&key.server);
            }
            let of_cell = table.lines.entry(&key.cell).or_default();
            of_cell.entry(&key.server).or_default().push(line);
        }
        table
    }

    /// All repeats.
    pub(crate) fn lines(&self, cell: &str, server: &str) -> &[&'a CellLine] {
        let of_cell = self.lines.get(cell);
        of_cell
            .and_then(|of_cell| of_cell.get(server))
            .map_or(&[], Vec::as_slice)
    }

    /// How many repeats have figures or findings.
    pub(crate) fn measured(&self, cell: &str, server: &str) -> usize {
        let lines = self.lines(cell, server).iter();
        lines.filter(|line| line.found.error.is_none()).count()
    }

    /// A figure of a cell.
    pub(crate) fn sample(&self, cell: &str, server: &str, value: &str) -> Option<Sample> {
        let lines = self.lines(cell, server).iter();
        let values: Vec<f64> = lines
            .filter_map(|line| line.found.values.get(value).copied())
            .collect();
        Sample::of(&values)
    }

    /// What was possible in a cell: once is enough.
    pub(crate) fn finding(&self, cell: &str, server: &str, name: &str) -> Option<Finding> {
        let lines = self.lines(cell, server).iter();
        let findings = lines.filter_map(|line| line.found.findings.get(name).copied());
        findings.reduce(|one, other| Finding {
            possible: one.possible || other.possible,
            ..one
        })
    }

    /// Why a cell could not be measured, if so.
    pub(crate) fn error(&self, cell: &str, server: &str) -> Option<&'a str> {
        let lines = self.lines(cell, server).iter();
        lines.filter_map(|line| line.found.error.as_deref()).next()
    }

    /// What cells have of one kind, each once.
    pub(crate) fn names(&self, of: impl Fn(&'a CellLine) -> Vec<&'a str>) -> Vec<&'a str> {
        let mut names = Vec::new();
        let lines = self.lines.values().flat_map(BTreeMap::values).flatten();
        for name in lines.flat_map(|line| of(line)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// What a cell's label says of one thing: `level=RC clients=16` has `16` of `clients`.
pub(crate) fn part<'a>(cell: &'a str, name: &str) -> Option<&'a str> {
    cell.split(' ')
        .filter_map(|word| word.split_once('='))
        .find_map(|(of, value)| (of == name).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{self, tests::cell};

    #[test]
    fn repeats_are_gathered_by_cell_and_server() {
        let lines = [cell("a", 1, 1.0), cell("b", 1, 5.0), cell("a", 2, 3.0)];
        let lines = results::cells(&lines);
        let table = Table::new(&lines, "points", "quick");
        assert_eq!((table.cells.len(), table.servers.len()), (1, 2));
        let sample = table.sample(table.cells[0], "a", "tps").unwrap();
        assert_eq!((sample.median, sample.len), (2.0, 2));
        assert!(Table::new(&lines, "points", "full").cells.is_empty());
    }

    #[test]
    fn parts_of_a_label() {
        let label = "reads=points ratio=4 clients=16 level=RC";
        assert_eq!(part(label, "ratio"), Some("4"));
        assert_eq!(part(label, "rat"), None);
        assert_eq!(part("", "level"), None);
    }
}
