//! The roles that are active in a session, and what it may do with them.
//!
//! SET ROLE and a login choose roles by name; which of them count is found from the accounts as they are now, so that a
//! role that is revoked or dropped gives nothing from the session's next statement on. What was found is kept until the
//! accounts or the choice change, which two loads tell.

use super::state::SessionState;
use crate::accounts::roles::{self, listed, not_granted};
use crate::accounts::{AuthId, EVERYBODY, Rights};
use crate::error::Result;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

/// When a session's rights were found: the version of the accounts, and how often the session had chosen its roles. Nothing
/// that was allowed at the same time needs to be asked for again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RightsAt {
    accounts: u64,
    choices: u64,
}

/// What a session has chosen, and what follows.
#[derive(Default)]
pub struct ActiveRoles {
    chosen: RefCell<BTreeSet<AuthId>>,
    choices: Cell<u64>,
    /// What the session may do, as of a moment.
    found: RefCell<Option<(RightsAt, Arc<Rights>)>>,
    /// Those in whose place the statement acts now, while it looks into views; the innermost last.
    acting: RefCell<Vec<Arc<Rights>>>,
    /// The definers of the stored programs that run, the innermost last.
    definers: RefCell<Vec<Option<AuthId>>>,
}

/// While it lives, the session's rights are another's.
pub struct Acting<'s>(&'s ActiveRoles);

impl Drop for Acting<'_> {
    fn drop(&mut self) {
        self.0.acting.borrow_mut().pop();
    }
}

impl SessionState {
    /// As of when the session's rights hold.
    #[inline]
    pub fn rights_at(&self) -> RightsAt {
        RightsAt {
            accounts: self.database.accounts.version(),
            choices: self.roles.choices.get(),
        }
    }

    /// What the account and its active roles may do now.
    pub fn rights(&self) -> Arc<Rights> {
        if let Some(acting) = self.roles.acting.borrow().last() {
            return Arc::clone(acting);
        }
        let now = self.rights_at();
        if let Some((at, rights)) = &*self.roles.found.borrow()
            && *at == now
        {
            return Arc::clone(rights);
        }
        let rights = Arc::new(self.rights_with(&self.roles.chosen.borrow()));
        *self.roles.found.borrow_mut() = Some((now, Arc::clone(&rights)));
        rights
    }

    /// Acts with the rights of another account and its default roles: a view's definer. `None` if there is no such account.
    pub fn act_as(&self, user: &str, host: &str) -> Option<Acting<'_>> {
        Some(self.act_again(&self.rights_of(user, host)?))
    }

    /// Returns the rights of another account and its default roles. `None` if there is no such account.
    pub fn rights_of(&self, user: &str, host: &str) -> Option<Arc<Rights>> {
        let accounts = &self.database.accounts;
        let account = accounts.of_definer(user, host)?;
        let granted = accounts.granted_roles(&account);
        let active = account
            .default_roles
            .iter()
            .filter(|id| granted.contains_key(*id));
        let roles = accounts.with_their_roles(active.cloned());
        Some(Arc::new(Rights::new(account, roles)))
    }

    /// Acts in the name of a stored program's definer until [`SessionState::end_acting`], of which CURRENT_USER() tells.
    pub fn begin_acting(&self, rights: Arc<Rights>) {
        let definer = rights.parts().first().map(|account| account.id());
        self.roles.definers.borrow_mut().push(definer);
        self.roles.acting.borrow_mut().push(rights);
    }

    /// The program has ended.
    pub fn end_acting(&self) {
        self.roles.definers.borrow_mut().pop();
        self.roles.acting.borrow_mut().pop();
    }

    /// Returns the rights in whose place the session acts, if they are another's.
    pub fn acting_rights(&self) -> Option<Arc<Rights>> {
        self.roles.acting.borrow().last().cloned()
    }

    /// Returns the user and host in whose name statements are executed: the account's, or those of a stored program's definer.
    pub fn acting_user(&self) -> (String, String) {
        let definers = self.roles.definers.borrow();
        match definers.last().and_then(Option::as_ref) {
            Some(definer) => (definer.user.clone(), definer.host.clone()),
            None => (self.info.account.user.clone(), self.info.account.host.clone()),
        }
    }

    /// Acts again with rights that were found before: those of [`SessionState::rights`] at some place within a view.
    pub fn act_again(&self, rights: &Arc<Rights>) -> Acting<'_> {
        self.roles.acting.borrow_mut().push(Arc::clone(rights));
        Acting(&self.roles)
    }

    /// Acts with all rights: what is looked at is only described to accounts that may see it.
    pub fn act_unrestricted(&self) -> Acting<'_> {
        let all = self.database.full_account(EVERYBODY.0, EVERYBODY.1);
        self.act_with(Rights::new(all, Vec::new()))
    }

    fn act_with(&self, rights: Rights) -> Acting<'_> {
        self.roles.acting.borrow_mut().push(Arc::new(rights));
        Acting(&self.roles)
    }

    /// What the account may do with those of the roles that it is granted.
    fn rights_with(&self, chosen: &BTreeSet<AuthId>) -> Rights {
        let account = self.account();
        if chosen.is_empty() {
            return Rights::new(account, Vec::new());
        }
        let accounts = &self.database.accounts;
        let granted = accounts.granted_roles(&account);
        let active = chosen.iter().filter(|id| granted.contains_key(*id));
        let roles = accounts.with_their_roles(active.cloned());
        Rights::new(account, roles)
    }

    /// CURRENT_ROLE(): what was chosen last, as MySQL shows it, even if it has been revoked since.
    pub fn active_roles_text(&self) -> String {
        let chosen = self.roles.chosen.borrow();
        match chosen.is_empty() {
            true => "NONE".to_owned(),
            false => listed(&*chosen),
        }
    }

    /// The roles that were chosen last.
    pub fn active_roles(&self) -> BTreeSet<AuthId> {
        self.roles.chosen.borrow().clone()
    }

    /// SET ROLE of a list. Error 3530 if one of them is not granted.
    pub fn choose_roles(&self, wanted: BTreeSet<AuthId>) -> Result<()> {
        let account = self.account();
        let granted = self.database.accounts.granted_roles(&account);
        if let Some(id) = wanted.iter().find(|id| !granted.contains_key(*id)) {
            return Err(not_granted(id, &account.id()));
        }
        self.activate_roles(wanted);
        Ok(())
    }

    /// SET ROLE ALL, without some.
    pub fn choose_all_roles(&self, except: &BTreeSet<AuthId>) {
        let granted = self.database.accounts.granted_roles(&self.account());
        let wanted = granted.into_keys().filter(|id| !except.contains(id));
        self.activate_roles(wanted.collect());
    }

    /// SET ROLE DEFAULT: those of a login that are granted.
    pub fn choose_default_roles(&self) {
        let account = self.account();
        let accounts = &self.database.accounts;
        let granted = accounts.granted_roles(&account);
        let mut wanted = account.default_roles.clone();
        wanted.retain(|id| granted.contains_key(id));
        self.activate_roles(wanted);
    }

    /// The roles of a new session: all of them under `activate_all_roles_on_login`, else the default ones, and the mandatory
    /// ones under `activate_mandatory_roles`.
    pub fn begin_roles(&self) {
        let is_on = |name| {
            self.database
                .globals()
                .by_name(name)
                .is_some_and(|on| on.as_bool())
        };
        if is_on("activate_all_roles_on_login") {
            self.choose_all_roles(&BTreeSet::new());
            return;
        }
        self.choose_default_roles();
        if is_on("activate_mandatory_roles") {
            let own = roles::AuthId::new(&self.info.account.user, &self.info.account.host);
            let mut wanted = self.active_roles();
            wanted.extend(self.database.accounts.mandatory_roles(&own));
            self.activate_roles(wanted);
        }
    }

    /// SET ROLE NONE, for an empty set.
    pub fn activate_roles(&self, wanted: BTreeSet<AuthId>) {
        *self.roles.chosen.borrow_mut() = wanted;
        self.roles.choices.set(self.roles.choices.get() + 1);
    }
}
