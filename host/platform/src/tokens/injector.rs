//! What the requests of a run carry.
//!
//! An account is used in one of two ways. With `auth: "token"` the component has the credentials, and the injector only replaces
//! a token that was refreshed since. With `auth: "proxy"` it has stand-ins: the injector puts the credentials in their place, in
//! the headers and parameters that the provider file names, and for the app's own hosts alone. A stand-in anywhere else is
//! refused, because the service may show there what it was sent.

mod swap;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use domain::apps::oauth1::{encode, form_of};
use domain::apps::template::{host_matches, render};
use domain::apps::{Auth, Provider, names};
use domain::ids::AccountId;
use serde_json::Value;
use store::{Lookup, Tenant};
use url::Url;

use self::swap::{Swap, basic_of, swapped_header, swapped_url};
use super::exchange::{place, sign};
use super::{Credentials, Fresh, Wanted, fresh, open_credentials};
use crate::ports::{Carrying, Denied, Outgoing, Passage, Reply};
use crate::providers::OpenClient;
use crate::records::{Account, GrantSecrets, table};
use crate::{Error, Platform};

/// Where components of OAuth 1.0a apps have their requests signed: no host of the network, the injector answers.
pub(crate) const SIGNER_HOST: &str = "oauth-signer.wellspring.internal";
/// Shorter values are not looked for in texts: they would be found everywhere.
const SECRET_BYTES_MINIMUM: usize = 6;

/// The accounts of one run.
pub(crate) struct Injector {
    platform: Platform,
    tenant: Tenant,
    accounts: Vec<InjectedAccount>,
}

/// One account of a run.
pub(crate) struct InjectedAccount {
    pub(crate) prop: String,
    pub(crate) id: AccountId,
    pub(crate) provider: Provider,
    pub(crate) is_proxy: bool,
    /// Of an OAuth 1.0a account, whose requests are signed here.
    pub(crate) client: Option<OpenClient>,
    pub(crate) secrets: GrantSecrets,
    /// `$auth` as the component has it.
    pub(crate) shown: Credentials,
    current: Mutex<Current>,
    /// That the service has refused it in this run.
    was_refused: AtomicBool,
}

#[derive(Clone)]
struct Current {
    credentials: Credentials,
    generation: u64,
}

// === impl Injector ===

impl Injector {
    pub(crate) fn new(platform: &Platform, tenant: &Tenant, accounts: Vec<InjectedAccount>) -> Self {
        Self { platform: platform.clone(), tenant: tenant.clone(), accounts }
    }

    pub(crate) fn authorize(&self, request: &Outgoing) -> Result<Passage, Denied> {
        let Ok(url) = Url::parse(&request.url) else {
            return Ok(Passage::Plain);
        };
        if url.host_str() == Some(SIGNER_HOST) {
            return Ok(Passage::Answered(self.answer_signer(&url, request)));
        }
        for (index, account) in self.accounts.iter().enumerate() {
            if account.is_proxy {
                account.check(&url, request)?;
            }
            if let Some(carrying) = account.carry(&self.platform, index, &url, request) {
                return Ok(Passage::Carrying(Box::new(carrying)));
            }
        }
        Ok(Passage::Plain)
    }

    pub(crate) async fn reauthorize(&self, request: &Outgoing, refused: &Carrying) -> Option<Carrying> {
        let account = self.accounts.get(refused.account)?;
        let renewed = self.renew(account, refused.generation).await;
        let renewed = renewed.inspect_err(|error| tracing::warn!(%error, "a token could not be renewed")).ok()?;
        if !renewed {
            return None;
        }
        account.carry(&self.platform, refused.account, &Url::parse(&request.url).ok()?, request)
    }

    /// Whether the account has another token by now.
    async fn renew(&self, account: &InjectedAccount, generation: u64) -> Result<bool, Error> {
        let id = Lookup::Id(account.id.as_str());
        let Some(kept) = table::find::<Account>(&*self.platform.store, &self.tenant, id).await? else {
            return Ok(false);
        };
        match fresh(&self.platform, &self.tenant, kept.record, Wanted::After(generation)).await? {
            Fresh::Ready(found) => {
                let credentials = open_credentials(&self.platform, &self.tenant, &found)?;
                let generation_now = found.grant.as_ref().map_or(0, |grant| grant.generation);
                let current = Current { credentials, generation: generation_now };
                let is_newer = current.generation > generation;
                *account.lock() = current;
                let is_refreshable = found.grant.as_ref().is_some_and(|grant| grant.is_refreshable);
                // Once a run: a component may go on asking for what it may not have.
                if !is_newer && !is_refreshable && !account.was_refused.swap(true, Ordering::Relaxed) {
                    self.platform.end_refused(&self.tenant, &found, generation).await?;
                }
                Ok(is_newer)
            }
            Fresh::Dead(_) | Fresh::Unavailable(_) | Fresh::Gone => Ok(false),
        }
    }

    /// A text without the credentials of the accounts: those of the beginning, and those that were refreshed.
    pub(crate) fn conceal(&self, mut text: String) -> String {
        for account in &self.accounts {
            let current = account.lock().clone();
            for secret in account.secrets_of(&current.credentials).chain(account.secrets_of(&account.shown)) {
                if text.contains(secret) {
                    text = text.replace(secret, "[credential]");
                }
            }
        }
        text
    }

    /// Signs what the component is about to send. The token that it names is not looked at: the account's own is used.
    fn answer_signer(&self, url: &Url, request: &Outgoing) -> Reply {
        let prop = url.path().trim_start_matches('/');
        let account = self.accounts.iter().find(|account| account.prop == prop);
        let asked: Value =
            request.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let data = asked.get("requestData").unwrap_or(&asked);
        let method = data.get("method").and_then(Value::as_str).unwrap_or("get");
        let target = data.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
        match (account, target) {
            (Some(account), Some(target)) if account.is_own(&target) => {
                match account.signature(&self.platform, method, &target, &form_data(data.get("data"))) {
                    Some(signature) => reply(200, account.with_stand_ins(signature)),
                    None => reply(400, "this account needs no signatures".to_owned()),
                }
            }
            (Some(_), Some(_)) => reply(403, "requests are signed for the app's own hosts only".to_owned()),
            _ => reply(400, "send {\"requestData\": {\"method\": …, \"url\": …}}".to_owned()),
        }
    }
}

fn reply(status: u16, text: String) -> Reply {
    let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
    Reply { status, headers, body: Bytes::from(text) }
}

/// The parameters of a form, as a text or as an object.
fn form_data(data: Option<&Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match data {
        Some(Value::String(form)) => form_of("application/x-www-form-urlencoded", form.as_bytes()),
        Some(Value::Object(pairs)) => pairs.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        _ => Vec::new(),
    }
}

// === impl InjectedAccount ===

impl InjectedAccount {
    pub(crate) fn new(
        prop: &str,
        account: &Account,
        provider: Provider,
        credentials: Credentials,
        shown: Credentials,
    ) -> Self {
        let generation = account.grant.as_ref().map_or(0, |grant| grant.generation);
        Self {
            prop: prop.to_owned(),
            id: account.id.clone(),
            provider,
            is_proxy: false,
            client: None,
            secrets: GrantSecrets::default(),
            shown,
            current: Mutex::new(Current { credentials, generation }),
            was_refused: AtomicBool::new(false),
        }
    }

    /// The values that must not be seen, of a form of `$auth`.
    fn secrets_of<'a>(&'a self, credentials: &'a Credentials) -> impl Iterator<Item = &'a str> {
        let secrets = credentials.iter().filter(|(name, _)| is_secret(&self.provider, name));
        secrets.map(|(_, value)| value.as_str()).filter(|value| value.len() >= SECRET_BYTES_MINIMUM)
    }

    /// Whether an address is one of the app's own, over HTTPS; plain HTTP only on this machine.
    fn is_own(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else {
            return false;
        };
        let is_safe = url.scheme() == "https" || matches!(host, "127.0.0.1" | "localhost" | "[::1]");
        let credentials = self.lock().credentials.clone();
        let pattern = |pattern: &String| render(pattern, &|name| credentials.get(name).cloned()).ok();
        is_safe && self.provider.hosts.iter().filter_map(pattern).any(|pattern| host_matches(&pattern, host))
    }

    fn swaps(&self) -> Vec<Swap> {
        let current = self.lock();
        // Signatures hold tokens in the encoding of the protocol.
        let is_signed = matches!(self.provider.auth, Auth::Oauth1(_));
        let swap = |(name, shown): (&String, &String)| {
            let real = current.credentials.get(name)?;
            let sent = if is_signed { encode(real) } else { real.clone() };
            (shown != real && !shown.is_empty()).then(|| Swap { shown: shown.clone(), real: sent })
        };
        self.shown.iter().filter_map(swap).collect()
    }

    /// A signature as the component may have it: the injector puts the token back in.
    fn with_stand_ins(&self, signature: String) -> String {
        self.swaps().iter().fold(signature, |text, swap| text.replace(&swap.real, &swap.shown))
    }

    /// Refuses a stand-in where credentials do not belong.
    fn check(&self, url: &Url, request: &Outgoing) -> Result<(), Denied> {
        let swaps = self.swaps();
        let holds = |text: &str| swaps.iter().any(|swap| text.contains(&swap.shown));
        let in_basic = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("authorization") && basic_of(value).is_some_and(|text| holds(&text))
        };
        let in_headers = |header: &(String, String)| holds(&header.1) || in_basic(header);
        let in_body = request.body.as_deref().is_some_and(|body| holds(&String::from_utf8_lossy(body)));
        if !holds(url.as_str()) && !request.headers.iter().any(in_headers) && !in_body {
            return Ok(());
        }
        let (prop, app) = (&self.prop, &self.provider.name);
        if !self.is_own(url) {
            let host = url.host_str().unwrap_or_default();
            let message =
                format!("the credentials of `{prop}` are for the hosts of {app}, and `{host}` is none of them");
            return Err(Denied { code: "credentials_elsewhere", message });
        }
        let misplaced_header = request.headers.iter().find(|header| in_headers(header) && !self.may_carry(&header.0));
        let misplaced_query = url.query_pairs().any(|(name, value)| holds(&value) && !self.may_be_queried(&name));
        let misplaced_path = holds(url.path()) && !self.provider.placement.is_empty();
        if in_body || misplaced_header.is_some() || misplaced_query || misplaced_path {
            let message = format!(
                "with `auth: \"proxy\"` the credentials of `{prop}` may stand only where {app} looks for them: {}",
                self.places()
            );
            return Err(Denied { code: "credentials_misplaced", message });
        }
        Ok(())
    }

    fn may_carry(&self, header: &str) -> bool {
        let named = self.provider.placement.iter().filter_map(|place| place.header.as_deref());
        header.eq_ignore_ascii_case("authorization") || named.into_iter().any(|name| name.eq_ignore_ascii_case(header))
    }

    fn may_be_queried(&self, name: &str) -> bool {
        self.provider.placement.iter().any(|place| place.query.as_deref() == Some(name))
    }

    fn places(&self) -> String {
        let mut places = vec!["the header authorization".to_owned()];
        for place in &self.provider.placement {
            places.extend(
                place.header.iter().filter(|name| *name != "authorization").map(|name| format!("the header {name}")),
            );
            places.extend(place.query.iter().map(|name| format!("the parameter {name}")));
        }
        places.join(", ")
    }

    /// The request with this account's credentials; none when it is not a request of this account.
    fn carry(&self, platform: &Platform, index: usize, url: &Url, request: &Outgoing) -> Option<Carrying> {
        if !self.is_own(url) {
            return None;
        }
        let swaps = self.swaps();
        let (mut target, mut headers) = (swapped_url(url, &swaps), request.headers.clone());
        let mut is_carried = target != *url;
        for (name, value) in &mut headers {
            if let Some(real) = swapped_header(name, value, &swaps) {
                *value = real;
                is_carried = true;
            }
        }
        let has_own = request.headers.iter().any(|(name, _)| self.may_carry(name));
        if self.is_proxy && !is_carried && !has_own {
            self.add(platform, request, &mut target, &mut headers);
            is_carried = true;
        }
        let current = self.lock().clone();
        let holds = |text: &str| self.secrets_of(&current.credentials).any(|secret| text.contains(secret));
        let in_headers = |(name, value): &(String, String)| {
            holds(value) || (name.eq_ignore_ascii_case("authorization") && basic_of(value).is_some_and(|it| holds(&it)))
        };
        if !is_carried && !holds(target.as_str()) && !headers.iter().any(in_headers) {
            return None;
        }
        let concealed =
            if self.is_proxy { swaps.into_iter().map(|swap| (swap.real, swap.shown)).collect() } else { Vec::new() };
        let confidential = self.provider.placement.iter().filter_map(|place| place.header.clone()).collect();
        Some(Carrying {
            url: target.to_string(),
            headers,
            confidential,
            concealed,
            account: index,
            generation: current.generation,
        })
    }

    /// What the service wants of a request that carries nothing yet.
    fn add(&self, platform: &Platform, request: &Outgoing, url: &mut Url, headers: &mut Vec<(String, String)>) {
        let content_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let form = content_type
            .map_or_else(Vec::new, |(_, value)| form_of(value, request.body.as_deref().unwrap_or_default()));
        match self.signature(platform, &request.method, url, &form) {
            Some(signature) => headers.push(("authorization".to_owned(), signature)),
            None => place(&self.provider.placement, &self.lock().credentials.clone(), url, headers),
        }
    }

    /// Of an OAuth 1.0a account.
    fn signature(&self, platform: &Platform, method: &str, url: &Url, form: &[(String, String)]) -> Option<String> {
        let (Auth::Oauth1(_), Some(client)) = (&self.provider.auth, &self.client) else {
            return None;
        };
        let credentials = self.lock().credentials.clone();
        Some(sign(platform, &credentials, &self.secrets, client, (method, url, form)))
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a value of `$auth` is a secret: tokens, fields that say so, and everything of an app that has no fields.
pub(crate) fn is_secret(provider: &Provider, name: &str) -> bool {
    let field = provider.fields.iter().find(|field| field.name == name);
    match field {
        Some(field) => field.secret,
        None => {
            ![names::CLIENT_ID, names::UID, names::SIGNER_URI, names::REFRESH_TOKEN].contains(&name)
                && !is_answered(provider, name)
        }
    }
}

fn is_answered(provider: &Provider, name: &str) -> bool {
    matches!(&provider.auth, Auth::Oauth2(oauth) if oauth.answer_fields.contains_key(name))
}
