//! Results as a page: what was asked, the plot that the study would have drawn, and what came out.
//!
//! ```text
//!  lines of results → a table for each experiment and scale → plots      (figures → chart)
//!                                                           → a sentence (verdict)
//!                                                           → the page   (page, html)
//! ```
//!
//! - [`figures`]: which plots there are, and their points; [`chart`] draws one, in the colours of [`palette`].
//! - [`literature`]: the studies' figures.
//! - [`verdict`]: an experiment's result in a sentence.
//! - [`page`]: everything in one file that needs no other. The plots are files of their own, too, for other texts to show.

pub(crate) mod chart;
mod figures;
pub(crate) mod html;
pub(crate) mod literature;
mod page;
mod palette;
mod verdict;

use crate::failure::Failure;
use crate::results::{self, Line};
use crate::table::Table;
use chart::Chart;
use page::Section;
pub(crate) use page::document;
use std::fs;
use std::path::{Path, PathBuf};

/// The page's name in its directory.
pub(crate) const PAGE: &str = "index.html";

/// A plot that is drawn.
struct Picture {
    /// Of its file.
    name: String,
    caption: String,
    svg: String,
}

/// Writes the page and its plots into a directory, which is made if it is not there. Gives the page's path.
pub fn write(lines: &[Line], dir: &Path) -> Result<PathBuf, Failure> {
    let named = |path: &Path, e: std::io::Error| Failure::because(format!("{}: {e}", path.display()));
    let (page, pictures) = draw(lines).map_err(Failure::Because)?;
    fs::create_dir_all(dir).map_err(|e| named(dir, e))?;
    for picture in pictures {
        let path = dir.join(&picture.name);
        fs::write(&path, alone(&picture.svg)).map_err(|e| named(&path, e))?;
    }
    let path = dir.join(PAGE);
    fs::write(&path, page).map_err(|e| named(&path, e))?;
    Ok(path)
}

/// A plot as a file: with the style that a page gives it otherwise.
pub(crate) fn alone(svg: &str) -> String {
    let style = format!("<style>{}</style>\n", palette::css());
    match svg.split_once('>') {
        Some((head, rest)) => format!("{head}>\n{style}{rest}"),
        None => svg.to_owned(),
    }
}

fn draw(lines: &[Line]) -> Result<(String, Vec<Picture>), String> {
    let cells = results::cells(lines);
    if cells.is_empty() {
        return Err("there is nothing in the results to report".to_owned());
    }
    let mut sections: Vec<Section<'_>> = Vec::new();
    for cell in &cells {
        let (name, scale) = (cell.key.experiment.as_str(), cell.key.scale.as_str());
        if sections
            .iter()
            .any(|section| section.name == name && section.scale == scale)
        {
            continue;
        }
        let table = Table::new(&cells, name, scale);
        let pictures = pictures(sections.len() + 1, name, &table)?;
        sections.push(Section {
            name,
            scale,
            table,
            pictures,
        });
    }
    let page = page::page(lines, &sections);
    Ok((
        page,
        sections
            .into_iter()
            .flat_map(|section| section.pictures)
            .collect(),
    ))
}

fn pictures(place: usize, experiment: &str, table: &Table<'_>) -> Result<Vec<Picture>, String> {
    let measured = figures::charts(experiment, table)
        .into_iter()
        .map(|chart| (caption(&chart), chart));
    let study = literature::study(experiment);
    let drawn_then = study.and_then(|study| Some((format!("Literature: {}", study.setting), study.chart()?)));
    let mut pictures = Vec::new();
    for (caption, chart) in measured.chain(drawn_then) {
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        };
        pictures.push(Picture {
            name: format!(
                "{place:02}-{}-{}.svg",
                experiment.chars().take(40).map(plain).collect::<String>(),
                pictures.len() + 1
            ),
            caption,
            svg: chart.svg()?,
        });
    }
    Ok(pictures)
}

fn caption(chart: &Chart) -> String {
    match chart.bands.is_empty() {
        true => format!("{}: {}", chart.title, chart.left_label),
        false => format!(
            "{}: {}; a snapshot is held where the background is darker",
            chart.title, chart.left_label
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CellLine, Found, Key, ServerLine};
    use std::collections::BTreeMap;

    pub(super) fn line(experiment: &str, cell: &str, server: &str, repeat: u32, found: Found) -> Line {
        Line::Cell(CellLine {
            key: Key {
                experiment: experiment.to_owned(),
                cell: cell.to_owned(),
                server: server.to_owned(),
                scale: "quick".to_owned(),
                repeat,
            },
            at_unix_s: 1_700_000_000,
            found,
        })
    }

    /// Two servers, of which RC halves one, and a third that has died.
    pub(super) fn lines() -> Vec<Line> {
        let mut lines = vec![Line::Server(ServerLine {
            name: "one".to_owned(),
            settings: BTreeMap::from([("version".to_owned(), "1.0<script>".to_owned())]),
            cpus: 2,
            cpu_model: "a processor".to_owned(),
            memory_mib: 4096,
            kernel: "Linux 6".to_owned(),
            at_unix_s: 1_700_000_000,
        })];
        for (server, clients, level, tps) in [
            ("one", 1, "RR", 400.0),
            ("one", 1, "RC", 400.0),
            ("one", 16, "RR", 1000.0),
            ("one", 16, "RC", 500.0),
            ("two", 1, "RR", 1100.0),
            ("two", 1, "RC", 1100.0),
            ("two", 16, "RR", 1000.0),
            ("two", 16, "RC", 1000.0),
        ] {
            for (repeat, more) in [(1, -10.0), (2, 0.0), (3, 10.0)] {
                let found = Found {
                    values: BTreeMap::from([("tps".to_owned(), tps + more)]),
                    ..Found::default()
                };
                let cell = format!("clients={clients} level={level}");
                lines.push(line("clients-2017", &cell, server, repeat, found));
            }
        }
        let died = Found {
            error: Some("gone & <b>lost</b>".to_owned()),
            ..Found::default()
        };
        lines.push(line("clients-2017", "clients=16 level=RC", "three", 1, died));
        lines
    }

    /// Five seconds of a hot row, of which the second, the third and the fifth have a snapshot.
    pub(super) fn timeline() -> Line {
        let found = Found {
            values: BTreeMap::from([
                ("before_per_s".to_owned(), 1000.0),
                ("second_held_per_s".to_owned(), 400.0),
                ("second_read_ms".to_owned(), 2.0),
                ("reading_per_s".to_owned(), 10.0),
            ]),
            series: BTreeMap::from([
                ("at_s".to_owned(), vec![1.0, 2.0, 3.0, 4.0, 5.0]),
                (
                    "updates_per_s".to_owned(),
                    vec![1000.0, 900.0, 800.0, 1000.0, 400.0],
                ),
                ("held".to_owned(), vec![0.0, 1.0, 1.0, 0.0, 1.0]),
                ("history".to_owned(), vec![3.0, 500.0, 900.0, -1.0, 300.0]),
            ]),
            ..Found::default()
        };
        line("hot-row-2015", "clients=1", "one", 1, found)
    }

    #[test]
    fn a_page_has_everything_and_asks_nobody() {
        let mut lines = lines();
        lines.push(timeline());
        let (page, pictures) = draw(&lines).unwrap();
        assert_eq!(
            pictures.len(),
            4,
            "a plot for each server that was measured, and a history"
        );
        for part in [
            "2 × a processor, 4096 MiB of memory, Linux 6",
            "1.0&lt;script&gt;",
            "Up to how many clients does each level scale",
            "<td>gone &amp; &lt;b&gt;lost&lt;/b&gt;</td>",
            "Tkachenko",
            "<li>on one 50 % (500.0 ±2 % against 1000 ±1 % transactions per second, beyond the noise)",
            "<p class=\"verdict\">While the second snapshot is held: on one 40 %",
            "2023-11-14 22:13 UTC",
            "about a third",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<script"));
        let links = page.matches("http").count() - page.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(links, 0);
        assert!(draw(&[]).is_err());
    }

    #[test]
    fn plots_are_files_that_stand_alone() {
        let dir = std::env::temp_dir().join(format!("lab-report-{}", std::process::id()));
        let page = write(&lines(), &dir).unwrap();
        assert!(page.ends_with("index.html"));
        let svg = fs::read_to_string(dir.join("01-clients-2017-1.svg")).unwrap();
        assert!(svg.contains("prefers-color-scheme:dark") && svg.trim_end().ends_with("</svg>"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
