//! What is asked of a value by itself: its type, and the bounds of a number.

use super::place::Place;
use super::{Failure, Rule, fail};
use std::cmp::Ordering;
use tidemark_types::json::Json;

pub(super) fn check_type(rule: &Rule, value: &Json, at: &Place) -> std::result::Result<(), Failure> {
    let is_it = |name: &Json| {
        let Json::String(name) = name else { return false };
        matches!(
            (name.as_str(), value),
            ("null", Json::Null)
                | ("boolean", Json::Bool(_))
                | ("object", Json::Object(_))
                | ("array", Json::Array(_))
                | ("string", Json::String(_))
                | ("integer", Json::Int(_) | Json::UInt(_))
                | (
                    "number",
                    Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_)
                )
        )
    };
    let holds = match rule.keyword("type") {
        Some(Json::Array(types)) => types.iter().any(is_it),
        Some(name @ Json::String(_)) => is_it(name),
        _ => true,
    };
    if holds { Ok(()) } else { fail("type", rule, at) }
}

pub(super) fn check_number(rule: &Rule, value: &Json, at: &Place) -> std::result::Result<(), Failure> {
    if !is_number(value) {
        return Ok(());
    }
    let bound = |name: &str| rule.keyword(name).filter(|bound| is_number(bound));
    if let Some(least) = bound("minimum") {
        let order = value.compare(least);
        if order == Ordering::Less || order == Ordering::Equal && rule.is_true("exclusiveMinimum") {
            return fail("minimum", rule, at);
        }
    }
    if let Some(most) = bound("maximum") {
        let order = value.compare(most);
        if order == Ordering::Greater || order == Ordering::Equal && rule.is_true("exclusiveMaximum") {
            return fail("maximum", rule, at);
        }
    }
    match bound("multipleOf") {
        Some(unit) if !is_multiple(value, unit) => fail("multipleOf", rule, at),
        _ => Ok(()),
    }
}

fn is_number(value: &Json) -> bool {
    matches!(
        value,
        Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_)
    )
}

/// Whole numbers are divided exactly, others as doubles, as far as these are exact. A unit that is not positive divides everything.
fn is_multiple(value: &Json, unit: &Json) -> bool {
    let whole = |number: &Json| match number {
        Json::Int(v) => Some(*v as i128),
        Json::UInt(v) => Some(*v as i128),
        _ => None,
    };
    match (whole(value), whole(unit)) {
        (_, Some(unit)) if unit <= 0 => true,
        (Some(value), Some(unit)) => value % unit == 0,
        _ => {
            let (value, unit) = (double(value), double(unit));
            if unit <= 0.0 {
                return true;
            }
            let quotient = (value / unit).abs();
            let whole = (quotient + 0.5).floor();
            let difference = (whole - quotient).abs();
            difference <= (quotient + whole) * f64::EPSILON || difference < f64::MIN_POSITIVE
        }
    }
}

fn double(number: &Json) -> f64 {
    match number {
        Json::Int(v) => *v as f64,
        Json::UInt(v) => *v as f64,
        Json::Double(v) => *v,
        Json::Decimal(digits) => digits.parse().unwrap_or(0.0),
        _ => 0.0,
    }
}
