//! The authenticated caller. Every use case takes it first, and reads only what is the caller's.

use domain::ids::UserId;
use domain::keys::{Scope, Scopes};
use domain::users::{Plan, Quotas, Role};
use store::Tenant;

use crate::records::{ApiKey, User, names};
use crate::{Error, Secret};

/// An authenticated account.
#[derive(Clone, Debug)]
pub struct Caller {
    pub user: User,
    pub tenant: Tenant,
    /// The key as it was presented; `GET /users/me` echoes it.
    pub presented_key: Secret<String>,
    /// None for the operator, who needs no key.
    pub key: Option<UsedKey>,
    /// The session of the console that the request belongs to.
    pub session: Option<String>,
}

/// What is known of the key that a request was made with.
#[derive(Clone, Debug)]
pub struct UsedKey {
    pub id: String,
    pub name: Option<String>,
    /// Everything that the account may do, when absent.
    pub scopes: Option<Scopes>,
    pub expires_at: Option<u64>,
}

// === impl Caller ===

impl Caller {
    pub fn new(user: User, presented_key: Secret<String>, key: Option<UsedKey>) -> Self {
        let tenant = names::tenant(&user.id);
        Self { user, tenant, presented_key, key, session: None }
    }

    /// The process that may open the data folder: it needs no account.
    pub fn operator() -> Self {
        let (id, plan) = (UserId::from_random([0xff; 16]), Plan::Free { quotas: Quotas::default() });
        let (username, email) = ("operator".to_owned(), String::new());
        let user = User { id, username, email, role: Role::Admin, plan, created_at: 0, updated_at: 0 };
        Self::new(user, Secret::new(String::new()), None)
    }

    /// Refuses when the key does not have the scope. `admin` needs the role as well.
    pub fn require(&self, scope: Scope) -> Result<(), Error> {
        if self.scopes().has(scope) {
            return Ok(());
        }
        Err(match (scope, self.user.role) {
            (Scope::Admin, Role::Member) => Error::NotAdmin,
            _ => Error::Scope { needs: scope },
        })
    }

    pub fn require_admin(&self) -> Result<(), Error> {
        self.require(Scope::Admin)
    }

    /// Refuses when the key does not have all of these.
    pub fn require_all(&self, scopes: &Scopes) -> Result<(), Error> {
        self.scopes().first_missing(scopes).map_or(Ok(()), |missing| self.require(missing))
    }

    /// What a key of this account may do, given the scopes that it was made with.
    pub fn effective(&self, scopes: Option<&Scopes>) -> Scopes {
        let scopes = scopes.cloned().unwrap_or_else(Scopes::all);
        match self.user.role {
            Role::Admin => scopes,
            Role::Member => scopes.without(Scope::Admin),
        }
    }

    /// What the request may do.
    pub fn scopes(&self) -> Scopes {
        self.effective(self.key.as_ref().and_then(|key| key.scopes.as_ref()))
    }

    /// Whether the caller sees what lets others act: the address of an endpoint is all that protects it.
    pub fn sees_endpoints(&self) -> bool {
        let scopes = self.scopes();
        scopes.has(Scope::Write) || scopes.has(Scope::Deploy)
    }
}

// === impl UsedKey ===

impl From<ApiKey> for UsedKey {
    fn from(key: ApiKey) -> Self {
        Self { id: key.id, name: key.name, scopes: key.scopes, expires_at: key.expires_at }
    }
}
