//! INSTALL COMPONENT and UNINSTALL COMPONENT. All that a statement names are checked before the first is changed.

use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::answer::Answer;
use crate::context::components::Component;
use crate::error::{Result, SqlError, er};

const SCHEME: &str = "file://";

/// `INSTALL COMPONENT 'file://…', …`. Errors 1142, 1126, 3527 and 3529.
pub fn install(state: &SessionState, names: &[String]) -> Result<Answer> {
    state.require_held(Privileges::INSERT, "mysql", "component")?;
    let mut named = Vec::with_capacity(names.len());
    for name in names {
        let Some(file) = name.strip_prefix(SCHEME) else {
            return Err(SqlError::new(
                er::COMPONENT_SCHEMA_NOT_FOUND,
                format!("Cannot find schema in specified URN: '{name}'."),
            ));
        };
        let Some(component) = Component::of_urn(name) else {
            return Err(SqlError::new(
                er::CANT_OPEN_LIBRARY,
                format!("Can't open shared library '{file}.so' (errno: 2 there is no such component)"),
            ));
        };
        if state.database.components.is_installed(component) || named.contains(&component) {
            return Err(SqlError::new(
                er::COMPONENT_CANT_LOAD,
                format!("Cannot load component from specified URN: '{name}'."),
            ));
        }
        named.push(component);
    }
    change(state, &named, true)
}

/// `UNINSTALL COMPONENT 'file://…', …`. Errors 1142 and 3537.
pub fn uninstall(state: &SessionState, names: &[String]) -> Result<Answer> {
    state.require_held(Privileges::DELETE, "mysql", "component")?;
    let mut named = Vec::with_capacity(names.len());
    for name in names {
        let component = Component::of_urn(name)
            .filter(|component| state.database.components.is_installed(*component))
            .ok_or_else(|| {
                SqlError::new(
                    er::COMPONENT_NOT_LOADED,
                    format!("Component specified by URN '{name}' to unload has not been loaded before."),
                )
            })?;
        named.push(component);
    }
    change(state, &named, false)
}

fn change(state: &SessionState, components: &[Component], on: bool) -> Result<Answer> {
    let database = &state.database;
    database.components.set_installed(state.ddl()?, components, on)?;
    if components.contains(&Component::QueryAttributes) {
        // A plan of before has bound the function, or has not.
        database.dictionary().outdate_plans();
    }
    Ok(Answer::ok())
}
