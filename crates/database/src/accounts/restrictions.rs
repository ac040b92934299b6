//! Partial revokes: under `partial_revokes` a privilege that an account holds everywhere can be taken from it in one database. Such
//! a restriction holds until the privilege is granted again, there or everywhere, by an account that is not restricted so.

use super::{Account, Privileges, pattern_matches};
use std::collections::BTreeMap;

/// What is taken from global privileges, by database; its name is no pattern.
pub type Restrictions = BTreeMap<String, Privileges>;

impl Account {
    /// What its global privileges give on a database.
    pub fn global_on(&self, schema: &str) -> Privileges {
        match self.restrictions.get(schema) {
            Some(taken) => self.global.without(*taken),
            None => self.global,
        }
    }

    /// What its global privileges give on every database that a pattern may stand for.
    pub(super) fn global_on_all_like(&self, pattern: &str) -> Privileges {
        let named = self
            .restrictions
            .iter()
            .filter(|(name, _)| *name == pattern || pattern_matches(pattern, name, false));
        named.fold(self.global, |held, (_, taken)| held.without(*taken))
    }

    /// Takes privileges that it holds everywhere from it in one database. Returns false if it holds none of them.
    pub fn restrict(&mut self, schema: &str, wanted: Privileges) -> bool {
        let taken = wanted.intersection(self.global).without(Privileges::GRANT_OPTION);
        if taken.is_empty() {
            return false;
        }
        let held = self.restrictions.entry(schema.to_owned()).or_default();
        *held = held.union(taken);
        true
    }

    /// The privileges are granted again, in one database. Returns those that a restriction had taken: to hold them there, they
    /// need no grant on the database.
    pub fn lift(&mut self, schema: &str, granted: Privileges) -> Privileges {
        let taken = self.restrictions.get(schema).copied().unwrap_or_default();
        if !taken.is_empty() {
            self.restrictions
                .insert(schema.to_owned(), taken.without(granted));
            self.forget_restrictions();
        }
        taken.intersection(granted)
    }

    /// The privileges are granted everywhere, by an account that is restricted so: what the account does not hold yet it gets
    /// with the grantor's restrictions, and of its own only those stay that the grantor has, too. To be called before the
    /// privileges are put.
    pub fn lift_everywhere(&mut self, granted: Privileges, of_grantor: &Restrictions) {
        let new = granted.without(self.global);
        for (schema, taken) in &mut self.restrictions {
            let kept = of_grantor.get(schema).copied().unwrap_or_default();
            *taken = taken.without(granted.without(kept));
        }
        for (schema, taken) in of_grantor {
            let held = self.restrictions.entry(schema.clone()).or_default();
            *held = held.union(taken.intersection(new));
        }
        self.restrictions.retain(|_, taken| !taken.is_empty());
    }

    /// Takes out what restricts nothing, since nothing is held that it would take.
    pub fn forget_restrictions(&mut self) {
        let global = self.global;
        for taken in self.restrictions.values_mut() {
            *taken = taken.intersection(global);
        }
        self.restrictions.retain(|_, taken| !taken.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restriction_holds_until_it_is_lifted() {
        let both = Privileges::SELECT.union(Privileges::INSERT);
        let mut account = Account::new("u", "%");
        account.global = both;
        assert!(account.restrict("a", Privileges::SELECT));
        assert!(!account.restrict("a", Privileges::DELETE));
        assert!(account.restrict("b", both));
        assert_eq!(account.on_database("a"), Privileges::INSERT);
        assert_eq!(account.on_databases_like("%"), Privileges::NONE);
        assert_eq!(account.on_database("c"), both);
        assert_eq!(account.lift("b", Privileges::INSERT), Privileges::INSERT);
        assert_eq!(account.lift("c", Privileges::INSERT), Privileges::NONE);
        assert_eq!(account.on_database("b"), Privileges::INSERT);
        let mut other = Account::new("v", "%");
        other.global = Privileges::INSERT;
        let of_grantor = account.restrictions.clone();
        other.lift_everywhere(Privileges::SELECT, &of_grantor);
        other.global = both;
        assert_eq!(other.restrictions, of_grantor);
        other.lift_everywhere(Privileges::SELECT, &Restrictions::new());
        assert!(other.restrictions.is_empty());
    }
}
