//! Who asks. Every use case takes it first, and reads only what is the caller's.

use domain::ids::UserId;
use domain::users::{Plan, Quotas, Role};
use store::Tenant;

use crate::records::{User, names};
use crate::{Error, Secret};

/// An authenticated account.
#[derive(Clone, Debug)]
pub struct Caller {
    pub user: User,
    pub tenant: Tenant,
    /// The key as it was presented; `GET /users/me` echoes it.
    pub presented_key: Secret<String>,
}

// === impl Caller ===

impl Caller {
    pub fn new(user: User, presented_key: Secret<String>) -> Self {
        let tenant = names::tenant(&user.id);
        Self { user, tenant, presented_key }
    }

    /// Whoever may open the data folder: they need no account.
    pub fn operator() -> Self {
        let (id, plan) = (UserId::from_random([0xff; 16]), Plan::Free { quotas: Quotas::default() });
        let (username, email) = ("operator".to_owned(), String::new());
        let user = User { id, username, email, role: Role::Admin, plan, created_at: 0, updated_at: 0 };
        Self::new(user, Secret::new(String::new()))
    }

    pub fn require_admin(&self) -> Result<(), Error> {
        match self.user.role {
            Role::Admin => Ok(()),
            Role::Member => Err(Error::NotAdmin),
        }
    }
}
