//! The server's modes that every statement asks for: `read_only`, `super_read_only`, `offline_mode`, and those of
//! `innodb_force_recovery`. One word that is
//! nearly always zero, so that asking costs a load.

use std::sync::atomic::{AtomicU8, Ordering};

const READ_ONLY: u8 = 1;
const SUPER_READ_ONLY: u8 = 2;
const OFFLINE: u8 = 4;
const FORCED: u8 = 8;
const FROZEN: u8 = 16;

/// What the server refuses at present.
#[derive(Default)]
pub struct Modes(AtomicU8);

impl Modes {
    /// Puts a variable's new value in place, if it is that of a mode.
    pub fn set(&self, variable: &str, on: bool) {
        let bit = match variable {
            "read_only" => READ_ONLY,
            "super_read_only" => SUPER_READ_ONLY,
            "offline_mode" => OFFLINE,
            _ => return,
        };
        match on {
            true => self.0.fetch_or(bit, Ordering::SeqCst),
            false => self.0.fetch_and(!bit, Ordering::SeqCst),
        };
    }

    /// Puts `innodb_force_recovery` in place, which holds for as long as the server runs.
    pub fn force_recovery(&self, level: u64) {
        let bits = match level {
            0 => 0,
            1 | 2 => FORCED,
            _ => FORCED | FROZEN,
        };
        self.0.fetch_or(bits, Ordering::SeqCst);
    }

    /// Under `innodb_force_recovery` rows are not changed.
    pub fn is_forced(&self) -> bool {
        self.has(FORCED)
    }

    /// From its level 3 on nothing is.
    pub fn is_frozen(&self) -> bool {
        self.has(FROZEN)
    }

    /// Nothing is refused.
    #[inline]
    pub fn are_off(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn has(&self, bit: u8) -> bool {
        self.0.load(Ordering::Relaxed) & bit != 0
    }

    pub fn read_only(&self) -> bool {
        self.has(READ_ONLY)
    }

    pub fn super_read_only(&self) -> bool {
        self.has(SUPER_READ_ONLY)
    }

    pub fn offline(&self) -> bool {
        self.has(OFFLINE)
    }
}
