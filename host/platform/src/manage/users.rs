//! The current user, and the operator's view of all of them.

mod delete;

use domain::ids::UserId;
use domain::keys::Scopes;
use domain::paging::PageQuery;
use domain::users::{Plan, Quotas, Role, Usage, day_start_ms};
use serde::Serialize;
use store::{DirectoryWrite, Lookup, Tenant};

use super::keys::{self, KeyRequest, NewKey};
use crate::paging::{PageOf, page};
use crate::records::{User, names, table};
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret};

pub use delete::delete;
pub(super) use delete::forget_step;

const NAME_BYTES_MAXIMUM: usize = 128;

/// What `GET /users/me` returns: the fields of the plan the user has.
#[derive(Debug, Serialize)]
pub struct Me {
    pub id: UserId,
    pub username: String,
    pub email: String,
    #[serde(flatten)]
    pub plan: MyPlan,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum MyPlan {
    Free {
        /// Not for a key with scopes: what only reads sees nothing secret. Nor for a session, which has no key to show.
        #[serde(skip_serializing_if = "Option::is_none")]
        api_key: Option<String>,
        daily_compute_time_quota: u64,
        daily_compute_time_used: u64,
        daily_invocations_quota: u64,
        daily_invocations_used: u64,
    },
    Paid {
        billing_period_start_ts: i64,
        billing_period_end_ts: i64,
        billing_period_invocations: u64,
    },
}

/// A user as the operator sees them.
#[derive(Debug, Serialize)]
pub struct UserView {
    pub id: UserId,
    pub username: String,
    pub email: String,
    pub role: Role,
    #[serde(flatten)]
    pub plan: Plan,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Clone, Debug)]
pub struct NewUser {
    pub username: String,
    pub email: String,
    pub role: Role,
    pub quotas: Quotas,
}

/// What an operator may change; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    pub role: Option<Role>,
    pub plan: Option<Plan>,
}

pub async fn me(caller: &Caller, platform: &Platform) -> Result<Me, Error> {
    let user = &caller.user;
    let plan = match &user.plan {
        Plan::Free { quotas } => {
            let usage = usage_today(&caller.tenant, platform).await?;
            MyPlan::Free {
                api_key: has_every_scope(caller)
                    .then(|| caller.presented_key.expose().clone())
                    .filter(|key| !key.is_empty()),
                daily_compute_time_quota: quotas.daily_compute_ms,
                daily_compute_time_used: usage.compute_ms,
                daily_invocations_quota: quotas.daily_invocations,
                daily_invocations_used: usage.invocations,
            }
        }
        Plan::Paid { period_start_ms, period_end_ms, .. } => MyPlan::Paid {
            billing_period_start_ts: period_start_ms.div_euclid(1000),
            billing_period_end_ts: period_end_ms.div_euclid(1000),
            billing_period_invocations: count_period(&caller.tenant, platform, *period_start_ms).await?,
        },
    };
    Ok(Me { id: user.id.clone(), username: user.username.clone(), email: user.email.clone(), plan })
}

/// What the tenant has used today, by UTC.
pub async fn usage_today(tenant: &Tenant, platform: &Platform) -> Result<Usage, Error> {
    let day_start_ms = day_start_ms(platform.clock.instant_ms());
    let counters = [names::compute_of_day(day_start_ms), names::invocations_of_day(day_start_ms)];
    let counted = platform.store.counters(tenant, &counters).await?;
    let number = |index: usize| counted.get(index).and_then(|count| u64::try_from(*count).ok()).unwrap_or(0);
    Ok(Usage { day_start_ms, compute_ms: number(0), invocations: number(1) })
}

/// Refuses what the plan no longer pays for, and what there is no room for.
pub async fn check_quota(caller: &Caller, platform: &Platform) -> Result<(), Error> {
    let usage = usage_today(&caller.tenant, platform).await?;
    usage.check(&caller.user.plan, platform.clock.instant_ms())?;
    platform.check_room(&caller.tenant).await?;
    Ok(platform.check_queue(&caller.tenant)?)
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<User>, Error> {
    caller.require_admin()?;
    page(&names::operator(), platform, query).await
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<User, Error> {
    caller.require_admin()?;
    let found = table::find::<User>(&*platform.store, &names::operator(), Lookup::Id(id)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::User, id))?.record)
}

/// A user by id or name, as the caller of an operator who acts for them.
pub async fn on_behalf_of(platform: &Platform, name_or_id: &str) -> Result<Caller, Error> {
    let claimed = platform.store.look_up(&names::username(name_or_id)).await?;
    let id = claimed.and_then(|id| String::from_utf8(id.to_vec()).ok()).unwrap_or_else(|| name_or_id.to_owned());
    let found = table::find::<User>(&*platform.store, &names::operator(), Lookup::Id(&id)).await?;
    let user = found.ok_or_else(|| Error::not_found(Noun::User, name_or_id))?.record;
    Ok(Caller::new(user, Secret::new(String::new()), None))
}

/// A new account and its first key.
pub async fn create(caller: &Caller, platform: &Platform, new: NewUser) -> Result<(User, NewKey), Error> {
    caller.require_admin()?;
    check_role(caller, Some(new.role))?;
    let user = create_user(platform, UserId::from_random(platform.entropy.bytes()), new).await?;
    let key = keys::create_for(platform, &user.id, KeyRequest::default(), None).await?;
    Ok((user, key))
}

pub async fn update(caller: &Caller, platform: &Platform, id: &str, change: UserChange) -> Result<User, Error> {
    caller.require_admin()?;
    check_role(caller, change.role)?;
    let operator = names::operator();
    let found = table::find::<User>(&*platform.store, &operator, Lookup::Id(id)).await?;
    let mut kept = found.ok_or_else(|| Error::not_found(Noun::User, id))?;
    // The last admin could not be restored through the API.
    if kept.record.id == caller.user.id && change.role == Some(Role::Member) {
        return Err(Error::OwnRole);
    }
    let unchanged = table::unchanged(&kept);
    let user = &mut kept.record;
    user.role = change.role.unwrap_or(user.role);
    user.plan = change.plan.unwrap_or(user.plan);
    user.updated_at = platform.clock.now_seconds();
    platform.store.commit(platform.batch(&operator).require(unchanged).then(table::put(&kept.record)?)).await?;
    Ok(kept.record)
}

/// A further key for a user who lost theirs. It does nothing that the key in use does not.
pub async fn create_key(caller: &Caller, platform: &Platform, id: &str, wish: KeyRequest) -> Result<NewKey, Error> {
    let user = find(caller, platform, id).await?;
    keys::create_for(platform, &user.id, keys::wish_of(caller, platform, wish)?, None).await
}

/// An admin's first key has every scope, so that a key with fewer must not make admins.
fn check_role(caller: &Caller, role: Option<Role>) -> Result<(), Error> {
    match role {
        Some(Role::Admin) => caller.require_all(&Scopes::all()),
        Some(Role::Member) | None => Ok(()),
    }
}

fn has_every_scope(caller: &Caller) -> bool {
    caller.key.as_ref().is_none_or(|key| key.scopes.is_none())
}

/// Names and addresses are unique everywhere, so they are claimed in the directory first.
pub(super) async fn create_user(platform: &Platform, id: UserId, new: NewUser) -> Result<User, Error> {
    check_name("username", &new.username)?;
    check_name("email", &new.email)?;
    if !new.email.contains('@') {
        return Err(Error::expected("email", "an address with an @"));
    }
    let claims = [
        (Noun::Username, &new.username, names::username(&new.username)),
        (Noun::Email, &new.email, names::email(&new.email)),
    ];
    let mut claimed: Vec<String> = Vec::new();
    for (noun, name, key) in claims {
        let value = id.to_string().into();
        if !platform.store.write_directory(DirectoryWrite::Claim { key: key.clone(), value }).await? {
            for key in claimed {
                platform.store.write_directory(DirectoryWrite::Remove { key }).await?;
            }
            return Err(Error::Taken { noun, name: name.clone() });
        }
        claimed.push(key);
    }
    let now = platform.clock.now_seconds();
    let NewUser { username, email, role, quotas } = new;
    let user = User { id, username, email, role, plan: Plan::Free { quotas }, created_at: now, updated_at: now };
    let operator = names::operator();
    platform.store.commit(platform.batch(&operator).then(table::put(&user)?)).await?;
    Ok(user)
}

async fn count_period(tenant: &Tenant, platform: &Platform, period_start_ms: i64) -> Result<u64, Error> {
    let counters = [names::invocations_of_period(period_start_ms)];
    let counted = platform.store.counters(tenant, &counters).await?;
    Ok(counted.first().and_then(|count| u64::try_from(*count).ok()).unwrap_or(0))
}

fn check_name(name: &'static str, value: &str) -> Result<(), Error> {
    if value.trim().is_empty() {
        return Err(Error::parameter(name, ParameterError::Empty));
    }
    if value.len() > NAME_BYTES_MAXIMUM {
        let source = ParameterError::TooLong { limit_bytes: NAME_BYTES_MAXIMUM, size_bytes: value.len() };
        return Err(Error::parameter(name, source));
    }
    Ok(())
}

// === impl UserView ===

impl From<User> for UserView {
    fn from(user: User) -> Self {
        let User { id, username, email, role, plan, created_at, updated_at } = user;
        Self { id, username, email, role, plan, created_at, updated_at }
    }
}
