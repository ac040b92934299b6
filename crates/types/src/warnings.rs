//! The diagnostics area of a statement: its conditions, as SHOW WARNINGS lists them, OK packets count them and GET DIAGNOSTICS reads
//! them.
//!
//! Most conditions are a number, a state and a text. The other items (CLASS_ORIGIN, TABLE_NAME, …) have a value only where SIGNAL or
//! RESIGNAL has set them, and are kept apart: an error on its way up is a [`SqlError`], which has no room for them, so SIGNAL leaves them
//! here ([`Warnings::signal`]) for the moment when its error is added.
//!
//! Interior mutability, because every conversion and evaluation of a value may add one, and all of them hold the statement's
//! environment by shared reference.

use crate::condition::{ItemTexts, SignalItem};
use crate::error::SqlError;
use std::cell::{Cell, RefCell};

/// How serious a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningLevel {
    /// Worth knowing.
    Note,
    /// Something was changed to make it fit.
    Warning,
    /// The statement failed.
    Error,
}

/// One line of SHOW WARNINGS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// How serious.
    pub level: WarningLevel,
    /// The error number.
    pub code: u16,
    /// The SQLSTATE.
    pub sqlstate: [u8; 5],
    /// The text.
    pub message: String,
    /// What SIGNAL or RESIGNAL has set besides.
    pub items: ItemTexts,
}

impl Warning {
    /// Returns a condition without items of its own.
    pub fn new(level: WarningLevel, error: SqlError) -> Warning {
        Warning {
            level,
            code: error.code,
            sqlstate: error.sqlstate,
            message: error.message,
            items: ItemTexts::new(),
        }
    }

    /// Returns the error that it is, or would be.
    pub fn error(&self) -> SqlError {
        SqlError {
            code: self.code,
            sqlstate: self.sqlstate,
            message: self.message.clone(),
        }
    }

    /// Returns the text of an item: that which was set, or that which follows from number and text. Whoever defines a state, MySQL says that
    /// it was the standard.
    pub fn item(&self, item: SignalItem) -> String {
        let set = self.items.iter().find(|(of, _)| *of == item);
        match (set, item) {
            (Some((_, text)), _) => text.clone(),
            (None, SignalItem::MessageText) => self.message.clone(),
            (None, SignalItem::MysqlErrno) => self.code.to_string(),
            (None, SignalItem::ClassOrigin | SignalItem::SubclassOrigin) => "ISO 9075".to_owned(),
            (None, _) => String::new(),
        }
    }
}

/// What a diagnostics area held when it was [taken](Warnings::take).
#[derive(Debug, Default)]
pub struct Conditions {
    list: Vec<Warning>,
    count: u32,
    failed_at: Option<usize>,
}

/// The diagnostics area of a statement: counts all, keeps the first `max_error_count`.
#[derive(Debug)]
pub struct Warnings {
    list: RefCell<Vec<Warning>>,
    count: Cell<u32>,
    limit: usize,
    notes: Cell<bool>,
    /// Where in the list the statement's error belongs, if something came after it.
    failed_at: Cell<Option<usize>>,
    /// The items of the error that SIGNAL raises, until it is added.
    signalled: RefCell<ItemTexts>,
}

impl Warnings {
    /// `limit` is `max_error_count`.
    #[inline]
    pub fn new(limit: usize) -> Warnings {
        Warnings {
            list: RefCell::new(Vec::new()),
            count: Cell::new(0),
            limit,
            notes: Cell::new(true),
            failed_at: Cell::new(None),
            signalled: RefCell::default(),
        }
    }

    /// Keeps the items of an error that is about to be returned, until [`Warnings::fail`] adds it.
    pub fn signal(&self, items: ItemTexts) {
        *self.signalled.borrow_mut() = items;
    }

    /// Takes the items that [`Warnings::signal`] has kept.
    pub fn take_signalled(&self) -> ItemTexts {
        self.signalled.take()
    }

    /// Counts a condition, and keeps it if there is room.
    pub fn add(&self, condition: Warning) {
        self.count.set(self.count.get().saturating_add(1));
        let mut list = self.list.borrow_mut();
        if list.len() < self.limit {
            list.push(condition);
        }
    }

    /// Returns how many conditions are kept.
    #[inline]
    pub fn len(&self) -> usize {
        self.list.borrow().len()
    }

    /// Returns true if no condition is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Holds these conditions in place of what it held.
    pub fn replace(&self, list: Vec<Warning>) {
        self.failed_at.set(None);
        self.count.set(list.len() as u32);
        *self.list.borrow_mut() = list;
    }

    /// The statement fails, but goes on: its error is listed in front of what is added from now on.
    pub fn will_fail(&self) {
        if self.failed_at.get().is_none() {
            self.failed_at.set(Some(self.list.borrow().len()));
        }
    }

    /// Adds the error of the statement.
    pub fn fail(&self, error: SqlError) {
        self.count.set(self.count.get().saturating_add(1));
        let mut list = self.list.borrow_mut();
        let at = self.failed_at.take().unwrap_or(list.len());
        let items = self.signalled.take();
        let condition = Warning {
            items,
            ..Warning::new(WarningLevel::Error, error)
        };
        list.insert(at, condition);
        list.truncate(self.limit);
    }

    /// Adds a condition of a level.
    pub fn push(&self, level: WarningLevel, error: SqlError) {
        self.add(Warning::new(level, error));
    }

    /// Adds a warning.
    #[inline]
    pub fn warn(&self, error: SqlError) {
        self.push(WarningLevel::Warning, error);
    }

    /// Whether notes are kept (`sql_notes`).
    pub fn keep_notes(&self, on: bool) {
        self.notes.set(on);
    }

    /// Adds a note.
    #[inline]
    pub fn note(&self, error: SqlError) {
        if !self.notes.get() {
            return;
        }
        self.push(WarningLevel::Note, error);
    }

    /// The count in OK and EOF packets.
    #[inline]
    pub fn count(&self) -> u16 {
        self.count.get().min(u16::MAX as u32) as u16
    }

    /// Forgets all: a new statement begins.
    #[inline]
    pub fn clear(&self) {
        self.count.set(0);
        self.list.borrow_mut().clear();
        self.failed_at.set(None);
    }

    /// Takes out all conditions, so that it is as at the beginning of a statement: a statement inside the one at hand begins.
    pub fn take(&self) -> Conditions {
        Conditions {
            list: self.list.take(),
            count: self.count.take(),
            failed_at: self.failed_at.take(),
        }
    }

    /// Puts back what was [taken](Self::take), and after it what has come since but for `error`, which is the outer statement's to add.
    pub fn put_back(&self, outer: Conditions, error: Option<&SqlError>) {
        let inner = self.take();
        let is_it = |warning: &Warning| {
            let is_same = |error: &SqlError| warning.code == error.code && warning.message == error.message;
            warning.level == WarningLevel::Error && error.is_some_and(is_same)
        };
        let mut list = outer.list;
        let mut count = outer.count.saturating_add(inner.count);
        for warning in inner.list {
            if is_it(&warning) {
                count = count.saturating_sub(1);
                self.signal(warning.items);
            } else if list.len() < self.limit {
                list.push(warning);
            }
        }
        self.list.replace(list);
        self.count.set(count);
        self.failed_at.set(outer.failed_at);
    }

    /// A copy for `SHOW WARNINGS`.
    pub fn to_vec(&self) -> Vec<Warning> {
        self.list.borrow().clone()
    }
}

impl Default for Warnings {
    fn default() -> Self {
        Warnings::new(1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::er;

    #[test]
    fn an_inner_statement_leaves_its_conditions_but_not_its_error() {
        let condition = |text: &str| SqlError::new(er::DIVISION_BY_ZERO, text.to_owned());
        let area = Warnings::new(3);
        area.warn(condition("outer"));
        let outer = area.take();
        assert_eq!((area.count(), area.to_vec().len()), (0, 0));
        area.warn(condition("inner"));
        area.fail(condition("error"));
        area.put_back(outer, Some(&condition("error")));
        let texts = |area: &Warnings| -> Vec<String> {
            area.to_vec().into_iter().map(|warning| warning.message).collect()
        };
        assert_eq!(texts(&area), ["outer", "inner"]);
        assert_eq!(area.count(), 2);
        // What does not fit is counted.
        let outer = area.take();
        area.warn(condition("third"));
        area.warn(condition("fourth"));
        area.put_back(outer, None);
        assert_eq!(texts(&area), ["outer", "inner", "third"]);
        assert_eq!(area.count(), 4);
    }
}
