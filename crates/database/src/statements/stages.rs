//! The stages of statements: what part of its work a session is in, how far it is, and how long each part took.
//!
//! Some every statement goes through; they are off unless `setup_instruments` says so, since each would cost a look at the clock.
//! Others are long works, which say how far they are in the process list too. A session has its own, under the lock of what it is
//! doing ([`Process`](crate::context::Process)).

use super::long::Told;
use super::recent::Recent;
use super::setup::{Consumer, Instrument};
use tidemark_engine::Tick;
use tidemark_engine::waits::WaitSum;

/// Declares [`Stage`]: the name of its event, and the state that the process list and SHOW PROFILE have for it.
macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident = $event:literal, $state:literal;)+) => {
        /// A part of a statement's work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Stage {
            $($(#[$doc])* $stage,)+
        }

        impl Stage {
            /// All of them, in the order of their values.
            pub const ALL: &[Stage] = &[$(Stage::$stage,)+];

            /// As `performance_schema` names it: MySQL's name where MySQL has the stage.
            pub fn event_name(self) -> &'static str {
                match self {
                    $(Stage::$stage => $event,)+
                }
            }

            /// As the process list names it.
            pub fn state(self) -> &'static str {
                match self {
                    $(Stage::$stage => $state,)+
                }
            }
        }
    };
}

stages! {
    /// The text is read.
    Starting = "stage/sql/starting", "starting";
    /// A plan is made.
    Optimizing = "stage/sql/optimizing", "optimizing";
    /// The locks of its tables are taken.
    OpeningTables = "stage/sql/Opening tables", "Opening tables";
    /// The plan runs.
    Executing = "stage/sql/executing", "executing";
    /// A transaction of its own is committed.
    Commit = "stage/sql/waiting for handler commit", "waiting for handler commit";
    /// The answer is sent.
    End = "stage/sql/end", "end";
    /// An index is built: the rows are read and their keys sorted.
    AlterRead = "stage/innodb/alter table (read PK and internal sort)", "alter table (read PK and internal sort)";
    /// An index is built: the keys are put in.
    AlterInsert = "stage/innodb/alter table (insert)", "alter table (insert)";
    /// An index is built: what others have changed meanwhile is looked at.
    AlterCheck = "stage/innodb/alter table (log apply index)", "alter table (log apply index)";
    /// A copy of the data is made: the pages.
    CopyPages = "stage/innodb/clone (file copy)", "Copying pages";
    /// A copy of the data is made: the log.
    CopyLog = "stage/innodb/clone (redo copy)", "Copying the log";
    /// A copy of the data is made: it is read again.
    CopyVerify = "stage/innodb/clone (verify)", "Verifying the copy";
    /// A file's lines become rows.
    Load = "stage/sql/load data", "Loading data";
    /// The engine frees the pages of tables and indexes that were dropped.
    Freeing = "stage/innodb/purge (dropped tables)", "Freeing dropped tables";
    /// The engine searches, after a crash, for pages of tables that were never finished.
    Searching = "stage/innodb/recovery (stray pages)", "Searching for stray pages";
    /// The engine removes, after a crash, rows that were deleted before it.
    Sweeping = "stage/innodb/recovery (deleted rows)", "Removing deleted rows";
}

impl Stage {
    /// Whether every statement goes through it.
    pub fn is_of_every_statement(self) -> bool {
        self <= Stage::End
    }
}

/// A stage that a session is in.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// The number of the event in the session.
    pub id: u64,
    /// The statement's.
    pub statement: u64,
    /// Which stage.
    pub stage: Stage,
    /// Since when.
    pub since: Tick,
    /// How much is done, and of how much, where that is known.
    pub work: Option<(u64, u64)>,
}

/// A stage that is over.
#[derive(Clone, Copy, Debug)]
pub struct StageEvent {
    /// What it was.
    pub began: Running,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

impl StageEvent {
    /// None yet.
    fn none() -> StageEvent {
        StageEvent {
            began: Running {
                id: 0,
                statement: 0,
                stage: Stage::Starting,
                since: Tick::default(),
                work: None,
            },
            nanos: 0,
        }
    }
}

/// The stages of a session.
#[derive(Debug, Default)]
pub struct Stages {
    /// The one it is in.
    pub running: Option<Running>,
    /// Those that are over.
    pub recent: Recent<StageEvent>,
    /// By stage; empty as long as there was none.
    sums: Vec<WaitSum>,
}

impl Stages {
    /// The stage that runs, if any, is over.
    pub fn end(&mut self, now: Tick, told: Told) {
        let Some(began) = self.running.take() else {
            return;
        };
        let counted = told.setup.counted(Instrument::Stage(began.stage));
        let took = now.nanos_since(began.since);
        let nanos = if counted.is_timed() { took } else { 0 };
        if self.sums.is_empty() {
            self.sums = vec![WaitSum::default(); Stage::ALL.len()];
        }
        self.sums[began.stage as usize].count_one(nanos);
        let event = StageEvent { began, nanos };
        if told.collected.has(Consumer::StagesCurrent) {
            let is_kept = told.collected.has(Consumer::StagesHistory);
            *self.recent.slot(is_kept, StageEvent::none) = event;
        }
        if told.collected.has(Consumer::StagesHistoryLong) {
            told.long.stages.push(told.session, event);
        }
    }

    /// What stages of each kind took.
    pub fn sums(&self) -> impl Iterator<Item = (Stage, WaitSum)> {
        Stage::ALL.iter().copied().zip(self.sums.iter().copied())
    }

    /// Begins the sums anew.
    pub fn forget_sums(&mut self) {
        self.sums.clear();
    }
}
