//! Access to the page: an account with the PROCESS privilege, by HTTP's Basic scheme, checked against the server's own accounts.
//!
//! The rules of a login count here too: locked accounts, expired passwords, `REQUIRE SSL` (which this connection cannot keep), and
//! wrong passwords towards FAILED_LOGIN_ATTEMPTS. A wrong password takes as long whatever the account is, and if there is none;
//! a right one of a locked account is answered as a wrong one.

use data_encoding::BASE64;
use parking_lot::Mutex;
use tidemark_database::Database;
use tidemark_database::accounts::requirement::is_met;
use tidemark_database::accounts::{AccountAuth, Privileges, Rights};

/// A password's hash takes milliseconds: so that guessing takes no more than one core, one is checked at a time.
static CHECKING: Mutex<()> = Mutex::new(());

/// Why somebody may not look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No account and password, or wrong ones.
    Unknown,
    /// The account may not.
    NotAllowed(&'static str),
}

/// User name and password of an `Authorization` header.
fn credentials(header: &str) -> Option<(String, Vec<u8>)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64.decode(encoded.trim().as_bytes()).ok()?;
    let at = decoded.iter().position(|byte| *byte == b':')?;
    let user = String::from_utf8(decoded[..at].to_vec()).ok()?;
    Some((user, decoded[at + 1..].to_vec()))
}

fn proves(database: &Database, account: Option<&AccountAuth>, password: &[u8]) -> bool {
    if password.is_empty() {
        return account.is_some_and(|account| account.auth_string.is_empty());
    }
    let (present, second) = database.prove_password(account, password);
    present || second
}

/// Checks the header of a request from `host` (an IP address, or `localhost`).
pub fn check(database: &Database, header: Option<&str>, host: &str) -> Result<(), Refusal> {
    let (user, password) = header.and_then(credentials).ok_or(Refusal::Unknown)?;
    let _one_at_a_time = CHECKING.lock();
    let account = database.account(&user, host);
    let proved = proves(database, account.as_ref(), &password);
    let account = account.ok_or(Refusal::Unknown)?;
    let may_enter = proved && !account.locked;
    let noted = database.note_login(&account, host, may_enter);
    if !may_enter || noted.is_err() {
        return Err(Refusal::Unknown);
    }
    if database.is_password_expired(&account) {
        return Err(Refusal::NotAllowed("the account's password has expired"));
    }
    if !is_met(&account.requirement, None)
        || database.variable("require_secure_transport").as_deref() == Some("ON")
    {
        return Err(Refusal::NotAllowed(
            "the account requires TLS, which the status page does not have",
        ));
    }
    let full = database.full_account(&account.user, &account.host);
    let accounts = &database.accounts;
    let roles = accounts.with_their_roles(full.default_roles.clone());
    match Rights::new(full, roles).global.contains(Privileges::PROCESS) {
        true => Ok(()),
        false => Err(Refusal::NotAllowed("the account lacks the PROCESS privilege")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_from_the_header() {
        let of = |text: &str| credentials(&format!("Basic {}", BASE64.encode(text.as_bytes())));
        assert_eq!(of("root:a:b"), Some(("root".to_owned(), b"a:b".to_vec())));
        assert_eq!(of(":"), Some((String::new(), Vec::new())));
        assert_eq!(of("root"), None);
        assert_eq!(credentials("Bearer x"), None);
        assert_eq!(credentials("Basic %%%"), None);
        assert_eq!(credentials("Basic"), None);
    }
}
