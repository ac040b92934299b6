//! `SET PERSIST` and `RESET PERSIST`: server variables that outlive a restart, kept in the engine's catalog.

use super::{DEFS, Globals, Setting, find};
use crate::error::Result;
use tidemark_engine::{Ddl, Engine};

const SPACE: &str = "variable";

/// Sets the stored variables, except those that were given at start. A value that cannot be set is left out.
pub fn load(engine: &Engine, globals: &Globals, given: impl Fn(usize) -> bool) -> Result<()> {
    for (name, value) in engine.meta_scan(SPACE)? {
        let Some(at) = find(&String::from_utf8_lossy(&name)) else {
            continue;
        };
        if given(at) {
            continue;
        }
        // It may be of another version of the server, which knew other values.
        match Setting::parse(&DEFS[at], &String::from_utf8_lossy(&value)) {
            Ok(setting) if DEFS[at].refuses(&setting) => {
                log::error!(
                    "what SET PERSIST has stored is left out: {} = {setting}",
                    DEFS[at].name
                );
            }
            Ok(setting) => globals.put(at, setting),
            Err(error) => log::error!("what SET PERSIST has stored is left out: {}", error.message),
        }
    }
    Ok(())
}

/// Stores a server variable's value durably, in place of an earlier one.
pub fn store(mut ddl: Ddl, at: usize, setting: &Setting) -> Result<()> {
    ddl.put_meta(SPACE, DEFS[at].name.as_bytes(), setting.to_string().as_bytes())?;
    Ok(ddl.commit()?)
}

/// What is stored: names with values, in order of names.
pub fn kept(engine: &Engine) -> Result<Vec<(String, String)>> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let stored = engine.meta_scan(SPACE)?.into_iter();
    Ok(stored.map(|(name, value)| (text(name), text(value))).collect())
}

/// Forgets the stored values of these variables; what is set now stays until the next start.
pub fn forget(mut ddl: Ddl, names: &[String]) -> Result<()> {
    for name in names {
        ddl.delete_meta(SPACE, name.as_bytes())?;
    }
    Ok(ddl.commit()?)
}
