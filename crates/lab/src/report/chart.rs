//! One plot: curves over names or over time, drawn as SVG.
//!
//! ```text
//!  title
//!  ─●─ RR  ─▲─ RC                     legend
//!  tps │       ●──────▲               a point is a median; the bar through it runs from the least
//!      │   ●──▲                       repeat to the greatest
//!      └───────────────
//!          1   16     64   clients
//! ```
//!
//! The library is `plotters` with its SVG backend alone: MIT, three small crates and seconds to build, the plotting library that
//! Rust programs use most, and it puts texts into the file as texts. `charming` draws with a script in the reader's browser, or
//! brings V8; `plotlib` has had no release since 2020. Its bitmaps would need FreeType and an image library, which PNG files are not
//! worth: browsers and `rsvg-convert` make them of these.
//!
//! A plot is as wide as a telephone, and shrinks or grows with its column. Names of the results' servers get into it, so a text
//! may be anything: it is cut to its room, and the backend escapes it.

use crate::report::palette::{BAND, CURVES, GRID, INK, MUTED, PAPER};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::error::Error;
use std::ops::Range;

const WIDTH: u32 = 360;
const HEIGHT: u32 = 250;
const TITLE_HEIGHT: u32 = 24;
const LEGEND_HEIGHT: u32 = 18;
/// Of a letter in the legend and in the title, on average, pixels; with room to spare.
const LEGEND_LETTER: usize = 7;
const TITLE_LETTER: usize = 8;
const FONT: &str = "system-ui, sans-serif";
const SMALL: f64 = 14.0;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The least and the greatest that were measured here, if it was measured more than once.
    pub(crate) range: Option<(f64, f64)>,
}

/// A curve with its place in the legend. Those without a name belong to the one before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Which colour and which mark.
    pub(crate) kind: usize,
    pub(crate) points: Vec<Point>,
}

/// What stands below.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Below {
    /// Names at 0, 1, 2, …
    Names(Vec<String>),
    /// Seconds. Points have no marks.
    Time,
}

/// A plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) below: Below,
    pub(crate) below_label: &'static str,
    pub(crate) left_label: &'static str,
    pub(crate) curves: Vec<Curve>,
    /// From, to: the background there is another.
    pub(crate) bands: Vec<(f64, f64)>,
}

type Drawn = Result<(), Box<dyn Error>>;

impl Chart {
    /// As an element that may stand in a page.
    pub(crate) fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        self.draw(&mut text)
            .map_err(|e| format!("the plot '{}' cannot be drawn: {e}", self.title))?;
        // For those who do not see it. The title escapes nothing that the backend would not.
        let head = format!(
            "<svg role=\"img\" aria-label=\"{}\" ",
            super::html::escape(&self.title)
        );
        Ok(text.replacen("<svg ", &head, 1))
    }

    fn draw(&self, text: &mut String) -> Drawn {
        let legend = self.legend();
        let head = TITLE_HEIGHT + LEGEND_HEIGHT * legend.len() as u32;
        let root = SVGBackend::with_string(text, (WIDTH, HEIGHT + head)).into_drawing_area();
        root.fill(&PAPER.color())?;
        let (top, body) = root.split_vertically(head);
        let title = cut(&self.title, WIDTH as usize / TITLE_LETTER);
        let font = (FONT, 17.0)
            .into_font()
            .style(FontStyle::Bold)
            .color(&INK.color());
        top.draw(&Text::new(title, (8, 6), font))?;
        for (row, entries) in legend.iter().enumerate() {
            let y = (TITLE_HEIGHT + LEGEND_HEIGHT * row as u32 + LEGEND_HEIGHT / 2) as i32;
            for &(x, curve) in entries {
                self.draw_legend(&top, curve, x, y)?;
            }
        }
        self.draw_body(&body)?;
        root.present()?;
        Ok(())
    }

    /// Rows of curves with names, each with its place from the left.
    fn legend(&self) -> Vec<Vec<(i32, &Curve)>> {
        let mut rows: Vec<Vec<(i32, &Curve)>> = Vec::new();
        let mut x = usize::MAX;
        for curve in self.curves.iter().filter(|curve| !curve.name.is_empty()) {
            let width = 40 + curve.name.chars().count() * LEGEND_LETTER;
            if x.saturating_add(width) > WIDTH as usize {
                rows.push(Vec::new());
                x = 8;
            }
            if let Some(row) = rows.last_mut() {
                row.push((x as i32, curve));
            }
            x += width;
        }
        rows
    }

    fn draw_legend<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, plotters::coord::Shift>,
        curve: &Curve,
        x: i32,
        y: i32,
    ) -> Drawn
    where
        DB::ErrorType: 'static,
    {
        let color = color(curve.kind);
        area.draw(&PathElement::new([(x, y), (x + 22, y)], color.stroke_width(2)))?;
        if self.below != Below::Time {
            area.draw(&Mark {
                at: (x + 11, y),
                kind: curve.kind,
            })?;
        }
        let left = Pos::new(HPos::Left, VPos::Center);
        let font = (FONT, SMALL).into_font().color(&INK.color()).pos(left);
        let name = cut(&curve.name, (WIDTH as usize - 48) / LEGEND_LETTER);
        area.draw(&Text::new(name, (x + 27, y), font))?;
        Ok(())
    }

    fn draw_body<DB: DrawingBackend>(&self, body: &DrawingArea<DB, plotters::coord::Shift>) -> Drawn
    where
        DB::ErrorType: 'static,
    {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let highest = points()
            .map(|point| point.range.map_or(point.y, |(_, most)| most.max(point.y)))
            .fold(0.0, f64::max);
        let (y_max, y_keys) = ticks(highest);
        let x_axis = match &self.below {
            Below::Names(names) => Axis {
                range: -0.4..names.len() as f64 - 0.6,
                keys: (0..names.len()).map(|at| at as f64).collect(),
                names: Some(names.clone()),
            },
            Below::Time => {
                let last = points().map(|point| point.x).fold(1e-3, f64::max);
                Axis::of_numbers(last, ticks(last).1)
            }
        };
        let mut chart = ChartBuilder::on(body)
            .margin_right(14)
            .margin_left(4)
            .margin_top(10)
            .x_label_area_size(38)
            .y_label_area_size(54)
            .build_cartesian_2d(x_axis, Axis::of_numbers(y_max, y_keys))?;
        let small = (FONT, SMALL).into_font().color(&MUTED.color());
        for &(from, to) in &self.bands {
            let band = Rectangle::new([(from, 0.0), (to, y_max)], BAND.color().filled());
            chart.draw_series([band])?;
        }
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID.color())
            .light_line_style(TRANSPARENT)
            .axis_style(MUTED.color())
            .label_style(small.clone())
            .axis_desc_style(small)
            .x_desc(self.below_label)
            .y_desc(self.left_label)
            .draw()?;
        for curve in &self.curves {
            let color = color(curve.kind);
            let path = curve.points.iter().map(|point| (point.x, point.y));
            let width = if self.below == Below::Time { 1 } else { 2 };
            chart.draw_series([PathElement::new(
                path.collect::<Vec<_>>(),
                color.stroke_width(width),
            )])?;
            for point in &curve.points {
                if let Some((least, most)) = point.range {
                    let bar = [(point.x, least), (point.x, most)];
                    chart.draw_series([PathElement::new(bar, color.stroke_width(1))])?;
                }
            }
            if self.below != Below::Time {
                let marks = curve.points.iter().map(|point| Mark {
                    at: (point.x, point.y),
                    kind: curve.kind,
                });
                chart.draw_series(marks)?;
            }
        }
        Ok(())
    }
}

/// An axis with marks where we want them, and names in place of numbers where there are names.
struct Axis {
    range: Range<f64>,
    keys: Vec<f64>,
    names: Option<Vec<String>>,
}

impl Axis {
    fn of_numbers(end: f64, keys: Vec<f64>) -> Axis {
        Axis {
            range: 0.0..end,
            keys,
            names: None,
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // There are no marks of lesser weight.
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.keys.clone(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        match &self.names {
            Some(names) => names
                .get(value.round().max(0.0) as usize)
                .cloned()
                .unwrap_or_default(),
            None => short(*value),
        }
    }
}

fn color(kind: usize) -> RGBColor {
    CURVES[kind % CURVES.len()].color()
}

/// The mark of a point. Curves differ by their marks, too: not everybody sees colours, and paper may have none.
struct Mark<C> {
    at: C,
    kind: usize,
}

impl<'a, C> PointCollection<'a, C> for &'a Mark<C> {
    type Point = &'a C;
    type IntoIter = std::iter::Once<&'a C>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Mark<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        places: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let style = color(self.kind).filled();
        for (x, y) in places {
            match self.kind % 4 {
                0 => backend.draw_circle((x, y), 3, &style, true)?,
                1 => backend.fill_polygon([(x, y - 5), (x + 4, y + 3), (x - 4, y + 3)], &style)?,
                2 => backend.draw_rect((x - 3, y - 3), (x + 3, y + 3), &style, true)?,
                _ => {
                    backend.draw_line((x - 4, y - 4), (x + 4, y + 4), &style)?;
                    backend.draw_line((x - 4, y + 4), (x + 4, y - 4), &style)?;
                }
            }
        }
        Ok(())
    }
}

/// The end of an axis from 0, and its marks: four to eight, of 1, 2 or 5 times a power of ten.
fn ticks(highest: f64) -> (f64, Vec<f64>) {
    let highest = if highest.is_finite() && highest > 1e-9 {
        highest.min(1e15)
    } else {
        1.0
    };
    let rough = highest / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| *step <= rough * 1.000_001)
        .unwrap_or(power);
    let count = (highest / step).floor() as usize;
    let keys = (0..=count).map(|at| at as f64 * step).collect();
    (highest * 1.06, keys)
}

/// A number in few letters.
fn short(value: f64) -> String {
    let trimmed = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match value.abs() {
        1e9.. => trimmed(value / 1e9, "G"),
        1e6.. => trimmed(value / 1e6, "M"),
        1e4.. => trimmed(value / 1e3, "k"),
        10.0.. => format!("{value:.0}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.3}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
    }
}

fn cut(text: &str, letters: usize) -> String {
    match text.chars().count() <= letters {
        true => text.to_owned(),
        false => text
            .chars()
            .take(letters.saturating_sub(1))
            .chain(['…'])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let point = |x, y| Point {
            x,
            y,
            range: Some((y * 0.9, y * 1.1)),
        };
        let curve = |name: &str, kind, y| Curve {
            name: name.to_owned(),
            kind,
            points: vec![point(0.0, y), point(1.0, 2.0 * y)],
        };
        Chart {
            title: "<b>&".to_owned(),
            below: Below::Names(vec!["1".to_owned(), "16".to_owned()]),
            below_label: "clients",
            left_label: "tps",
            curves: vec![curve("RR", 0, 700.0), curve("RC", 1, 600.0)],
            bands: Vec::new(),
        }
    }

    #[test]
    fn a_plot_has_its_curves_and_escapes_its_texts() {
        let svg = chart().svg().unwrap();
        assert!(
            svg.starts_with("<svg role=\"img\" aria-label=\"&lt;b&gt;&amp;\""),
            "{svg}"
        );
        for part in ["#0B62C4", "#B04D00", "RR", "RC", "clients", "tps", "16", "1400"] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("<b>"));
        let drawn = |color: &str| {
            let of = |line: &&str| line.starts_with("<polyline") && line.contains(color);
            svg.lines().filter(of).count()
        };
        assert_eq!(drawn("#0B62C4"), 1 + 1 + 2, "the curve, the legend's, two ranges");
    }

    #[test]
    fn whatever_is_in_it_it_is_drawn() {
        let mut empty = chart();
        empty.curves.clear();
        empty.below = Below::Names(Vec::new());
        assert!(empty.svg().is_ok());
        for y in [0.0, 1e-300, 1e300] {
            let mut chart = chart();
            chart.below = Below::Time;
            chart.title = "x".repeat(1000);
            chart.curves[0].name = "n".repeat(1000);
            chart.curves[0].points = vec![Point { x: y, y, range: None }];
            chart.bands = vec![(0.0, y)];
            assert!(chart.svg().unwrap().len() < 30_000);
        }
    }

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!(ticks(1234.0).1, [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0]);
        assert_eq!(ticks(4.0).1, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert!(ticks(0.0).1.len() > 2);
        let texts = [0.0, 0.25, 0.5, 2.5, 3.0, 40.0, 1500.0, 12_500.0, 3e6].map(short);
        assert_eq!(
            texts,
            ["0", "0.25", "0.5", "2.5", "3", "40", "1500", "12.5k", "3M"]
        );
    }
}
