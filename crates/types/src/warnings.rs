//! The diagnostics area of a statement: its warnings, as SHOW WARNINGS lists them and OK packets count them.
//!
//! Interior mutability, because every conversion and evaluation of a value may add one, and all of them hold the statement's
//! environment by shared reference.

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
    /// The text.
    pub message: String,
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
        }
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
        list.insert(
            at,
            Warning {
                level: WarningLevel::Error,
                code: error.code,
                message: error.message,
            },
        );
        list.truncate(self.limit);
    }

    /// Counts a condition, and keeps it if there is room.
    pub fn push(&self, level: WarningLevel, error: SqlError) {
        self.count.set(self.count.get().saturating_add(1));
        let mut list = self.list.borrow_mut();
        if list.len() < self.limit {
            list.push(Warning {
                level,
                code: error.code,
                message: error.message,
            });
        }
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
