//! A server's address: `mysql://user:password@host:port/database`, or `pgsql://…`.
//!
//! Everything but the host may be left out: root (postgres) without a password, 3306 (5432), and a database `tidemark_lab`. What would end a
//! part too early is written as `%` and two hexadecimal digits. An IPv6 address stands in brackets.

use crate::client::{Dialect, Login};
use std::fmt;
use tidemark_client::Target;

/// The database for the tables, where the URL names none.
pub const DATABASE: &str = "tidemark_lab";

/// What a URL says.
#[derive(Clone)]
pub struct Url {
    /// What the server speaks.
    pub dialect: Dialect,
    /// Host and port.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The account.
    pub login: Login,
    /// Where the tables are.
    pub database: String,
}

impl Url {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Url, String> {
        let wrong = |why: &str| format!("'{text}': {why}");
        let (dialect, rest) = match text.split_once("://") {
            Some(("mysql" | "mariadb" | "tidemark", rest)) => (Dialect::MySql, rest),
            Some(("pgsql" | "postgres" | "postgresql", rest)) => (Dialect::Postgres, rest),
            _ => {
                return Err(wrong(
                    "a server is given as mysql:// or pgsql://user:password@host:port/database",
                ));
            }
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        if database.contains(['/', '?', '#']) {
            return Err(wrong("behind the database there may be nothing"));
        }
        let (account, address) = match authority.rsplit_once('@') {
            Some((account, address)) => (account, address),
            None => ("", authority),
        };
        let (user, password) = account.split_once(':').unwrap_or((account, ""));
        let (host, port) =
            address_of(address, dialect.port()).ok_or_else(|| wrong("the port is not a number"))?;
        let part = |name: &str, text: &str| {
            decode(text).ok_or_else(|| wrong(&format!("the {name} cannot be decoded")))
        };
        if host.is_empty() {
            return Err(wrong("there is no host"));
        }
        let or = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
        Ok(Url {
            dialect,
            host: host.to_owned(),
            port,
            login: Login {
                user: or(part("user", user)?, dialect.user()),
                password: part("password", password)?,
            },
            database: or(part("database", database)?, DATABASE),
        })
    }

    /// Where to connect.
    pub fn target(&self) -> Target {
        Target::Tcp(self.host.clone(), self.port)
    }

    /// True if it is this machine by name or address.
    pub fn is_local(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "::1") || self.host.starts_with("127.")
    }
}

/// Without the password, which has no place in results.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        write!(
            f,
            "{}://{}@{host}:{}/{}",
            self.dialect.scheme(),
            self.login.user,
            self.port,
            self.database
        )
    }
}

/// Host and port. `None`: the port is none.
fn address_of(text: &str, default: u16) -> Option<(&str, u16)> {
    let (host, rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((host, rest)) => (host, rest),
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    match rest.strip_prefix(':') {
        Some(port) => Some((host, port.parse().ok().filter(|port| *port > 0)?)),
        None if rest.is_empty() => Some((host, default)),
        None => None,
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest
            .get(..2)
            .filter(|two| two.iter().all(u8::is_ascii_hexdigit))?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_their_defaults() {
        let url = Url::parse("mysql://ann:p%40:s@db.example:3307/shop").unwrap();
        assert_eq!((url.host.as_str(), url.port), ("db.example", 3307));
        assert_eq!(url.login.password, "p@:s");
        assert_eq!(url.to_string(), "mysql://ann@db.example:3307/shop");
        assert!(!url.is_local());
        let short = Url::parse("mysql://127.0.0.1").unwrap();
        assert_eq!(short.to_string(), "mysql://root@127.0.0.1:3306/tidemark_lab");
        assert!(short.is_local());
        let six = Url::parse("mysql://[::1]:5").unwrap();
        assert_eq!(six.to_string(), "mysql://root@[::1]:5/tidemark_lab");
        assert!(six.is_local());
        let other = Url::parse("postgresql://h").unwrap();
        assert_eq!(other.to_string(), "pgsql://postgres@h:5432/tidemark_lab");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("localhost:3306", "pgsql://user:password@host:port/database"),
            ("http://localhost", "mysql:// or pgsql://user"),
            ("mysql://localhost:x", "the port is not a number"),
            ("mysql://localhost:0", "the port is not a number"),
            ("mysql://localhost:70000", "the port is not a number"),
            ("mysql://[::1]x", "the port is not a number"),
            ("mysql://a@/x", "there is no host"),
            ("mysql://a%4@h", "the user cannot be decoded"),
            ("mysql://a%+1@h", "the user cannot be decoded"),
            ("mysql://h/a/b", "there may be nothing"),
        ] {
            let said = Url::parse(text).err().unwrap_or_default();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
