//! What a component's `this` is made from: the values of its props, and the credentials behind its apps.

use std::collections::HashMap;

use domain::component::Description;
use domain::ids::AccountId;
use domain::props::PropType;
use serde_json::{Map, Value, json};
use store::{Lookup, Tenant};

use crate::ports::Fault;
use crate::records::{Account, Revision, Source, shelf};
use crate::vault::Context;
use crate::{Error, Platform, Secret};

pub struct Instance {
    /// With secrets in the clear: never logged, never returned.
    pub props: Secret<Map<String, Value>>,
    /// JSON of `$auth`, by prop.
    pub credentials: HashMap<String, Secret<String>>,
}

/// Where the secret values of a source's props are sealed.
pub(crate) fn secrets_context<'a>(tenant: &'a Tenant, source: &'a str) -> Context<'a> {
    Context { tenant: tenant.as_str(), record: source, field: "secrets" }
}

// === impl Instance ===

impl Instance {
    pub async fn of_source(
        platform: &Platform,
        tenant: &Tenant,
        source: &Source,
    ) -> Result<Result<Self, Fault>, Error> {
        let values = open_props(platform, tenant, source.id.as_str(), &source.revision)?;
        Self::new(platform, tenant, &source.revision.description, values, Some(source)).await
    }

    /// The fault of an account that is gone is one of the run, which tells it to the user, and not ours.
    pub async fn new(
        platform: &Platform,
        tenant: &Tenant,
        description: &Description,
        mut props: Map<String, Value>,
        endpoints: Option<&Source>,
    ) -> Result<Result<Self, Fault>, Error> {
        let mut credentials = HashMap::new();
        for prop in &description.props {
            match prop.kind {
                PropType::Http => {
                    if let Some(source) = endpoints {
                        let url = platform.endpoint_url(source.endpoint_of(&prop.name));
                        props.insert(prop.name.clone(), json!({"endpoint_url": url}));
                    }
                }
                PropType::App => {
                    let Some(account) = connected(props.get(&prop.name)) else {
                        continue;
                    };
                    let Some(text) = open_credentials(platform, tenant, &account).await? else {
                        return Ok(Err(Fault::NoAccount { prop: prop.name.clone(), account: account.to_string() }));
                    };
                    credentials.insert(prop.name.clone(), text);
                }
                _ => {}
            }
        }
        Ok(Ok(Self { props: Secret::new(props), credentials }))
    }
}

/// The values of a revision, the secret ones among them.
pub(crate) fn open_props(
    platform: &Platform,
    tenant: &Tenant,
    source: &str,
    revision: &Revision,
) -> Result<Map<String, Value>, Error> {
    let mut values = revision.props.clone();
    if let Some(sealed) = &revision.secrets {
        let opened = platform.vault.open(secrets_context(tenant, source), sealed)?;
        let secrets: Map<String, Value> = serde_json::from_slice(opened.expose())
            .map_err(|source| crate::records::RecordError::Malformed { kind: "secrets", source })?;
        values.extend(secrets);
    }
    Ok(values)
}

/// None when an app prop is not connected: `$auth` is then empty.
fn connected(value: Option<&Value>) -> Option<AccountId> {
    AccountId::parse(value?.get("authProvisionId")?.as_str()?).ok()
}

/// None when the account was deleted.
async fn open_credentials(
    platform: &Platform,
    tenant: &Tenant,
    id: &AccountId,
) -> Result<Option<Secret<String>>, Error> {
    let Some(kept) = shelf::find::<Account>(&*platform.store, tenant, Lookup::Id(id.as_str())).await? else {
        return Ok(None);
    };
    let context = Context { tenant: tenant.as_str(), record: id.as_str(), field: "credentials" };
    let opened = platform.vault.open(context, &kept.record.credentials)?;
    let text = String::from_utf8_lossy(opened.expose()).into_owned();
    Ok(Some(Secret::new(text)))
}
