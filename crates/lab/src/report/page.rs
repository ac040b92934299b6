//! The page: one file of HTML with its plots and its style in it, that asks nobody for anything and runs nothing.
//!
//! ```text
//!  title, when and where it was measured
//!  servers                     version and settings, a column each
//!  each experiment             question, plots, verdict, what the study found, who was not measured and why, all figures
//! ```

use crate::experiments::Experiment;
use crate::experiments::catalogue::find;
use crate::level::Level;
use crate::report::html::{escape, said, table};
use crate::report::literature::study;
use crate::report::{Picture, palette, verdict};
use crate::results::{Finding, Line, ServerLine};
use crate::summary::SHOWN;
use crate::table::{Table, part};
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// One experiment at one scale, with its plots.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) scale: &'a str,
    pub(super) table: Table<'a>,
    pub(super) pictures: Vec<Picture>,
}

/// A page that needs no other.
pub(crate) fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>\n{}{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n",
        palette::css()
    )
}

/// The whole page.
pub(super) fn page(lines: &[Line], sections: &[Section<'_>]) -> String {
    let mut out = String::new();
    put_measured(lines, &mut out);
    out.push_str(
        "<p class=\"muted\">A point is the median of the repeats, the bar through it runs from the least to the greatest. Behind a figure, ± is \
         half that range. Two sets of repeats differ beyond the noise if they do not touch and their medians are further apart than either \
         is wide. Figures that a study gives are marked as literature; all others were measured here.</p>\n<nav><ul>\n",
    );
    for (at, section) in sections.iter().enumerate() {
        let _ = writeln!(
            out,
            "<li><a href=\"#e{at}\">{}</a></li>",
            escape(&section.title())
        );
    }
    out.push_str("</ul></nav>\n");
    put_servers(lines, &mut out);
    for (at, section) in sections.iter().enumerate() {
        section.put(at, &mut out);
    }
    document("Isolation lab: results", &out)
}

/// Seconds since 1970 as a date.
fn date(at_unix_s: u64) -> String {
    let at = i64::try_from(at_unix_s)
        .ok()
        .and_then(|s| jiff::Timestamp::from_second(s).ok());
    at.map_or_else(
        || "at an unknown time".to_owned(),
        |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}

fn put_measured(lines: &[Line], out: &mut String) {
    let times = lines.iter().map(|line| match line {
        Line::Server(server) => server.at_unix_s,
        Line::Cell(cell) => cell.at_unix_s,
    });
    if let Some((first, last)) = times.clone().min().zip(times.max()) {
        out.push_str(&said("Measured", &format!("{} to {}.", date(first), date(last))));
    }
    let mut machines: Vec<String> = Vec::new();
    for server in servers(lines) {
        let machine = machine(server);
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    if !machines.is_empty() {
        out.push_str(&said("Machine of the lab:", &machines.join("; ")));
    }
    let _ = writeln!(
        out,
        "<p class=\"muted\">Drawn by tidemark {}.</p>",
        env!("CARGO_PKG_VERSION")
    );
}

fn servers(lines: &[Line]) -> impl Iterator<Item = &ServerLine> {
    lines.iter().filter_map(|line| match line {
        Line::Server(server) => Some(server),
        Line::Cell(_) => None,
    })
}

fn machine(server: &ServerLine) -> String {
    let mut text = format!("{} × {}", server.cpus, server.cpu_model);
    if server.memory_mib > 0 {
        let _ = write!(text, ", {} MiB of memory", server.memory_mib);
    }
    if !server.kernel.is_empty() {
        let _ = write!(text, ", {}", server.kernel);
    }
    text
}

/// A column for each server and each set of settings that it had.
fn put_servers(lines: &[Line], out: &mut String) {
    let mut seen: Vec<&ServerLine> = Vec::new();
    for server in servers(lines) {
        let is_known = |other: &&ServerLine| other.name == server.name && other.settings == server.settings;
        if !seen.iter().any(is_known) {
            seen.push(server);
        }
    }
    if seen.is_empty() {
        return;
    }
    let names: Vec<String> = seen
        .iter()
        .map(|server| {
            let sets = seen.iter().filter(|other| other.name == server.name).count();
            match sets {
                1 => server.name.clone(),
                _ => format!("{} from {}", server.name, date(server.at_unix_s)),
            }
        })
        .collect();
    let settings: BTreeMap<&str, ()> = seen
        .iter()
        .flat_map(|server| server.settings.keys().map(|name| (name.as_str(), ())))
        .collect();
    let rows: Vec<Vec<String>> = settings
        .keys()
        .map(|name| {
            let values = seen.iter().map(|server| {
                server
                    .settings
                    .get(*name)
                    .cloned()
                    .unwrap_or_else(|| "–".to_owned())
            });
            std::iter::once((*name).to_owned()).chain(values).collect()
        })
        .collect();
    let head: Vec<&str> = std::iter::once("setting")
        .chain(names.iter().map(String::as_str))
        .collect();
    out.push_str("<h2>Servers</h2>\n");
    out.push_str(&table(
        "Versions and settings, as the servers gave them",
        &head,
        &rows,
    ));
}

impl Section<'_> {
    fn title(&self) -> String {
        format!("{} ({})", self.name, self.scale)
    }

    fn put(&self, at: usize, out: &mut String) {
        let _ = writeln!(
            out,
            "<section id=\"e{at}\" data-experiment=\"{}\">\n<h2>{}</h2>",
            escape(self.name),
            escape(&self.title())
        );
        let known: Option<&Experiment> = find(self.name);
        if let Some(experiment) = known {
            out.push_str(&said("Question:", experiment.question));
        }
        self.put_verdict(out);
        if !self.pictures.is_empty() {
            out.push_str("<div class=\"plots\">\n");
            for picture in &self.pictures {
                let _ = writeln!(
                    out,
                    "<figure>{}<figcaption>{}</figcaption></figure>",
                    picture.svg,
                    escape(&picture.caption)
                );
            }
            out.push_str("</div>\n");
        }
        self.put_findings(out);
        self.put_refused(out);
        if let Some(experiment) = known {
            self.put_study(experiment, out);
        }
        self.put_waits(out);
        self.put_figures(out);
        out.push_str("</section>\n");
    }

    /// A sentence; that on several servers as a list, which is easier to read.
    fn put_verdict(&self, out: &mut String) {
        let verdict = verdict::verdict(self.name, &self.table);
        if verdict.clauses.len() < 2 {
            let _ = writeln!(out, "<p class=\"verdict\">{}</p>", escape(&verdict.to_string()));
            return;
        }
        let _ = writeln!(
            out,
            "<div class=\"verdict\"><p>{}:</p>\n<ul>",
            escape(verdict.lead)
        );
        for clause in &verdict.clauses {
            let _ = writeln!(out, "<li>{}</li>", escape(clause));
        }
        out.push_str("</ul></div>\n");
    }

    fn put_study(&self, experiment: &Experiment, out: &mut String) {
        out.push_str(&said(
            "Literature:",
            &format!("{}. {}", experiment.study, experiment.found),
        ));
        if let Some(study) = study(self.name).filter(|study| !study.figures.is_empty()) {
            let rows: Vec<Vec<String>> = study
                .figures
                .iter()
                .map(|(what, value)| vec![(*what).to_owned(), (*value).to_owned()])
                .collect();
            out.push_str(&table(
                &format!("Literature. {}", study.setting),
                &["figure", "value"],
                &rows,
            ));
        }
        out.push_str(&said("Workload here:", experiment.workload));
    }

    /// Anomalies by level, a table for each server: what Hermitage draws.
    fn put_findings(&self, out: &mut String) {
        let names = verdict::findings(&self.table);
        if names.is_empty() {
            return;
        }
        let mut cells = self.table.cells.clone();
        let place = |cell: &&str| {
            Level::ALL
                .iter()
                .position(|level| part(cell, "level") == Some(level.short()))
        };
        cells.sort_by_key(place);
        let are_levels = cells.len() <= Level::ALL.len();
        let label = |cell: &&'_ str| match part(cell, "level") {
            Some(level) if are_levels => level.to_owned(),
            _ => (*cell).to_owned(),
        };
        let labels: Vec<String> = cells.iter().map(label).collect();
        let head: Vec<&str> = std::iter::once("anomaly")
            .chain(labels.iter().map(String::as_str))
            .collect();
        for server in &self.table.servers {
            let row = |name: &&str| {
                let found = cells
                    .iter()
                    .map(|cell| match self.table.finding(cell, server, name) {
                        None => "–",
                        Some(finding) => match (finding.possible, finding.promised_possible) {
                            (true, true) => "possible",
                            (false, false) => "prevented",
                            (true, false) => "POSSIBLE, against the documentation",
                            (false, true) => "prevented (need not be)",
                        },
                    });
                std::iter::once(*name)
                    .chain(found)
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            let found = |name: &&str| {
                let of_cell = |cell: &&str| self.table.finding(cell, server, name);
                cells.iter().filter_map(of_cell).collect::<Vec<_>>()
            };
            let findings: Vec<Finding> = names.iter().flat_map(found).collect();
            let is_quiet = |finding: &Finding| !finding.possible && !finding.promised_possible;
            if findings.iter().all(is_quiet) {
                let list = format!(
                    "none has happened, {} times tried: {}.",
                    findings.len(),
                    names.join("; ")
                );
                if !findings.is_empty() {
                    out.push_str(&said(&format!("{server}:"), &list));
                }
            } else {
                let rows: Vec<Vec<String>> = names.iter().map(row).collect();
                out.push_str(&table(server, &head, &rows));
            }
        }
    }

    /// Servers that died or refused, by what they said.
    fn put_refused(&self, out: &mut String) {
        let mut rows: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for server in &self.table.servers {
            for cell in &self.table.cells {
                let Some(why) = self.table.error(cell, server) else {
                    continue;
                };
                match rows.iter_mut().find(|(of, said, _)| of == server && *said == why) {
                    Some((.., cells)) => cells.push(cell),
                    None => rows.push((server, why, vec![cell])),
                }
            }
        }
        if rows.is_empty() {
            return;
        }
        let rows: Vec<Vec<String>> = rows
            .into_iter()
            .map(|(server, why, cells)| {
                let which = match cells.len() {
                    all if all == self.table.cells.len() => "all cells".to_owned(),
                    1..=4 => cells.join(", "),
                    some => format!(
                        "{some} of {} cells, the first {}",
                        self.table.cells.len(),
                        cells[0]
                    ),
                };
                vec![server.to_owned(), which, why.to_owned()]
            })
            .collect();
        out.push_str("<div class=\"refused\">\n");
        out.push_str(&table("Not measured", &["server", "cells", "why"], &rows));
        out.push_str("</div>\n");
    }

    /// What servers waited for, in the cell of each that has the most clients.
    fn put_waits(&self, out: &mut String) {
        let clients = |cell: &&&str| part(cell, "clients").and_then(|clients| clients.parse::<u64>().ok());
        let mut rows = Vec::new();
        for server in &self.table.servers {
            let counted = |cell: &&&str| {
                self.table
                    .lines(cell, server)
                    .iter()
                    .any(|line| !line.found.waits.is_empty())
            };
            let Some(cell) = self.table.cells.iter().filter(counted).max_by_key(clients) else {
                continue;
            };
            let lines = self.table.lines(cell, server);
            for wait in lines
                .iter()
                .find(|line| !line.found.waits.is_empty())
                .into_iter()
                .flat_map(|line| &line.found.waits)
            {
                rows.push(vec![
                    format!("{server}, {cell}"),
                    wait.event.clone(),
                    wait.count.to_string(),
                    crate::summary::figure(wait.mean_us),
                ]);
            }
        }
        if !rows.is_empty() {
            let head = ["server, cell", "event", "waits", "mean µs"];
            out.push_str(&table(
                "What the server's threads waited for longest, by performance_schema",
                &head,
                &rows,
            ));
        }
    }

    /// Everything, folded away.
    fn put_figures(&self, out: &mut String) {
        let there = self
            .table
            .names(|line| line.found.values.keys().map(String::as_str).collect());
        let shown: Vec<&str> = SHOWN
            .iter()
            .copied()
            .filter(|name| there.contains(name))
            .collect();
        if shown.is_empty() {
            return;
        }
        let mut rows = Vec::new();
        for cell in &self.table.cells {
            for server in &self.table.servers {
                let sample = |name: &&str| self.table.sample(cell, server, name);
                if shown.iter().any(|name| sample(name).is_some()) {
                    let values = shown.iter().map(|name| {
                        sample(name).map_or_else(|| "–".to_owned(), |sample| verdict::spread(&sample))
                    });
                    let names = [(*cell).to_owned(), (*server).to_owned()];
                    rows.push(names.into_iter().chain(values).collect());
                }
            }
        }
        let head: Vec<&str> = ["cell", "server"].into_iter().chain(shown).collect();
        out.push_str("<details><summary>All figures</summary>\n");
        out.push_str(&table("Medians and spreads", &head, &rows));
        out.push_str("</details>\n");
    }
}
