//! Hands e-mails and objects over, after what asked for them is committed: e-mails to the operator's relay, within the account's
//! share of a day; objects to the operator's store, or with the keys of a connected account to a store of the tenant's own.

use std::time::Duration;

use bytes::Bytes;
use domain::actions::{Email, ObjectName};
use domain::ids::{AccountId, EmitId, UserId};
use domain::mail::{Envelope, render};
use domain::plan::iso_8601;
use domain::s3::{self, Endpoint, S3Credentials, Unsigned, object_path, sign};
use domain::users::day_start_ms;
use store::{CommitError, Lookup, Op, Precondition, Tenant};

use crate::ports::{NotTaken, Posting};
use crate::records::{Account, User, names, table};
use crate::tokens::{Credentials, Fresh, Wanted, fresh, open_credentials};
use crate::{Error, Platform};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// What an object store answers is read no further than a reason is long.
const REASON_BYTES: usize = 4096;

/// An object, and where it goes.
pub(crate) struct Object<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    /// Whose keys it is stored with; the operator's when absent.
    pub(crate) account: Option<&'a AccountId>,
    pub(crate) body: Bytes,
}

/// Sends an e-mail to its recipients, or to the owner of the account when it names none. Its first attempt counts against the
/// recipients of the day.
pub(crate) async fn send_email(
    platform: &Platform,
    tenant: &Tenant,
    (id, email): (&str, &Email),
    is_first: bool,
) -> Result<Result<(), NotTaken>, Error> {
    let owner = match email.to.is_empty() {
        true => owner_address(platform, tenant).await?,
        false => None,
    };
    let to: Vec<String> = email.to.iter().cloned().chain(owner).collect();
    let Some(terms) = platform.relays.email().filter(|_| !to.is_empty()) else {
        return Ok(Err(never("this server has no mail relay, or the account no address")));
    };
    if is_first && !count_recipients(platform, tenant, to.len()).await? {
        let limit = platform.config.shares.emails_per_day;
        return Ok(Err(never(&format!("an account has {limit} recipients a day"))));
    }
    let envelope = Envelope { from: &terms.from, to: &to, id, now_ms: platform.clock.instant_ms() };
    let message = render(&Email { to: Vec::new(), ..email.clone() }, &envelope);
    Ok(platform.relays.send_email(&to, &message).await)
}

pub(crate) async fn put_object(
    platform: &Platform,
    tenant: &Tenant,
    object: Object<'_>,
) -> Result<Result<(), NotTaken>, Error> {
    let Object { bucket, key, account, body } = object;
    let Some(account) = account else {
        return Ok(platform.relays.put_object(tenant, bucket, key, body).await);
    };
    match keys_of(platform, tenant, account).await? {
        Ok((endpoint, keys)) => Ok(put_with(platform, tenant, (&endpoint, &keys), (bucket, key), body).await),
        Err(not_taken) => Ok(Err(not_taken)),
    }
}

/// The name of an object: as it was given, or `prefix/2026/11/16/09/2026-11-16T09:30:00.000Z-<id>`, in the order of time, by the
/// hour.
pub(crate) fn object_key(platform: &Platform, name: &ObjectName) -> String {
    let prefix = match name {
        ObjectName::Key(key) => return key.clone(),
        ObjectName::Prefix(prefix) => prefix.trim_end_matches('/'),
    };
    let now_ms = platform.clock.instant_ms();
    let time = iso_8601(now_ms);
    let hour = time.get(..13).unwrap_or_default().replace(['-', 'T'], "/");
    let id = EmitId::new(now_ms, platform.entropy.bytes());
    let separator = if prefix.is_empty() { "" } else { "/" };
    format!("{prefix}{separator}{hour}/{time}-{id}")
}

async fn owner_address(platform: &Platform, tenant: &Tenant) -> Result<Option<String>, Error> {
    let Ok(id) = UserId::parse(tenant.as_str()) else { return Ok(None) };
    let found = table::find::<User>(&*platform.store, &names::operator(), Lookup::Id(id.as_str())).await?;
    Ok(found.map(|kept| kept.record.email))
}

/// `false` when there were too many today.
async fn count_recipients(platform: &Platform, tenant: &Tenant, recipients: usize) -> Result<bool, Error> {
    let day_ms = day_start_ms(platform.clock.instant_ms());
    let counter = names::emails_of_day(day_ms);
    let amount = i64::try_from(recipients).unwrap_or(i64::MAX);
    let limit = i64::try_from(platform.config.shares.emails_per_day).unwrap_or(i64::MAX);
    let below = Precondition::CounterBelow { counter: counter.clone(), limit: limit.saturating_sub(amount - 1) };
    let expires_ms = u64::try_from(day_ms + 2 * DAY_MS).ok();
    let count = Op::Count { counter, amount, expires_ms };
    match platform.store.commit(platform.batch(tenant).require(below).then(count)).await {
        Ok(_) => Ok(true),
        Err(CommitError::Conflict { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Where an account's objects go, and what signs for them.
async fn keys_of(
    platform: &Platform,
    tenant: &Tenant,
    id: &AccountId,
) -> Result<Result<(Endpoint, S3Credentials), NotTaken>, Error> {
    let Some(kept) = table::find::<Account>(&*platform.store, tenant, Lookup::Id(id.as_str())).await? else {
        return Ok(Err(never(&format!("the account {id} was deleted"))));
    };
    let record = match fresh(platform, tenant, kept.record, Wanted::Usable).await? {
        Fresh::Ready(record) => *record,
        Fresh::Gone => return Ok(Err(never(&format!("the account {id} was deleted")))),
        Fresh::Dead(death) => {
            return Ok(Err(never(&format!("the account {id} has to be connected again: {}", death.reason))));
        }
        Fresh::Unavailable(reason) => return Ok(Err(later(reason))),
    };
    let credentials = open_credentials(platform, tenant, &record)?;
    let found = s3_keys(&credentials).ok_or_else(|| {
        let name = &record.name;
        never(&format!("the account {name} ({id}) has no `access_key_id` and `secret_access_key`, or an `endpoint` that is no address"))
    });
    Ok(found)
}

/// From the fields of an account, in the spellings in use: `access_key_id`, `accessKeyId`, `AWS_ACCESS_KEY_ID`.
fn s3_keys(credentials: &Credentials) -> Option<(Endpoint, S3Credentials)> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '-'], "").trim_start_matches("aws").to_owned();
    let field = |wanted: &str| {
        let found = credentials.iter().find(|(name, _)| plain(name) == wanted).map(|(_, value)| value.clone());
        found.filter(|value| !value.is_empty())
    };
    let region = field("region").unwrap_or_else(|| "us-east-1".to_owned());
    let endpoint = field("endpoint").unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
    let keys = S3Credentials {
        access_key_id: field("accesskeyid")?,
        secret_access_key: field("secretaccesskey")?,
        session_token: field("sessiontoken"),
        region,
    };
    Some((Endpoint::parse(&endpoint)?, keys))
}

/// Over the tenant's own way out: the address is the tenant's choice.
async fn put_with(
    platform: &Platform,
    tenant: &Tenant,
    (endpoint, keys): (&Endpoint, &S3Credentials),
    (bucket, key): (&str, &str),
    body: Bytes,
) -> Result<(), NotTaken> {
    let path = format!("{}{}", endpoint.path, object_path(bucket, key));
    let unsigned = Unsigned { method: "PUT", host: &endpoint.host, path: &path, headers: &[], body: &body };
    let posting = Posting {
        method: "PUT".to_owned(),
        url: format!("{}://{}{path}", endpoint.scheme, endpoint.host),
        headers: sign(&unsigned, keys, platform.clock.instant_ms()),
        body,
        timeout: Duration::from_millis(platform.config.limits.delivery_timeout_ms),
        excerpt_bytes: REASON_BYTES,
    };
    let posted = platform.outbound.post(tenant, posting).await.map_err(|error| later(error.to_string()))?;
    match s3::refusal(posted.status, &String::from_utf8_lossy(&posted.excerpt)) {
        None => Ok(()),
        Some((reason, is_final)) => Err(NotTaken { reason, is_final }),
    }
}

fn never(reason: &str) -> NotTaken {
    NotTaken { reason: reason.to_owned(), is_final: true }
}

fn later(reason: String) -> NotTaken {
    NotTaken { reason, is_final: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_the_spellings_in_use() {
        let keys = |fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            s3_keys(&fields).map(|(endpoint, keys)| (endpoint.host, keys.access_key_id, keys.region))
        };
        let expected = |host: &str, region: &str| Some((host.to_owned(), "a".to_owned(), region.to_owned()));

        let plain = [("access_key_id", "a"), ("secret_access_key", "s")];
        assert_eq!(keys(&plain), expected("s3.us-east-1.amazonaws.com", "us-east-1"));
        let amazon = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_REGION", "eu-west-1")];
        assert_eq!(keys(&amazon), expected("s3.eu-west-1.amazonaws.com", "eu-west-1"));
        let own = [("accessKeyId", "a"), ("secretAccessKey", "s"), ("endpoint", "https://minio.example:9000/")];
        assert_eq!(keys(&own), expected("minio.example:9000", "us-east-1"));
        assert_eq!(keys(&[("access_key_id", "a")]), None);
        assert_eq!(keys(&[("accessKeyId", "a"), ("secretAccessKey", "s"), ("endpoint", "ftp://x")]), None);
    }
}
