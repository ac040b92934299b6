//! INSTALL COMPONENT and UNINSTALL COMPONENT. All that a statement names are checked before the first is changed.

use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::answer::Answer;
use crate::context::components::VALIDATE_PASSWORD;
use crate::error::{Result, SqlError, er};

const SCHEME: &str = "file://";

/// `INSTALL COMPONENT 'file://…', …`. Errors 1142, 1126, 3527 and 3529.
pub fn install(state: &SessionState, names: &[String]) -> Result<Answer> {
    state.require_held(Privileges::INSERT, "mysql", "component")?;
    let components = &state.database.components;
    for name in names {
        let Some(file) = name.strip_prefix(SCHEME) else {
            return Err(SqlError::new(
                er::COMPONENT_SCHEMA_NOT_FOUND,
                format!("Cannot find schema in specified URN: '{name}'."),
            ));
        };
        if name != VALIDATE_PASSWORD {
            return Err(SqlError::new(
                er::CANT_OPEN_LIBRARY,
                format!("Can't open shared library '{file}.so' (errno: 2 there is no such component)"),
            ));
        }
        if components.validates_passwords() || names.iter().filter(|other| *other == name).count() > 1 {
            return Err(SqlError::new(
                er::COMPONENT_CANT_LOAD,
                format!("Cannot load component from specified URN: '{name}'."),
            ));
        }
    }
    components.set_validates_passwords(state.database.engine(), true)?;
    Ok(Answer::ok())
}

/// `UNINSTALL COMPONENT 'file://…', …`. Errors 1142 and 3537.
pub fn uninstall(state: &SessionState, names: &[String]) -> Result<Answer> {
    state.require_held(Privileges::DELETE, "mysql", "component")?;
    let components = &state.database.components;
    for name in names {
        if name != VALIDATE_PASSWORD || !components.validates_passwords() {
            return Err(SqlError::new(
                er::COMPONENT_NOT_LOADED,
                format!("Component specified by URN '{name}' to unload has not been loaded before."),
            ));
        }
    }
    components.set_validates_passwords(state.database.engine(), false)?;
    Ok(Answer::ok())
}
