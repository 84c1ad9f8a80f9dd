//! Builds the `this` of a component: the values of its props, and the credentials behind its apps.

use std::collections::HashMap;

use domain::ids::AccountId;
use domain::props::PropType;
use serde_json::{Map, Value, json};
use store::{Lookup, Tenant};

use super::{Target, Values};
use crate::ports::Fault;
use crate::records::{Account, table};
use crate::vault::Context;
use crate::{Error, Platform, Secret, sealed_props};

pub(super) struct Instance {
    /// With secrets in the clear: never logged, never returned.
    pub(super) props: Secret<Map<String, Value>>,
    /// JSON of `$auth`, by prop.
    pub(super) credentials: HashMap<String, Secret<String>>,
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
        for prop in &target.description.props {
            match prop.kind {
                PropType::Http => {
                    if let Some(source) = source {
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
    let Some(kept) = table::find::<Account>(&*platform.store, tenant, Lookup::Id(id.as_str())).await? else {
        return Ok(None);
    };
    let context = Context { tenant: tenant.as_str(), record: id.as_str(), field: "credentials" };
    let opened = platform.vault.open(context, &kept.record.credentials)?;
    let text = String::from_utf8_lossy(opened.expose()).into_owned();
    Ok(Some(Secret::new(text)))
}
