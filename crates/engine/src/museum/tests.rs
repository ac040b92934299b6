//! On any history, each exhibit's view sees what the tide's view sees.

use super::{EXHIBITS, Museum};
use crate::ids::{Lsn, TxnId};
use crate::mvcc::{Txns, View, Views};
use proptest::prelude::*;

/// Sessions with views.
const READERS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Begin,
    /// Of the writers that are active, one of this number.
    End(usize),
    Open(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Begin),
        2 => any::<usize>().prop_map(Step::End),
        2 => (0..READERS).prop_map(Step::Open),
    ];
    proptest::collection::vec(step, 1..120)
}

/// Plays a history, and compares every open view with the tide's for every writer after each step.
fn play(name: &str, museum: &Museum, history: &[Step], first: u64) -> Result<(), TestCaseError> {
    let (txns, views) = (Txns::new(TxnId(first)), Views::new());
    let slots: Vec<_> = (0..READERS).map(|_| views.acquire()).collect();
    let mut open: Vec<Option<View>> = vec![None; READERS];
    let (mut active, mut tide) = (Vec::new(), Lsn(1000));
    for step in history {
        match step {
            Step::Begin => active.push(museum.begin(|| txns.assign())),
            Step::End(_) if active.is_empty() => {}
            Step::End(which) => {
                let id = active.remove(which % active.len());
                let end = Lsn(tide.0 + 10);
                museum.end(id, end);
                txns.end(id, end);
                tide = end;
                txns.settle(tide);
            }
            Step::Open(reader) => {
                open[*reader] = Some(views.open(slots[*reader], &txns, || tide));
                museum.open_view(*reader);
            }
        }
        for (reader, view) in open.iter().enumerate() {
            let Some(view) = view else { continue };
            for writer in (first.saturating_sub(2)..txns.next().0).map(TxnId) {
                let by_tide = || view.sees(writer, &txns);
                let seen = museum.sees(reader, view.lsn, writer, by_tide);
                prop_assert_eq!(seen, by_tide(), "{}: writer {:?}, view {:?}", name, writer, view);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_exhibit_sees_what_the_tide_sees(history in steps(), first in 3u64..100_000) {
        for (name, make) in EXHIBITS {
            play(name, &Museum::new(make()), &history, first)?;
        }
    }
}

#[test]
fn names_are_those_of_the_exhibits_and_no_other_opens() {
    assert_eq!(super::names().count(), EXHIBITS.len());
    assert!(!super::open("tea"));
}
