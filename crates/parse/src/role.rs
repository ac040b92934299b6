//! CREATE ROLE, DROP ROLE, GRANT and REVOKE of roles, SET ROLE, SET DEFAULT ROLE.
//!
//! GRANT and REVOKE of privileges have an ON, those of roles have none.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::Result;

/// Words that are names elsewhere but name no role unless they are quoted.
const NO_ROLES: &[&str] = &[
    "CURRENT_USER",
    "EVENT",
    "EXECUTE",
    "FILE",
    "NONE",
    "PROCESS",
    "PROXY",
    "RELOAD",
    "REPLICATION",
    "RESOURCE",
    "RESTART",
    "SHUTDOWN",
    "SUPER",
];

impl Parser<'_> {
    fn role_name(&mut self) -> Result<UserName> {
        let is_string = self.token().kind == TokenKind::Str;
        if !is_string && (!self.is_name() || self.is_any(NO_ROLES)) {
            return self.error();
        }
        self.user_name()
    }

    pub(super) fn role_list(&mut self) -> Result<Vec<UserName>> {
        self.list(Parser::role_name)
    }

    /// True if the statement has no ON before `end`, the word that comes before the accounts.
    pub(super) fn names_roles(&self, end: &str) -> bool {
        let mut ahead = 0;
        loop {
            match self.token_at(ahead).kind {
                TokenKind::End | TokenKind::Op(Op::Semicolon) => return false,
                TokenKind::Word if self.is_ahead(ahead, "ON") => return false,
                TokenKind::Word if self.is_ahead(ahead, end) => return true,
                _ => ahead += 1,
            }
        }
    }

    /// After `CREATE ROLE`.
    pub(super) fn create_role(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        Ok(Statement::CreateRole {
            roles: self.role_list()?,
            if_not_exists,
        })
    }

    /// After `DROP ROLE`.
    pub(super) fn drop_role(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists();
        Ok(Statement::DropRole {
            roles: self.role_list()?,
            if_exists,
        })
    }

    pub(super) fn grant_roles(&mut self) -> Result<Statement> {
        let roles = self.role_list()?;
        self.expect("TO")?;
        let users = self.list(Parser::user_name)?;
        let admin_option = self.accept("WITH");
        if admin_option {
            self.expect("ADMIN")?;
            self.expect("OPTION")?;
        }
        Ok(Statement::GrantRoles(RoleGrant {
            roles,
            users,
            admin_option,
            if_exists: false,
            ignore_unknown_user: false,
        }))
    }

    pub(super) fn revoke_roles(&mut self, if_exists: bool) -> Result<Statement> {
        let roles = self.role_list()?;
        self.expect("FROM")?;
        let users = self.list(Parser::user_name)?;
        Ok(Statement::RevokeRoles(RoleGrant {
            roles,
            users,
            admin_option: false,
            if_exists,
            ignore_unknown_user: self.accept_all(&["IGNORE", "UNKNOWN", "USER"]),
        }))
    }

    /// After `SET ROLE`.
    pub(super) fn set_role(&mut self) -> Result<Statement> {
        Ok(Statement::SetRole(self.role_choice()?))
    }

    /// `DEFAULT`, `ALL EXCEPT …`, `NONE`, `ALL` or a list.
    pub(super) fn role_choice(&mut self) -> Result<RoleChoice> {
        if self.accept("DEFAULT") {
            return Ok(RoleChoice::Default);
        }
        if self.accept_all(&["ALL", "EXCEPT"]) {
            return Ok(RoleChoice::All {
                except: self.role_list()?,
            });
        }
        self.default_roles()
    }

    /// After `SET DEFAULT ROLE`.
    pub(super) fn set_default_role(&mut self) -> Result<Statement> {
        let choice = self.default_roles()?;
        self.expect("TO")?;
        Ok(Statement::SetDefaultRole {
            choice,
            users: self.role_list()?,
        })
    }

    /// `NONE`, `ALL` or a list.
    pub(super) fn default_roles(&mut self) -> Result<RoleChoice> {
        Ok(match self.accept_any(&["NONE", "ALL"]) {
            Some("NONE") => RoleChoice::None,
            Some(_) => RoleChoice::All { except: Vec::new() },
            None => RoleChoice::List(self.role_list()?),
        })
    }
}
