//! The random values of TPC-C, clauses 2.1.6 (`NURand`), 4.3.2 (names of customers) and 2.4 to 2.8.
//!
//! `NURand` is not uniform: the bits of two numbers are or-ed, so values with many ones come more often, and a constant moves them
//! about. Some customers and items are hot. The constants are fixed, so that all clients have the same hot ones.

use crate::load::random::Random;

/// What tables are filled with and transactions draw from: the difference of the two constants of names lies where the specification
/// wants it.
const C_NAME: u32 = 157;
const C_CUSTOMER: u32 = 91;
const C_ITEM: u32 = 3011;
/// There are a thousand names, of three syllables each.
const NAMES: u32 = 1000;
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// Whom a payment or a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Customer {
    Number(u32),
    /// The one in the middle, by first name, of those of this last name.
    Named(String),
}

pub(super) struct Values(Random);

impl Values {
    pub(super) fn new(random: Random) -> Values {
        Values(random)
    }

    /// Both ends included.
    pub(super) fn between(&mut self, least: u32, most: u32) -> u32 {
        least + self.0.up_to(most - least + 1) - 1
    }

    fn nurand(&mut self, a: u32, c: u32, least: u32, most: u32) -> u32 {
        let bits = self.between(0, a) | self.between(least, most);
        (bits + c) % (most - least + 1) + least
    }

    pub(super) fn item(&mut self, items: u32) -> u32 {
        self.nurand(8191, C_ITEM, 1, items)
    }

    pub(super) fn customer(&mut self, customers: u32) -> u32 {
        self.nurand(1023, C_CUSTOMER, 1, customers)
    }

    /// By name in 60 of 100.
    pub(super) fn named_customer(&mut self, customers: u32) -> Customer {
        match self.between(1, 100) {
            1..=60 => Customer::Named(self.name(customers)),
            _ => Customer::Number(self.customer(customers)),
        }
    }

    /// A last name that somebody has.
    pub(super) fn name(&mut self, customers: u32) -> String {
        last_name(self.nurand(255, C_NAME, 0, customers.min(NAMES) - 1))
    }

    /// Another warehouse, if there is one.
    pub(super) fn other(&mut self, warehouse: u32, warehouses: u32) -> u32 {
        match warehouses {
            1 => warehouse,
            _ => (warehouse - 1 + self.between(1, warehouses - 1)) % warehouses + 1,
        }
    }

    /// Letters and digits, as many as from least to most.
    pub(super) fn text(&mut self, least: u32, most: u32) -> String {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let len = self.between(least, most);
        (0..len)
            .map(|_| char::from(LETTERS[self.0.up_to(36) as usize - 1]))
            .collect()
    }

    /// 1 to n, each once, in any order.
    pub(super) fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (1..=n).collect();
        for at in (1..all.len()).rev() {
            let other = self.0.up_to(at as u32 + 1) as usize - 1;
            all.swap(at, other);
        }
        all
    }
}

/// The last name of a number below 1,000.
pub(super) fn last_name(number: u32) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10]
        .map(|digit| SYLLABLES[digit as usize])
        .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_within_their_bounds_and_some_are_hot() {
        let mut values = Values::new(Random::new(3));
        let mut seen = vec![0; 101];
        for _ in 0..20_000 {
            seen[values.item(100) as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        assert!(seen.iter().max().unwrap() > &400, "{seen:?}");
        assert_eq!(values.other(1, 1), 1);
        assert!((0..100).all(|_| [1, 3].contains(&values.other(2, 3))));
        assert!((0..100).all(|_| (2..=4).contains(&values.text(2, 4).len())));
        let mut all = values.permutation(50);
        assert_ne!(all, (1..=50).collect::<Vec<u32>>());
        all.sort_unstable();
        assert_eq!(all, (1..=50).collect::<Vec<u32>>());
    }

    #[test]
    fn names_are_those_of_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        let mut values = Values::new(Random::new(3));
        let there: Vec<String> = (0..60).map(last_name).collect();
        assert!((0..1000).all(|_| there.contains(&values.name(60))));
    }
}
