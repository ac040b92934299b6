//! `--initialize` and `--initialize-insecure`: makes a data directory and ends, as scripts and images for MySQL have it.
//!
//! A server makes the directory at its first start by itself, with a root without password. So this is that start without the
//! network: the accounts are made, with `--initialize` root gets a password that is logged and has to be changed, and an
//! `--init-file` is run.

use crate::identity::random;
use std::path::Path;
use std::sync::Arc;
use tidemark_sql::Database;

/// Letters that look alike are left out, for the password is copied by hand.
const KINDS: [&[u8]; 4] = [
    b"ABCDEFGHJKLMNPQRSTUVWXYZ",
    b"abcdefghijkmnopqrstuvwxyz",
    b"23456789",
    b"!#%&()*+,-./:;<=>?_",
];
const LENGTH: usize = 16;

/// Fails if there is a database already, which is left as it is.
pub fn refuse_existing(datadir: &Path) -> Result<(), String> {
    match datadir.join("control").exists() {
        true => Err(format!(
            "--initialize makes a data directory, and {} is one already",
            datadir.display()
        )),
        false => Ok(()),
    }
}

/// Gives root a password, unless it is to be without.
pub fn set_root_password(database: &Arc<Database>, is_insecure: bool) -> Result<(), String> {
    if is_insecure {
        log::warn!(
            "root@localhost is created with an empty password ! Please consider switching off the --initialize-insecure option."
        );
        return Ok(());
    }
    let password = password().map_err(|e| format!("no random numbers for a password: {e}"))?;
    let run = |sql: &str| tidemark_sql::run_trusted(database, sql.as_bytes()).map_err(|e| e.message);
    run(&format!(
        "ALTER USER root@localhost IDENTIFIED BY '{password}' PASSWORD EXPIRE"
    ))?;
    log::info!("A temporary password is generated for root@localhost: {password}");
    Ok(())
}

/// A random text with letters of each kind.
fn password() -> std::io::Result<String> {
    let bytes = random::<LENGTH>()?;
    let letters = bytes.iter().enumerate().map(|(at, byte)| {
        let kind = KINDS[at % KINDS.len()];
        char::from(kind[usize::from(*byte) % kind.len()])
    });
    Ok(letters.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_satisfy_the_rules_and_need_no_escapes() {
        let (one, other) = (password().unwrap(), password().unwrap());
        assert!(one != other && one.len() == LENGTH);
        for kind in KINDS {
            assert!(one.bytes().any(|letter| kind.contains(&letter)), "{one}");
        }
        assert!(!one.contains(['\'', '\\', '"']));
    }
}
