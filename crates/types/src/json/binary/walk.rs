//! Where paths lead in the binary form: as [`find`](crate::json::find) in a tree.

use super::view::{Part, View, check_level};
use crate::error::Result;
use crate::json::PathStep;
use crate::json::path::range;
use std::collections::HashSet;

/// Returns the place that a path without wildcards leads to.
#[inline]
pub fn place<'a>(root: View<'a>, path: &[PathStep]) -> Result<Option<View<'a>>> {
    let mut place = root;
    for step in path {
        let next = match step {
            PathStep::Member(name) => match place.members()? {
                Some(members) => members.named(name)?,
                None => None,
            },
            PathStep::Element(index) => match place.elements()? {
                Some(list) => match index.position(list.len()) {
                    Some(at) => list.get(at)?,
                    None => None,
                },
                // A scalar is its own only element.
                None => (index.position(1) == Some(0)).then_some(place),
            },
            _ => None,
        };
        match next {
            Some(next) => place = next,
            None => return Ok(None),
        }
    }
    Ok(Some(place))
}

/// Returns every place that a path leads to, each once, in the order of the document. `step` is told before each step how many places there
/// are, and may end the search.
pub fn places<'a>(
    root: View<'a>,
    path: &[PathStep],
    step: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<View<'a>>> {
    let mut places = vec![root];
    let mut several_ways = false;
    for next in path {
        step(places.len())?;
        several_ways |= *next == PathStep::Anywhere;
        let mut found = Vec::with_capacity(places.len().min(16));
        for place in places {
            follow(place, next, &mut found)?;
        }
        if several_ways {
            // Values do not overlap but where one contains another, and then they begin at different bytes.
            let mut seen = HashSet::with_capacity(found.len());
            found.retain(|place| seen.insert(place.bytes().as_ptr()));
        }
        places = found;
        if places.is_empty() {
            break;
        }
    }
    Ok(places)
}

/// Adds the places one step below a place.
fn follow<'a>(at: View<'a>, step: &PathStep, found: &mut Vec<View<'a>>) -> Result<()> {
    match step {
        PathStep::Member(_) | PathStep::Element(_) => {
            found.extend(place(at, std::slice::from_ref(step))?);
        }
        PathStep::AnyMember => {
            if let Some(members) = at.members()? {
                extend(found, members.values())?;
            }
        }
        PathStep::AnyElement => {
            if let Some(list) = at.elements()? {
                extend(found, list.iter())?;
            }
        }
        PathStep::Range(first, last) => match at.elements()? {
            Some(list) => extend(found, list.range(range(*first, *last, list.len())))?,
            None if !range(*first, *last, 1).is_empty() => found.push(at),
            None => {}
        },
        PathStep::Anywhere => everything(at, 0, found)?,
    }
    Ok(())
}

fn extend<'a>(found: &mut Vec<View<'a>>, more: impl Iterator<Item = Result<View<'a>>>) -> Result<()> {
    for place in more {
        found.push(place?);
    }
    Ok(())
}

/// Adds a place and all that is below it.
fn everything<'a>(place: View<'a>, level: usize, found: &mut Vec<View<'a>>) -> Result<()> {
    found.push(place);
    match place.part()? {
        Part::Array(list) => {
            check_level(level)?;
            list.iter()
                .try_for_each(|value| everything(value?, level + 1, found))
        }
        Part::Object(members) => {
            check_level(level)?;
            members
                .values()
                .try_for_each(|value| everything(value?, level + 1, found))
        }
        _ => Ok(()),
    }
}
