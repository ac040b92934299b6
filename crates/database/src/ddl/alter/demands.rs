//! `ALGORITHM = …` and `LOCK = …`: what the statement may not do, and what other sessions must be able to do meanwhile.
//!
//! A clause is kept or refused, and refused in MySQL's words where MySQL would refuse it too. There are fewer ways here than in
//! MySQL, which can also rebuild a table in place beside its users: where it would do that, rows are copied here, beside readers.
//!
//! | the way | ALGORITHM | beside |
//! |---|---|---|
//! | the definition alone, columns that come and go included | INPLACE, what MySQL does at once also INSTANT | nobody, for a moment |
//! | indexes dropped or built | INPLACE | readers and writers |
//! | rows tested against a new constraint | COPY, as MySQL calls it | readers |
//! | rows copied | COPY | readers |

use super::way::{Obstacle, Way};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::mdl::Admitted;
use crate::parse::ast::{AlterAction, AlterAlgorithm, AlterLock};

/// The two clauses; the last of each counts.
#[derive(Clone, Copy)]
pub struct Demands {
    pub algorithm: AlterAlgorithm,
    pub lock: AlterLock,
}

impl Demands {
    /// What the actions of a statement say. Error 1221 of clauses that contradict each other.
    pub fn of(actions: &[AlterAction]) -> Result<Demands> {
        let mut demands = Demands {
            algorithm: AlterAlgorithm::Default,
            lock: AlterLock::Default,
        };
        for action in actions {
            match action {
                AlterAction::Algorithm(algorithm) => demands.algorithm = *algorithm,
                AlterAction::Lock(lock) => demands.lock = *lock,
                _ => {}
            }
        }
        match (demands.algorithm, demands.lock) {
            (AlterAlgorithm::Instant, AlterLock::None | AlterLock::Shared | AlterLock::Exclusive) => {
                Err(SqlError::new(
                    er::WRONG_USAGE,
                    "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE",
                ))
            }
            _ => Ok(demands),
        }
    }

    /// Whether rows are to be copied though nothing else asks for it.
    pub fn is_copy(&self) -> bool {
        self.algorithm == AlterAlgorithm::Copy
    }

    /// Errors 1845 and 1846 if a change of nothing but the name is to let others in meanwhile.
    pub fn check_rename(&self) -> Result<()> {
        match (self.algorithm, self.lock) {
            (AlterAlgorithm::Copy, AlterLock::None) => {
                Err(not_because("LOCK=NONE", COPY_LOCKS, "LOCK=SHARED"))
            }
            (AlterAlgorithm::Copy, _) => Ok(()),
            (_, AlterLock::None | AlterLock::Shared) => Err(not_by("LOCK=NONE/SHARED", "LOCK=EXCLUSIVE")),
            _ => Ok(()),
        }
    }

    /// Errors 1845 and 1846 if the change of this table is not made the way that was asked for, and 4092 if it could be made at once
    /// but for how often that has been done.
    pub fn check(&self, way: &Way, table: &TableDef) -> Result<()> {
        let obstacle = way.obstacle;
        match self.algorithm {
            AlterAlgorithm::Instant if !way.is_instant => {
                let others = match obstacle {
                    Some(Obstacle::Checks) => "ALGORITHM=COPY",
                    None if way.copies && !way.copies_in_mysql => "ALGORITHM=COPY",
                    _ => "ALGORITHM=COPY/INPLACE",
                };
                return Err(match obstacle.and_then(Obstacle::to_instant) {
                    Some(reason) => not_because("ALGORITHM=INSTANT", reason, others),
                    None => not_by("ALGORITHM=INSTANT", others),
                });
            }
            AlterAlgorithm::Instant if way.versions_used_up => {
                return Err(SqlError::new(
                    er::INNODB_MAX_ROW_VERSION,
                    format!(
                        "Maximum row versions reached for table {}/{}. No more columns can be added or dropped instantly. \
                         Please use COPY/INPLACE.",
                        table.schema, table.name
                    ),
                ));
            }
            AlterAlgorithm::Inplace if way.is_copy() => {
                return Err(match obstacle.and_then(Obstacle::to_inplace) {
                    Some(reason) => not_because("ALGORITHM=INPLACE", reason, "ALGORITHM=COPY"),
                    None => not_by("ALGORITHM=INPLACE", "ALGORITHM=COPY"),
                });
            }
            _ => {}
        }
        if self.lock != AlterLock::None || !way.is_copy() {
            return Ok(());
        }
        let reason = match obstacle {
            _ if self.is_copy() => Some(COPY_LOCKS),
            None | Some(Obstacle::Checks) => Some(COPY_LOCKS),
            Some(obstacle) => obstacle.to_writers(),
        };
        Err(match reason {
            Some(reason) => not_because("LOCK=NONE", reason, "LOCK=SHARED"),
            None => not_by("LOCK=NONE", "LOCK=SHARED"),
        })
    }

    /// Which statements of others may use the table while the ALTER works in this way; `None`: none. Where the table is copied
    /// here and MySQL changes its definition alone, readers are kept out too unless LOCK admits them, so that they see either the
    /// old definition or the new, as there.
    pub fn admitted(&self, way: &Way) -> Option<Admitted> {
        match self.lock {
            AlterLock::Exclusive => None,
            AlterLock::Shared => Some(Admitted::Readers),
            AlterLock::Default if way.copies && !way.copies_in_mysql => None,
            _ if way.is_copy() => Some(Admitted::Readers),
            AlterLock::None | AlterLock::Default => Some(Admitted::Users),
        }
    }
}

const COPY_LOCKS: &str = "COPY algorithm requires a lock";

/// Error 1846.
fn not_because(demand: &str, reason: &str, instead: &str) -> SqlError {
    SqlError::new(
        er::ALTER_OPERATION_NOT_SUPPORTED_REASON,
        format!("{demand} is not supported. Reason: {reason}. Try {instead}."),
    )
}

/// Error 1845.
fn not_by(demand: &str, instead: &str) -> SqlError {
    SqlError::new(
        er::ALTER_OPERATION_NOT_SUPPORTED,
        format!("{demand} is not supported for this operation. Try {instead}."),
    )
}
