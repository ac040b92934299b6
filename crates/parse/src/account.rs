//! CREATE USER, ALTER USER, SET PASSWORD, GRANT, REVOKE of privileges.

use super::ast::*;
use super::lexer::{Op, TokenKind, syntax_error, unquote};
use super::parser::Parser;
use tidemark_types::error::Result;

impl Parser<'_> {
    pub(super) fn user_name(&mut self) -> Result<UserName> {
        if self.accept("CURRENT_USER") {
            if self.accept_op(Op::LParen) {
                self.expect_op(Op::RParen)?;
            }
            return Ok(UserName {
                user: String::new(),
                host: String::new(),
                current: true,
            });
        }
        let begin = self.token();
        let user = self.name_or_string()?;
        let mut host = "%".to_string();
        if self.token().kind == TokenKind::At {
            let token = self.advance();
            let raw = &self.text(token)[1..];
            host = match raw.first() {
                Some(b'\'' | b'"' | b'`') => String::from_utf8_lossy(&unquote(raw, self.mode)).into_owned(),
                Some(_) => String::from_utf8_lossy(raw).into_owned(),
                None => self.name_or_string()?,
            };
            // An unquoted host may hold what the lexer does not take for a name: `10.0.0.%`, `my-host`.
            while matches!(self.token().kind, TokenKind::Op(Op::Percent | Op::Minus)) {
                let token = self.advance();
                host.push_str(&self.word_text(token));
                if matches!(self.token().kind, TokenKind::Word | TokenKind::Int)
                    && self.token().start == token.end
                {
                    let token = self.advance();
                    host.push_str(&self.word_text(token));
                }
            }
        }
        if user.contains('\0') || host.contains('\0') {
            return Err(syntax_error(self.sql, begin.start as usize));
        }
        host.make_ascii_lowercase();
        Ok(UserName {
            user,
            host,
            current: false,
        })
    }

    fn user_spec(&mut self) -> Result<UserSpec> {
        let name = self.user_name()?;
        self.identified(name)
    }

    /// What follows a user's name.
    fn identified(&mut self, name: UserName) -> Result<UserSpec> {
        let mut spec = UserSpec {
            name,
            auth: None,
            discard_old: self.accept_all(&["DISCARD", "OLD", "PASSWORD"]),
        };
        if spec.discard_old || !self.accept("IDENTIFIED") {
            return Ok(spec);
        }
        let mut auth = UserAuth {
            plugin: None,
            secret: AuthSecret::None,
            change: SecretChange::default(),
        };
        if self.accept("WITH") {
            auth.plugin = Some(self.name_or_string()?.to_ascii_lowercase());
            if self.accept("BY") {
                auth.secret = match self.accept_all(&["RANDOM", "PASSWORD"]) {
                    true => AuthSecret::Random,
                    false => AuthSecret::Password(self.string()?),
                };
            } else if self.accept("AS") {
                auth.secret = AuthSecret::Hash(self.hash()?);
            }
        } else {
            self.expect("BY")?;
            auth.secret = if self.accept_all(&["RANDOM", "PASSWORD"]) {
                AuthSecret::Random
            } else if self.accept("PASSWORD") {
                auth.plugin = Some("mysql_native_password".to_string());
                AuthSecret::Hash(self.string()?)
            } else {
                AuthSecret::Password(self.string()?)
            };
        }
        auth.change = self.secret_change()?;
        spec.auth = Some(auth);
        Ok(spec)
    }

    /// `[REPLACE 'current'] [RETAIN CURRENT PASSWORD]`
    fn secret_change(&mut self) -> Result<SecretChange> {
        let current = match self.accept("REPLACE") {
            true => Some(self.string()?),
            false => None,
        };
        Ok(SecretChange {
            current,
            retain: self.accept_all(&["RETAIN", "CURRENT", "PASSWORD"]),
        })
    }

    fn hash(&mut self) -> Result<Vec<u8>> {
        let token = self.token();
        if token.kind != TokenKind::Hex {
            return self.string();
        }
        self.advance();
        match super::expr::number_literal(token.kind, self.text(token))? {
            Literal::Hex(bytes) => Ok(bytes),
            _ => self.error(),
        }
    }

    pub(super) fn create_user(&mut self) -> Result<Statement> {
        let if_not_exists = self.accept_all(&["IF", "NOT", "EXISTS"]);
        let users = self.list(Parser::user_spec)?;
        let default_roles = match self.accept_all(&["DEFAULT", "ROLE"]) {
            true => self.role_list()?,
            false => Vec::new(),
        };
        let options = self.account_options()?;
        Ok(Statement::CreateUser {
            users,
            options,
            default_roles,
            if_not_exists,
        })
    }

    pub(super) fn alter_user(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists();
        let users = self.list(|p| {
            if p.is("USER") && p.token_at(1).kind == TokenKind::Op(Op::LParen) {
                // USER() is the current user.
                p.advance();
                p.in_parens(|_| Ok(()))?;
                return p.identified(UserName {
                    user: String::new(),
                    host: String::new(),
                    current: true,
                });
            }
            p.user_spec()
        })?;
        if let [UserSpec { name, auth: None, .. }] = users.as_slice()
            && self.accept_all(&["DEFAULT", "ROLE"])
        {
            return Ok(Statement::SetDefaultRole {
                choice: self.default_roles()?,
                users: vec![name.clone()],
            });
        }
        let options = self.account_options()?;
        Ok(Statement::AlterUser {
            users,
            options,
            if_exists,
        })
    }

    /// After `SET PASSWORD`.
    pub(super) fn set_password(&mut self) -> Result<Statement> {
        let user = if self.accept("FOR") {
            Some(self.user_name()?)
        } else {
            None
        };
        let secret = if self.accept_all(&["TO", "RANDOM"]) {
            AuthSecret::Random
        } else {
            if !self.accept_op(Op::Eq) {
                self.expect("TO")?;
            }
            let in_function = self.is("PASSWORD") && self.token_at(1).kind == TokenKind::Op(Op::LParen);
            AuthSecret::Password(match in_function {
                true => {
                    self.advance();
                    self.in_parens(Parser::string)?
                }
                false => self.string()?,
            })
        };
        let change = self.secret_change()?;
        Ok(Statement::SetPassword { user, secret, change })
    }

    fn privileges(&mut self) -> Result<Vec<Privilege>> {
        self.list(|p| {
            let mut name = String::new();
            while p.token().kind == TokenKind::Word && !p.is("ON") && !p.is("TO") && !p.is("FROM") {
                if !name.is_empty() {
                    name.push(' ');
                }
                name.push_str(&p.word_upper()?);
            }
            if name.is_empty() {
                return p.error();
            }
            if name == "ALL PRIVILEGES" {
                name = "ALL".to_string();
            }
            let has_columns = matches!(name.as_str(), "SELECT" | "INSERT" | "UPDATE" | "REFERENCES");
            let columns = match has_columns && p.is_op(Op::LParen) {
                true => p.in_parens(Parser::name_list)?,
                false => Vec::new(),
            };
            Ok(Privilege { name, columns })
        })
    }

    fn privilege_level(&mut self) -> Result<PrivilegeLevel> {
        self.accept_any(&["TABLE", "FUNCTION", "PROCEDURE"]);
        if self.accept_op(Op::Star) {
            if self.accept_op(Op::Dot) {
                self.expect_op(Op::Star)?;
                return Ok(PrivilegeLevel::Global);
            }
            return Ok(PrivilegeLevel::Database(None));
        }
        let first = self.name()?;
        if !self.accept_op(Op::Dot) {
            return Ok(PrivilegeLevel::Table(ObjectName {
                schema: None,
                name: first,
            }));
        }
        if self.accept_op(Op::Star) {
            return Ok(PrivilegeLevel::Database(Some(first)));
        }
        let name = self.any_name()?;
        Ok(PrivilegeLevel::Table(ObjectName {
            schema: Some(first),
            name,
        }))
    }

    pub(super) fn grant(&mut self) -> Result<Statement> {
        if self.is("PROXY") {
            return self.skip_unsupported("GRANT PROXY");
        }
        if self.names_roles("TO") {
            return self.grant_roles();
        }
        let privileges = self.privileges()?;
        self.expect("ON")?;
        let level = self.privilege_level()?;
        self.expect("TO")?;
        let users = self.list(Parser::user_name)?;
        let grant_option = self.accept_all(&["WITH", "GRANT", "OPTION"]);
        let grantor = match self.accept("AS") {
            true => Some(self.grantor()?),
            false => None,
        };
        Ok(Statement::Grant(Grant {
            privileges,
            level,
            users,
            grant_option,
            grantor,
        }))
    }

    /// After `AS`: `user [WITH ROLE …]`.
    fn grantor(&mut self) -> Result<(UserName, RoleChoice)> {
        let user = self.user_name()?;
        let roles = match self.accept_all(&["WITH", "ROLE"]) {
            true => self.role_choice()?,
            false => RoleChoice::Default,
        };
        Ok((user, roles))
    }

    pub(super) fn revoke(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists();
        if !self.is("ALL") && self.names_roles("FROM") {
            return self.revoke_roles(if_exists);
        }
        let privileges = self.privileges()?;
        let level = if self.accept("ON") {
            Some(self.privilege_level()?)
        } else {
            None
        };
        self.expect("FROM")?;
        let users = self.list(Parser::user_name)?;
        Ok(Statement::Revoke(Revoke {
            privileges,
            level,
            users,
            if_exists,
        }))
    }
}
