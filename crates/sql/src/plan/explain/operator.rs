//! The operators of a plan, as a tree for people and for programs.
//!
//! A tree is made once from a plan (`tree`), and written as MySQL writes it: as lines (`FORMAT=TREE`), or as JSON in MySQL's
//! version 2 (`FORMAT=JSON`).

use super::measured::{Figures, Measured, Meter};
use crate::types::json::Json;
use std::fmt::Write;

/// What the planner expects of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub cost: f64,
    pub rows: f64,
}

/// One operator, and what it reads from.
#[derive(Debug)]
pub struct Operator {
    /// Why it stands here, if it is not an input like others: `Select #2 (subquery in condition)`.
    pub heading: Option<String>,
    pub operation: String,
    /// Its kind in JSON.
    pub access_type: &'static str,
    pub estimate: Option<Estimate>,
    /// What JSON has of it besides.
    pub details: Vec<(&'static str, Json)>,
    /// Where its execution is measured, if it is.
    pub meter: Option<Meter>,
    pub inputs: Vec<Operator>,
}

impl Operator {
    pub fn new(access_type: &'static str, operation: impl Into<String>) -> Operator {
        Operator {
            heading: None,
            operation: operation.into(),
            access_type,
            estimate: None,
            details: Vec::new(),
            meter: None,
            inputs: Vec::new(),
        }
    }

    pub fn over(mut self, input: Operator) -> Operator {
        self.inputs.push(input);
        self
    }

    pub fn estimated(self, estimate: Option<Estimate>) -> Operator {
        Operator { estimate, ..self }
    }

    pub fn metered(self, meter: Meter) -> Operator {
        Operator {
            meter: Some(meter),
            ..self
        }
    }

    pub fn with(mut self, key: &'static str, value: Json) -> Operator {
        self.details.push((key, value));
        self
    }

    /// The lines of `FORMAT=TREE`; of EXPLAIN ANALYZE with what was measured.
    pub fn lines(&self, measured: Option<&Measured>) -> String {
        let mut text = String::new();
        self.write_lines(0, measured, &mut text);
        text
    }

    fn write_lines(&self, depth: usize, measured: Option<&Measured>, text: &mut String) {
        let mut depth = depth;
        if let Some(heading) = &self.heading {
            let _ = writeln!(text, "{}-> {heading}", "    ".repeat(depth));
            depth += 1;
        }
        let _ = write!(text, "{}-> {}", "    ".repeat(depth), self.operation);
        if let Some(Estimate { cost, rows }) = self.estimate {
            let _ = write!(text, "  (cost={} rows={})", short(cost), short(rows));
        }
        if let (Some(measured), Some(meter)) = (measured, self.meter) {
            let separator = if self.estimate.is_some() { " " } else { "  " };
            let _ = match measured.of(meter) {
                None => write!(text, "{separator}(never executed)"),
                Some(found) => write!(
                    text,
                    "{separator}(actual time={}..{} rows={} loops={})",
                    short(found.first_ms),
                    short(self.last_ms(measured, &found)),
                    short(found.rows as f64 / found.loops as f64),
                    found.loops
                ),
            };
        }
        text.push('\n');
        // What has a heading stands beside the operator that needs it, not below.
        for input in &self.inputs {
            let deeper = depth + usize::from(input.heading.is_none());
            input.write_lines(deeper, measured, text);
        }
    }

    /// How long it and what it reads from have taken, over all times that it was run.
    fn milliseconds(&self, measured: &Measured) -> f64 {
        let own = self.meter.and_then(|meter| measured.of(meter));
        let inputs = self.inputs.iter().map(|input| input.milliseconds(measured));
        own.map_or(0.0, |found| found.own_ms) + inputs.sum::<f64>()
    }

    /// From the beginning to the last row, on average.
    fn last_ms(&self, measured: &Measured, found: &Figures) -> f64 {
        (self.milliseconds(measured) / found.loops as f64).max(found.first_ms)
    }

    /// Version 2 of MySQL's form.
    pub fn json(&self, measured: Option<&Measured>) -> Json {
        let mut members = vec![
            ("operation".to_owned(), text(&self.operation)),
            ("access_type".to_owned(), text(self.access_type)),
        ];
        if let Some(heading) = &self.heading {
            members.push(("heading".to_owned(), text(heading)));
        }
        if let Some(Estimate { cost, rows }) = self.estimate {
            members.push(("estimated_rows".to_owned(), Json::Double(rows)));
            members.push(("estimated_total_cost".to_owned(), Json::Double(cost)));
        }
        let details = self.details.iter();
        members.extend(details.map(|(key, value)| ((*key).to_owned(), value.clone())));
        if let (Some(measured), Some(meter)) = (measured, self.meter)
            && let Some(found) = measured.of(meter)
        {
            let loops = found.loops as f64;
            members.push(("actual_first_row_ms".to_owned(), Json::Double(found.first_ms)));
            let last = self.last_ms(measured, &found);
            members.push(("actual_last_row_ms".to_owned(), Json::Double(last)));
            members.push(("actual_rows".to_owned(), Json::Double(found.rows as f64 / loops)));
            members.push(("actual_loops".to_owned(), Json::UInt(found.loops)));
        }
        if !self.inputs.is_empty() {
            let inputs = self.inputs.iter().map(|input| input.json(measured));
            members.push(("inputs".to_owned(), Json::Array(inputs.collect())));
        }
        Json::object(members)
    }
}

pub fn text(text: &str) -> Json {
    Json::String(text.to_owned())
}

/// With three digits that count, as MySQL writes costs, rows and times: 0.55, 12.8, 4.25e+6.
fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let exponent = number.abs().log10().floor() as i32;
    if (1e6..).contains(&number.abs()) || number.abs() < 1e-3 {
        let text = format!("{number:.2e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = trimmed(mantissa);
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        return match digits.len() {
            1 if sign == '-' => format!("{mantissa}e-{digits}"),
            _ => format!("{mantissa}e{sign}{digits}"),
        };
    }
    let decimals = (2 - exponent).max(0) as usize;
    trimmed(&format!("{number:.decimals$}")).to_owned()
}

fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let shown = [
            (0.0, "0"),
            (4.25, "4.25"),
            (13.4666, "13.5"),
            (40.0, "40"),
            (0.283, "0.283"),
            (0.1, "0.1"),
            (0.00514, "0.00514"),
            (12_345.6, "12346"),
            (4_250_000.0, "4.25e+6"),
            (1e-5, "1e-5"),
        ];
        for (number, text) in shown {
            assert_eq!(short(number), text);
        }
    }
}
