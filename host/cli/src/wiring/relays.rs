//! The operator's mail relay and object store, as settings name them.

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use bytes::Bytes;
use domain::mail::address_of;
use domain::s3::{S3Credentials, Unsigned, object_path, refusal, sign};
use outbound::{Body, Config, Outbound, Redirect, Relay, Request, Url};
use platform::ports::{Clock, EmailTerms, NotTaken, Recipients, Relays, SystemClock};
use store::Tenant;

use super::assembly::Secrets;
use crate::failure::Misuse;
use crate::settings::{Settings, SmtpRecipients};

/// What an object store answers is read no further than a reason is long.
const REASON_BYTES: u64 = 4096;

pub(crate) struct OwnRelays {
    email: Option<(Relay, EmailTerms)>,
    objects: Option<Objects>,
}

/// An object store that speaks the protocol of Amazon S3.
struct Objects {
    /// Its address is the operator's own choice: it alone is exempt from the address filter.
    outbound: Outbound,
    endpoint: Url,
    host: String,
    credentials: S3Credentials,
    /// A bucket, and whose it is alone.
    buckets: Vec<(Option<String>, String)>,
}

// === impl OwnRelays ===

impl OwnRelays {
    pub(crate) fn open(settings: &Settings, secrets: &Secrets) -> Result<Self> {
        let email = settings.smtp_url.as_deref().map(|url| open_email(url, settings)).transpose()?;
        let objects = settings.s3_endpoint.as_deref().map(|url| Objects::open(url, settings, secrets)).transpose()?;
        Ok(Self { email, objects })
    }
}

fn open_email(url: &str, settings: &Settings) -> Result<(Relay, EmailTerms)> {
    let relay = Relay::parse(url).map_err(Misuse::of).context("`smtp_url` cannot be used")?;
    let from = settings.smtp_from.clone().unwrap_or_default();
    if !address_of(&from).contains('@') || from.chars().any(char::is_control) {
        bail!("`smtp_url` needs `smtp_from`: what e-mail is sent from, such as noreply@example.com");
    }
    let recipients = match settings.smtp_recipients {
        SmtpRecipients::Owner => Recipients::Owner,
        SmtpRecipients::Any => Recipients::Any,
    };
    Ok((relay, EmailTerms { from, recipients }))
}

#[async_trait]
impl Relays for OwnRelays {
    fn email(&self) -> Option<&EmailTerms> {
        self.email.as_ref().map(|(_, terms)| terms)
    }

    async fn send_email(&self, to: &[String], message: &str) -> Result<(), NotTaken> {
        let Some((relay, terms)) = &self.email else { return platform::ports::NoRelays.send_email(to, message).await };
        let sent = relay.send(address_of(&terms.from), to, message).await;
        sent.map_err(|outbound::NotTaken { reason, is_final }| NotTaken { reason, is_final })
    }

    fn has_object_store(&self) -> bool {
        self.objects.is_some()
    }

    fn check_bucket(&self, tenant: &Tenant, bucket: &str) -> Result<(), String> {
        let Some(objects) = &self.objects else { return platform::ports::NoRelays.check_bucket(tenant, bucket) };
        let is_open = |(whose, open): &(Option<String>, String)| {
            open == bucket && whose.as_deref().is_none_or(|whose| whose == tenant.as_str())
        };
        match objects.buckets.iter().any(is_open) {
            true => Ok(()),
            false => Err(format!("the bucket {bucket} is not open to you: the operator opens it with --s3-bucket")),
        }
    }

    async fn put_object(&self, tenant: &Tenant, bucket: &str, key: &str, body: Bytes) -> Result<(), NotTaken> {
        match &self.objects {
            // The operator may have closed it since.
            Some(objects) => match self.check_bucket(tenant, bucket) {
                Ok(()) => objects.put(tenant, bucket, key, body).await,
                Err(reason) => Err(NotTaken { reason, is_final: true }),
            },
            None => platform::ports::NoRelays.put_object(tenant, bucket, key, body).await,
        }
    }
}

// === impl Objects ===

impl Objects {
    fn open(url: &str, settings: &Settings, secrets: &Secrets) -> Result<Self> {
        let endpoint = Url::parse(url).context("`s3_endpoint` is not an address")?;
        let (Some(host), true) = (endpoint.host(), matches!(endpoint.scheme(), "http" | "https")) else {
            bail!("`s3_endpoint` must be an address of http or https: {url}");
        };
        let missing = "is missing: the object store needs `s3_access_key_id` and WELLSPRING_S3_SECRET_ACCESS_KEY";
        let credentials = S3Credentials {
            access_key_id: settings.s3_access_key_id.clone().with_context(|| format!("the key id {missing}"))?,
            secret_access_key: secrets.s3_secret_access_key.clone().with_context(|| format!("the key {missing}"))?,
            session_token: None,
            region: settings.s3_region.clone(),
        };
        let exempt_origins = vec![(host.to_owned(), endpoint.port_or_known_default().unwrap_or_default())];
        let outbound = Outbound::new(Config { exempt_origins, ..Config::default() })?;
        let host = endpoint.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        let bucket = |rule: &String| match rule.split_once('@') {
            Some((tenant, bucket)) => (Some(tenant.to_owned()), bucket.to_owned()),
            None => (None, rule.clone()),
        };
        let buckets = settings.s3_bucket.iter().map(bucket).collect();
        Ok(Self { outbound, endpoint, host, credentials, buckets })
    }

    async fn put(&self, tenant: &Tenant, bucket: &str, key: &str, body: Bytes) -> Result<(), NotTaken> {
        let path = format!("{}{}", self.endpoint.path().trim_end_matches('/'), object_path(bucket, key));
        let unsigned = Unsigned { method: "PUT", host: &self.host, path: &path, headers: &[], body: &body };
        let headers = sign(&unsigned, &self.credentials, i64::try_from(SystemClock.now_ms()).unwrap_or(i64::MAX));
        let url = format!("{}://{}{path}", self.endpoint.scheme(), self.host);
        let mut request = Request::new("PUT", &url).map_err(|error| later(error.to_string()))?;
        request.headers = headers.into_iter().map(|(name, value)| (name, Bytes::from(value))).collect();
        request.body = Body::from(body);
        request.redirect = Redirect::Manual;
        let answered = self.outbound.of_tenant(tenant.as_str()).send(request).await;
        let response = answered.map_err(|error| later(error.to_string()))?;
        let status = response.status.as_u16();
        let text = response.body.collect(REASON_BYTES).await.unwrap_or_default();
        match refusal(status, &String::from_utf8_lossy(&text)) {
            None => Ok(()),
            Some((reason, is_final)) => Err(NotTaken { reason, is_final }),
        }
    }
}

fn later(reason: String) -> NotTaken {
    NotTaken { reason, is_final: false }
}
