//! The options of CREATE USER and ALTER USER: REQUIRE, WITH, PASSWORD, ACCOUNT and the rest.

use super::ast::*;
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError, er};

const U16_MAX: u64 = u16::MAX as u64;

impl Parser<'_> {
    /// What follows the users of CREATE USER and ALTER USER.
    pub(super) fn account_options(&mut self) -> Result<AccountOptions> {
        let mut options = AccountOptions::default();
        if self.accept("REQUIRE") {
            options.requirement = Some(self.requirement()?);
        }
        if self.accept("WITH") {
            if !self.resource_limit(&mut options.limits)? {
                return self.error();
            }
            while self.resource_limit(&mut options.limits)? {}
        }
        loop {
            if self.accept("ACCOUNT") {
                options.locked = Some(match self.accept_any(&["LOCK", "UNLOCK"]) {
                    Some(word) => word == "LOCK",
                    None => return self.error(),
                });
            } else if !self.password_option(&mut options.passwords)? {
                break;
            }
        }
        // They end the statement.
        options.attribute = match self.accept_any(&["COMMENT", "ATTRIBUTE"]) {
            Some("COMMENT") => Some(AttributeChange::Comment(self.text_string()?)),
            Some(_) => Some(AttributeChange::Merge(self.text_string()?)),
            None => None,
        };
        Ok(options)
    }

    fn text_string(&mut self) -> Result<String> {
        let bytes = self.string()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn requirement(&mut self) -> Result<Requirement> {
        match self.accept_any(&["NONE", "SSL", "X509"]) {
            Some("NONE") => return Ok(Requirement::None),
            Some("SSL") => return Ok(Requirement::Ssl),
            Some(_) => return Ok(Requirement::X509),
            None => {}
        }
        let (mut subject, mut issuer, mut cipher) = (None, None, None);
        while let Some(word) = self.accept_any(&["SUBJECT", "ISSUER", "CIPHER"]) {
            let part = match word {
                "SUBJECT" => &mut subject,
                "ISSUER" => &mut issuer,
                _ => &mut cipher,
            };
            if part.is_some() {
                return Err(SqlError::new(
                    er::DUP_ARGUMENT,
                    format!("Option '{word}' used twice in statement"),
                ));
            }
            *part = Some(self.text_string()?);
            self.accept("AND");
        }
        if (&subject, &issuer, &cipher) == (&None, &None, &None) {
            return self.error();
        }
        Ok(Requirement::Given {
            subject,
            issuer,
            cipher,
        })
    }

    /// `MAX_QUERIES_PER_HOUR 100` and its kin; false if nothing of the kind follows.
    fn resource_limit(&mut self, limits: &mut ResourceLimits) -> Result<bool> {
        let limit = if self.accept("MAX_QUERIES_PER_HOUR") {
            &mut limits.queries_per_hour
        } else if self.accept("MAX_UPDATES_PER_HOUR") {
            &mut limits.updates_per_hour
        } else if self.accept("MAX_CONNECTIONS_PER_HOUR") {
            &mut limits.connections_per_hour
        } else if self.accept("MAX_USER_CONNECTIONS") {
            &mut limits.user_connections
        } else {
            return Ok(false);
        };
        *limit = Some(u32::try_from(self.number()?).unwrap_or(u32::MAX));
        Ok(true)
    }

    /// `PASSWORD …`, `FAILED_LOGIN_ATTEMPTS n`, `PASSWORD_LOCK_TIME n`; false if none of them follows.
    fn password_option(&mut self, options: &mut PasswordOptions) -> Result<bool> {
        if self.accept("FAILED_LOGIN_ATTEMPTS") {
            let attempts = self.number_between("FAILED_LOGIN_ATTEMPTS", 0, 32_767)?;
            options.failed_attempts = Some(attempts as u16);
        } else if self.accept("PASSWORD_LOCK_TIME") {
            options.lock_time = Some(match self.accept("UNBOUNDED") {
                true => LockTime::Unbounded,
                false => match self.number_between("PASSWORD_LOCK_TIME", 0, 32_767)? {
                    0 => LockTime::None,
                    days => LockTime::Days(days as u16),
                },
            });
        } else if self.accept_all(&["PASSWORD", "EXPIRE"]) {
            match self.accept_any(&["DEFAULT", "NEVER", "INTERVAL"]) {
                None => options.expire_now = true,
                Some("DEFAULT") => options.lifetime = Some(Lifetime::Default),
                Some("NEVER") => options.lifetime = Some(Lifetime::Never),
                Some(_) => {
                    let days = self.number_between("DAY", 1, U16_MAX)?;
                    self.expect("DAY")?;
                    options.lifetime = Some(Lifetime::Days(days as u16));
                }
            }
        } else if self.accept_all(&["PASSWORD", "HISTORY"]) {
            options.history = Some(match self.accept("DEFAULT") {
                true => None,
                false => Some(self.number()?.min(U16_MAX) as u32),
            });
        } else if self.accept_all(&["PASSWORD", "REUSE", "INTERVAL"]) {
            options.reuse_days = Some(match self.accept("DEFAULT") {
                true => None,
                false => {
                    let days = self.number()?.min(U16_MAX) as u32;
                    self.expect("DAY")?;
                    Some(days)
                }
            });
        } else if self.accept_all(&["PASSWORD", "REQUIRE", "CURRENT"]) {
            options.require_current = Some(match self.accept_any(&["DEFAULT", "OPTIONAL"]) {
                Some("DEFAULT") => None,
                Some(_) => Some(false),
                None => Some(true),
            });
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// A number with bounds; error 1525, which names `what`, outside them.
    fn number_between(&mut self, what: &str, min: u64, max: u64) -> Result<u64> {
        let number = self.number()?;
        if !(min..=max).contains(&number) {
            return Err(SqlError::new(
                er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
                format!("Incorrect {what} value: '{number}'"),
            ));
        }
        Ok(number)
    }
}
