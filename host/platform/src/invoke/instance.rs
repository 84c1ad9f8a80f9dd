//! Builds the `this` of a component: the values of its props, and the credentials behind its apps.

use std::collections::HashMap;

use domain::apps::{Auth, Provider, names};
use domain::ids::AccountId;
use domain::props::PropType;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use store::{Lookup, Tenant};

use super::{Target, Values};
use crate::ports::Fault;
use crate::providers::find_provider;
use crate::records::{Account, table};
use crate::tokens::{
    Credentials, Fresh, InjectedAccount, Injector, SIGNER_HOST, Wanted, fresh, is_secret, open_credentials, open_grant,
};
use crate::{Error, Platform, Secret, sealed_props};

pub(super) struct Instance {
    /// With secrets in the clear: never logged, never returned.
    pub(super) props: Secret<Map<String, Value>>,
    /// JSON of `$auth`, by prop.
    pub(super) credentials: HashMap<String, Secret<String>>,
    /// What the run's requests carry; none when it uses no account.
    pub(super) injector: Option<Injector>,
}

/// An app prop as it is configured.
struct Connected {
    account: AccountId,
    /// The token stays outside of the sandbox.
    is_proxy: bool,
}

// === impl Instance ===

impl Instance {
    /// The fault of an account that is gone is the run's, which reports it to the user, and not the host's.
    pub(super) async fn new(
        platform: &Platform,
        tenant: &Tenant,
        target: &Target<'_>,
    ) -> Result<Result<Self, Fault>, Error> {
        let (mut props, source) = match &target.values {
            Values::Stored(source) => {
                (sealed_props::open_all(platform, tenant, source.id.as_str(), &source.revision)?, Some(source))
            }
            Values::Given(props) => (props.clone(), None),
        };
        let mut credentials = HashMap::new();
        let mut accounts = Vec::new();
        for prop in &target.description.props {
            match prop.kind {
                PropType::Http => {
                    if let Some(source) = source {
                        let url = platform.endpoint_url(source.endpoint_of(&prop.name));
                        props.insert(prop.name.clone(), json!({"endpoint_url": url}));
                    }
                }
                PropType::App => {
                    let Some(connected) = connected(props.get(&prop.name)) else {
                        continue;
                    };
                    let account = match opening(platform, tenant, &prop.name, &connected).await? {
                        Ok(account) => account,
                        Err(fault) => return Ok(Err(fault)),
                    };
                    credentials.insert(prop.name.clone(), Secret::new(json!(account.shown).to_string()));
                    accounts.push(account);
                }
                _ => {}
            }
        }
        let injector = (!accounts.is_empty()).then(|| Injector::new(platform, tenant, accounts));
        Ok(Ok(Self { props: Secret::new(props), credentials, injector }))
    }
}

/// None when an app prop is not connected: `$auth` is then empty.
fn connected(value: Option<&Value>) -> Option<Connected> {
    let value = value?;
    let account = AccountId::parse(value.get("authProvisionId")?.as_str()?).ok()?;
    Some(Connected { account, is_proxy: value.get("auth").and_then(Value::as_str) == Some("proxy") })
}

/// As [`open_account`]. It is boxed here because few runs use an account, and what is boxed elsewhere is compiled there once more.
fn opening<'a>(
    platform: &'a Platform,
    tenant: &'a Tenant,
    prop: &'a str,
    connected: &'a Connected,
) -> BoxFuture<'a, Result<Result<InjectedAccount, Fault>, Error>> {
    Box::pin(open_account(platform, tenant, prop, connected))
}

/// The account with a token that has not expired.
async fn open_account(
    platform: &Platform,
    tenant: &Tenant,
    prop: &str,
    connected: &Connected,
) -> Result<Result<InjectedAccount, Fault>, Error> {
    let (prop_name, account) = (prop.to_owned(), connected.account.to_string());
    let lookup = Lookup::Id(connected.account.as_str());
    let Some(kept) = table::find::<Account>(&*platform.store, tenant, lookup).await? else {
        return Ok(Err(Fault::NoAccount { prop: prop_name, account }));
    };
    let record = match fresh(platform, tenant, kept.record, Wanted::Usable).await? {
        Fresh::Ready(record) => *record,
        Fresh::Gone => return Ok(Err(Fault::NoAccount { prop: prop_name, account })),
        Fresh::Dead(death) => return Ok(Err(Fault::DeadAccount { prop: prop_name, account, reason: death.reason })),
        Fresh::Unavailable(reason) => {
            return Ok(Err(Fault::AccountUnavailable { prop: prop_name, account, reason }));
        }
    };
    let provider = match find_provider(platform, &record.app).await {
        Ok(provider) => provider.into_owned(),
        // Accounts outlive the app that was registered for them.
        Err(Error::NotFound { .. }) => Provider::bare(&record.app, &record.app, Auth::Keys),
        Err(error) => return Err(error),
    };
    let credentials = open_credentials(platform, tenant, &record)?;
    let shown = shown(platform, prop, &provider, &credentials, connected.is_proxy);
    let mut opened = InjectedAccount::new(prop, &record, provider, credentials, shown);
    opened.is_proxy = connected.is_proxy;
    if let (Auth::Oauth1(_), Some(grant)) = (&opened.provider.auth, &record.grant) {
        opened.secrets = open_grant(platform, tenant, &record.id, grant)?;
        opened.client = platform.client_of(tenant, &record, &opened.provider, &opened.shown).await?;
    }
    Ok(Ok(opened))
}

/// `$auth` as the component has it.
fn shown(
    platform: &Platform,
    prop: &str,
    provider: &Provider,
    credentials: &Credentials,
    is_proxy: bool,
) -> Credentials {
    let mut shown = credentials.clone();
    if is_proxy {
        for (name, value) in &mut shown {
            if is_secret(provider, name) {
                *value = format!("wellspring-proxy-{}", hex::encode(platform.entropy.bytes::<12>()));
            }
        }
    }
    if matches!(provider.auth, Auth::Oauth1(_)) {
        shown.insert(names::SIGNER_URI.to_owned(), format!("https://{SIGNER_HOST}/{prop}"));
        // Components hand it to the signer, which has its own.
        shown.insert(names::REFRESH_TOKEN.to_owned(), "signed-by-the-platform".to_owned());
    }
    shown
}
