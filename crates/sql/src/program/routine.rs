//! A stored routine ready to run: its definition, compiled, and the circumstances under which its body runs.
//!
//! A session keeps what it has compiled, since plans are a session's ([`Compiled`](crate::context::Compiled)). The body runs
//!
//! - with the rights of the definer, unless the routine says SQL SECURITY INVOKER;
//! - under the `sql_mode` and the character sets that held when it was made, and in its own database. SET of these in the body is undone
//!   when it ends.
//!
//! Plans remember under which rights they were allowed by the session's own; a routine of its invoker is therefore compiled once for each
//! definer in whose name it is called.

use super::code::Code;
use super::compile::compile;
use crate::accounts::{Privileges, Rights};
use crate::context::SessionState;
use crate::dictionary::ProgramDef;
use crate::error::{Result, SqlError, er};
use crate::expr::column_type;
use crate::parse::ast::{ObjectName, ParameterMode, ProgramKind};
use crate::plan::program::ProgramHost;
use crate::types::{SqlType, TypeKind};
use crate::variables::{Setting, find};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variables that a routine brings along.
const OWN_VARIABLES: [&str; 3] = ["sql_mode", "character_set_client", "collation_connection"];

/// See the module's head.
pub struct Routine {
    pub def: Arc<ProgramDef>,
    pub modes: Vec<ParameterMode>,
    /// The type of a function's value; of a procedure that of NULL.
    returns: SqlType,
    pub code: Code,
    /// The definer's rights, as of a version of the accounts.
    rights: Mutex<Option<(u64, Arc<Rights>)>>,
    /// How often it runs inside itself now.
    running: AtomicU64,
}

/// While it lives, a routine counts as running.
pub struct Running<'r>(&'r Routine);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Routine {
    /// Returns a routine of the current database, or of the one that is named. Errors 1046, 1305, and 1370 without the privilege EXECUTE.
    pub fn find(state: &SessionState, kind: ProgramKind, name: &ObjectName) -> Result<Arc<Routine>> {
        let (schema, name) = state.resolve(name)?;
        let missing = || SqlError::program_missing(kind.word(), &format!("{schema}.{name}"));
        let found = state.database.dictionary().program(kind, schema, name);
        let may = state.rights().on_database(schema).contains(Privileges::EXECUTE);
        let def = match found {
            Some(def)
                if may
                    || def.definer.0 == state.acting_user().0 && def.definer.1 == state.acting_user().1 =>
            {
                def
            }
            None if may => return Err(missing()),
            _ => return Err(denied(state, schema, name)),
        };
        let acting = match def.invoker {
            true => state.acting_rights(),
            false => None,
        };
        if let Some(known) = state.compiled.get(&def, acting.as_ref())
            && let Ok(routine) = known.downcast::<Routine>()
        {
            return Ok(routine);
        }
        let routine = Arc::new(Routine::compile(def)?);
        state
            .compiled
            .put(Arc::clone(&routine.def), acting, Arc::clone(&routine) as _);
        Ok(routine)
    }

    fn compile(def: Arc<ProgramDef>) -> Result<Routine> {
        let tree = def.tree()?;
        let returns = match &tree.returns {
            Some(ty) => column_type("", ty, def.database)?.0,
            None => SqlType::new(TypeKind::Null),
        };
        Ok(Routine {
            modes: tree.modes.clone(),
            returns,
            code: compile(&tree.program, def.database)?,
            rights: Mutex::new(None),
            running: AtomicU64::new(0),
            def,
        })
    }

    /// Returns the type of a function's value.
    pub fn value_type(&self) -> &SqlType {
        &self.returns
    }

    /// Counts a function as running. Error 1424 if it runs already.
    pub fn begin_function(&self) -> Result<Running<'_>> {
        if self.running.load(Ordering::Relaxed) > 0 {
            return Err(SqlError::new(
                er::SP_NO_RECURSION,
                "Recursive stored functions and triggers are not allowed.",
            ));
        }
        self.running.fetch_add(1, Ordering::Relaxed);
        Ok(Running(self))
    }

    /// Error 1235 if the routine needs settings that the statement around it does not have.
    pub fn require_same_settings(&self, state: &SessionState) -> Result<()> {
        let def = &self.def;
        if def.sql_mode != state.settings.sql_mode {
            let what = format!(
                "a call of {} within a statement of another sql_mode",
                self.full_name()
            );
            return Err(SqlError::not_supported(what));
        }
        if state.schema.as_deref() != Some(&def.schema) {
            let what = format!(
                "a call of {} within a statement of another database",
                self.full_name()
            );
            return Err(SqlError::not_supported(what));
        }
        Ok(())
    }

    /// Returns its name with that of its database.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.def.schema, self.def.name)
    }

    /// Counts it as running. Error 1456 if it runs inside itself so often already.
    pub fn begin(&self, recursion_max: u64) -> Result<Running<'_>> {
        if self.running.load(Ordering::Relaxed) > recursion_max {
            let text = format!(
                "Recursive limit {recursion_max} (as set by the max_sp_recursion_depth variable) was exceeded for routine {}",
                self.def.name
            );
            return Err(SqlError::new(er::SP_RECURSION_LIMIT, text));
        }
        self.running.fetch_add(1, Ordering::Relaxed);
        Ok(Running(self))
    }

    /// Runs the body in its own circumstances. Error 1449 if the definer is gone.
    pub fn in_context<T>(
        &self,
        host: &mut dyn ProgramHost,
        run: impl FnOnce(&mut dyn ProgramHost) -> Result<T>,
    ) -> Result<T> {
        let acts = !self.def.invoker;
        if acts {
            let rights = self.definer_rights(host.state())?;
            host.state().begin_acting(rights);
        }
        let saved = host.state_mut().map(|state| self.enter(state));
        let ran = run(host);
        if let (Some(state), Some(saved)) = (host.state_mut(), saved) {
            saved.restore(state);
        }
        if acts {
            host.state().end_acting();
        }
        ran
    }

    fn definer_rights(&self, state: &SessionState) -> Result<Arc<Rights>> {
        let now = state.database.accounts.version();
        let mut known = self.rights.lock();
        if let Some((at, rights)) = &*known
            && *at == now
        {
            return Ok(Arc::clone(rights));
        }
        let (user, host) = &self.def.definer;
        let rights = state.rights_of(user, host).ok_or_else(|| {
            let text = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
            SqlError::new(er::NO_SUCH_USER, text)
        })?;
        *known = Some((now, Arc::clone(&rights)));
        Ok(rights)
    }

    /// Puts the routine's settings in place; returns what was there.
    fn enter(&self, state: &mut SessionState) -> Saved {
        let saved = Saved {
            schema: state.schema.clone(),
            settings: OWN_VARIABLES.map(|name| find(name).map(|at| (at, state.values.get(at).clone()))),
        };
        if state.schema.as_deref() != Some(&self.def.schema) {
            state.schema = Some(self.def.schema.clone());
        }
        let own = [
            Setting::text(self.def.sql_mode.to_string()),
            Setting::text(self.def.client.charset().name()),
            Setting::text(self.def.connection.name()),
        ];
        let pairs = saved.settings.iter().flatten().zip(own);
        put(state, pairs.map(|((at, _), own)| (*at, own)).collect());
        saved
    }
}

/// What held when a routine was called.
struct Saved {
    schema: Option<String>,
    settings: [Option<(usize, Setting)>; 3],
}

impl Saved {
    fn restore(self, state: &mut SessionState) {
        if state.schema != self.schema {
            state.schema = self.schema;
        }
        put(state, self.settings.into_iter().flatten().collect());
    }
}

/// Sets variables; nothing is decoded again if they are what they were.
fn put(state: &mut SessionState, settings: Vec<(usize, Setting)>) {
    let mut differs = false;
    for (at, setting) in settings {
        if *state.values.get(at) != setting {
            state.values.put(at, setting);
            differs = true;
        }
    }
    if differs {
        state.settings = state.values.settings();
        state.planned_for.set(state.planned_for.get() + 1);
    }
}

/// Error 1370.
fn denied(state: &SessionState, schema: &str, name: &str) -> SqlError {
    let account = &state.info.account;
    let text = format!(
        "execute command denied to user '{}'@'{}' for routine '{schema}.{name}'",
        account.user, account.host
    );
    SqlError::new(er::PROCACCESS_DENIED, text)
}
