//! The accounts and tables of which events are collected: the rows of `performance_schema.setup_actors` and `setup_objects`.
//!
//! A row has three names, each of which may be `%` for any, and two switches. What is looked up goes by the row that names it most
//! closely: an actor by `user@host`, then `user@%`, `%@host`, `%@%`; a table by `schema.name`, then `schema.%`, `%.%`. What no row names is off.
//!
//! No statement looks here: a session asks at its login, and of tables it is asked when their counts are shown, or switched on or off.

/// Rows of each table at most.
const ROWS_MAX: usize = 1024;

/// The name that stands for any.
const ANY: &str = "%";

/// Kinds of objects that a row of `setup_objects` may be of, in MySQL's order.
pub const OBJECT_TYPES: [&str; 5] = ["EVENT", "FUNCTION", "PROCEDURE", "TABLE", "TRIGGER"];

const TABLE: &str = "TABLE";

/// HOST, USER and ROLE, or OBJECT_TYPE, OBJECT_SCHEMA and OBJECT_NAME.
pub type Names = [String; 3];

/// ENABLED, and HISTORY of an actor, TIMED of an object.
pub type Switches = [bool; 2];

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it is of.
    pub names: Names,
    /// What is to be of that.
    pub on: Switches,
}

/// Why a row is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is one of these names.
    Duplicate,
    /// There are as many as there may be.
    Full,
}

/// The rows of one of the tables, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// `setup_actors` at the start: everybody.
    pub fn actors() -> Rules {
        Rules(vec![rule([ANY; 3], true)])
    }

    /// `setup_objects` at the start: everything but what is the server's own.
    pub fn objects() -> Rules {
        let schemas = ["mysql", "performance_schema", "information_schema", ANY];
        let of_type = |ty| schemas.map(|schema| rule([ty, schema, ANY], schema == ANY));
        Rules(OBJECT_TYPES.into_iter().flat_map(of_type).collect())
    }

    /// All of them.
    pub fn all(&self) -> &[Rule] {
        &self.0
    }

    /// Adds one.
    pub fn add(&mut self, rule: Rule) -> Result<(), Refused> {
        if self.0.iter().any(|other| other.names == rule.names) {
            return Err(Refused::Duplicate);
        }
        if self.0.len() == ROWS_MAX {
            return Err(Refused::Full);
        }
        self.0.push(rule);
        Ok(())
    }

    /// Switches the one of these names. False if it is gone.
    pub fn switch(&mut self, names: &Names, on: Switches) -> bool {
        let found = self.0.iter_mut().find(|rule| rule.names == *names);
        found.map(|rule| rule.on = on).is_some()
    }

    /// Removes the one of these names. False if it is gone.
    pub fn remove(&mut self, names: &Names) -> bool {
        let before = self.0.len();
        self.0.retain(|rule| rule.names != *names);
        self.0.len() < before
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What is collected of a session: its statements and other events, and their histories.
    pub fn of_actor(&self, user: &str, host: &str) -> Switches {
        self.closest([[host, user], [ANY, user], [host, ANY], [ANY, ANY]], |rule| {
            let [host, user, _] = &rule.names;
            Some([host, user])
        })
    }

    /// What is collected of a table: counts, and times.
    pub fn of_table(&self, schema: &str, name: &str) -> Switches {
        self.closest([[schema, name], [schema, ANY], [ANY, ANY]], |rule| {
            let [ty, schema, name] = &rule.names;
            (ty == TABLE).then_some([schema, name])
        })
    }

    fn closest<const N: usize>(
        &self,
        wanted: [[&str; 2]; N],
        names: impl Fn(&Rule) -> Option<[&String; 2]>,
    ) -> Switches {
        let rank = |rule: &Rule| {
            let names = names(rule)?;
            wanted.iter().position(|wanted| names == *wanted)
        };
        let ranked = self.0.iter().filter_map(|rule| Some((rank(rule)?, rule.on)));
        ranked
            .min_by_key(|(rank, _)| *rank)
            .map_or([false; 2], |(_, on)| on)
    }
}

fn rule(names: [&str; 3], on: bool) -> Rule {
    Rule {
        names: names.map(str::to_owned),
        on: [on; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(mut rules: Rules, more: &[([&str; 3], Switches)]) -> Rules {
        for (names, on) in more {
            let names = names.map(str::to_owned);
            rules.add(Rule { names, on: *on }).unwrap();
        }
        rules
    }

    #[test]
    fn an_actor_goes_by_the_row_that_names_it_most_closely() {
        let rules = [
            (["%", "eve", "%"], [false, true]),
            (["there", "%", "%"], [true, false]),
            (["there", "eve", "%"], [false, false]),
        ];
        let rules = with(Rules::actors(), &rules);
        assert_eq!(rules.of_actor("eve", "there"), [false, false]);
        assert_eq!(rules.of_actor("eve", "here"), [false, true]);
        assert_eq!(rules.of_actor("bob", "there"), [true, false]);
        assert_eq!(rules.of_actor("bob", "here"), [true, true]);
        assert_eq!(Rules::default().of_actor("bob", "here"), [false, false]);
    }

    #[test]
    fn a_table_goes_by_the_row_that_names_it_most_closely() {
        let rules = [
            (["TABLE", "shop", "%"], [false, true]),
            (["TABLE", "shop", "orders"], [true, false]),
            (["TRIGGER", "shop", "goods"], [true, true]),
        ];
        let mut rules = with(Rules::objects(), &rules);
        assert_eq!(rules.of_table("shop", "orders"), [true, false]);
        assert_eq!(rules.of_table("shop", "goods"), [false, true]);
        assert_eq!(rules.of_table("mysql", "user"), [false, false]);
        assert_eq!(rules.of_table("Shop", "orders"), [true, true]);
        assert!(rules.remove(&["TABLE", "%", "%"].map(str::to_owned)));
        assert_eq!(rules.of_table("Shop", "orders"), [false, false]);
    }

    #[test]
    fn names_are_there_once_and_rows_are_bounded() {
        let mut rules = Rules::actors();
        let any = rules.all()[0].clone();
        assert_eq!(rules.add(any.clone()), Err(Refused::Duplicate));
        for n in 1..ROWS_MAX {
            rules.add(rule([ANY, &n.to_string(), ANY], true)).unwrap();
        }
        let more = rule(["h", "u", "%"], true);
        assert_eq!(rules.add(more.clone()), Err(Refused::Full));
        assert!(rules.remove(&any.names) && !rules.remove(&any.names));
        assert!(!rules.switch(&any.names, [true; 2]));
        assert_eq!(rules.add(more), Ok(()));
    }
}
