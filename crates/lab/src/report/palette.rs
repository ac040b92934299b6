//! Colours, each as a pair: on white paper, and on a dark screen.
//!
//! A plot is drawn in the colours for paper, so that any program shows it. Where style sheets are read, they exchange a colour for
//! the variable that stands for it, by the attribute that the plot has it in:
//!
//! ```text
//!  <line stroke="#0B62C4"/>      svg [stroke="#0B62C4"]{stroke:var(--c1)}     --c1: #0B62C4, in the dark #6CB0FF
//! ```
//!
//! So one plot does for light and dark, and no plot is drawn twice. All pairs have a contrast of at least 4.5 to their paper,
//! but for lines of a grid.

use plotters::style::RGBColor;
use std::fmt::Write;

/// A colour with its name in style sheets.
pub(super) struct Pair {
    name: &'static str,
    light: RGBColor,
    dark: RGBColor,
}

impl Pair {
    const fn new(name: &'static str, light: u32, dark: u32) -> Pair {
        Pair {
            name,
            light: rgb(light),
            dark: rgb(dark),
        }
    }

    /// What plots draw with.
    pub(super) const fn color(&self) -> RGBColor {
        self.light
    }
}

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

pub(super) const PAPER: Pair = Pair::new("paper", 0xffffff, 0x0d1117);
pub(super) const INK: Pair = Pair::new("ink", 0x1b1f24, 0xe6edf3);
pub(super) const MUTED: Pair = Pair::new("muted", 0x59636e, 0x9aa4af);
pub(super) const GRID: Pair = Pair::new("grid", 0xd5dbe1, 0x30363d);
/// Behind a time in which a snapshot was held.
pub(super) const BAND: Pair = Pair::new("band", 0xe9eef3, 0x1e2630);
const BAD: Pair = Pair::new("bad", 0xb3202a, 0xff8a82);
/// Of curves, in this order.
pub(super) const CURVES: [Pair; 6] = [
    Pair::new("c1", 0x0b62c4, 0x6cb0ff),
    Pair::new("c2", 0xb04d00, 0xffa657),
    Pair::new("c3", 0x157330, 0x56d364),
    Pair::new("c4", 0x7a45d8, 0xc297ff),
    Pair::new("c5", 0xc4212b, 0xff7b72),
    Pair::new("c6", 0x0c727a, 0x5cd0d6),
];

fn all() -> impl Iterator<Item = &'static Pair> {
    const REST: [Pair; 6] = [PAPER, INK, MUTED, GRID, BAND, BAD];
    REST.iter().chain(&CURVES)
}

fn hex(RGBColor(r, g, b): RGBColor) -> String {
    // As plots write it: selectors of attributes tell capitals from small letters.
    format!("#{r:02X}{g:02X}{b:02X}")
}

fn variables(of: impl Fn(&Pair) -> RGBColor) -> String {
    all().fold(String::from(":root{"), |mut out, pair| {
        // Writing to a String cannot fail.
        let _ = write!(out, "--{}:{};", pair.name, hex(of(pair)));
        out
    }) + "}"
}

/// The style sheet that exchanges colours: light, dark where the reader has it so, light on paper.
pub(super) fn css() -> String {
    let light = variables(|pair| pair.light);
    let mut out = format!(
        "{light}\n@media screen and (prefers-color-scheme:dark){{{}}}\n",
        variables(|pair| pair.dark)
    );
    for pair in all() {
        let (name, hex) = (pair.name, hex(pair.light));
        let _ = writeln!(
            out,
            "svg [fill=\"{hex}\"]{{fill:var(--{name})}}svg [stroke=\"{hex}\"]{{stroke:var(--{name})}}"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance and contrast as WCAG 2 has them.
    fn contrast(one: RGBColor, other: RGBColor) -> f64 {
        let luminance = |RGBColor(r, g, b): RGBColor| {
            let linear = |part: u8| {
                let part = f64::from(part) / 255.0;
                match part <= 0.03928 {
                    true => part / 12.92,
                    false => ((part + 0.055) / 1.055).powf(2.4),
                }
            };
            0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn what_is_read_can_be_read() {
        for pair in all().filter(|pair| !["paper", "grid", "band"].contains(&pair.name)) {
            for paper in [&PAPER, &BAND] {
                assert!(contrast(pair.light, paper.light) >= 4.5, "{}", pair.name);
                assert!(
                    contrast(pair.dark, paper.dark) >= 4.5,
                    "{} in the dark",
                    pair.name
                );
            }
        }
    }

    #[test]
    fn no_two_are_alike() {
        let colors: std::collections::BTreeSet<String> = all().map(|pair| hex(pair.light)).collect();
        assert_eq!(colors.len(), all().count());
        assert!(css().contains("svg [stroke=\"#0B62C4\"]{stroke:var(--c1)}"));
    }
}
