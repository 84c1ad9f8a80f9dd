//! A user's values for a component's props, checked and made ready to be stored.

use domain::component::Description;
use domain::ids::{AccountId, SourceId};
use domain::problem::Problem;
use domain::props::{self, PropType};
use domain::timers::Schedule;
use serde_json::{Map, Value, json};
use store::Lookup;

use super::code::Resolved;
use super::data_stores;
use crate::records::{Account, Revision, Source, table};
use crate::{Caller, Error, Platform, sealed_props};

/// The values a revision is made from.
pub(super) struct Values {
    /// What the user gives now; these replace all others.
    pub(super) given: Option<Map<String, Value>>,
    /// What the source had, secrets in the clear.
    pub(super) kept: Map<String, Value>,
}

pub(super) async fn revision(
    caller: &Caller,
    platform: &Platform,
    source: &SourceId,
    resolved: &Resolved,
    values: Values,
) -> Result<Revision, Error> {
    let component = &resolved.component;
    let definitions = &component.description.props;
    let values = match values.given {
        Some(mut given) => {
            props::restore_redacted(definitions, &mut given, &values.kept);
            given
        }
        // New code without new values: what the new code no longer asks for is left behind.
        None => {
            let is_known = |name: &String| definitions.iter().any(|definition| definition.name == *name);
            values.kept.into_iter().filter(|(name, _)| is_known(name)).collect()
        }
    };
    let mut props = whole(caller, platform, &component.description, &values).await?;
    let mut secrets = Map::new();
    for name in props::secret_names(definitions) {
        secrets.extend(props.shift_remove_entry(name));
    }
    let secret_props = secrets.keys().cloned().collect();
    let secrets = sealed_props::seal(platform, &caller.tenant, source.as_str(), &secrets)?;
    Ok(Revision {
        component_id: component.id.clone(),
        origin: resolved.origin,
        program: component.program.clone(),
        description: component.description.clone(),
        props,
        secrets,
        secret_props,
    })
}

/// The values of a whole configuration, ready to run with.
pub(super) async fn whole(
    caller: &Caller,
    platform: &Platform,
    description: &Description,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    let mut configured = props::validate(&description.props, given, &platform.config.limits).map_err(Error::Props)?;
    check_accounts(caller, platform, description, &configured.accounts).await?;
    data_stores::resolve(caller, platform, description, &mut configured.values).await?;
    Ok(configured.values)
}

/// The same for a configuration that is being filled in: what is missing may still come.
pub(super) async fn partial(
    caller: &Caller,
    platform: &Platform,
    description: &Description,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    let configured =
        props::validate_partial(&description.props, given, &platform.config.limits).map_err(Error::Props)?;
    check_accounts(caller, platform, description, &configured.accounts).await?;
    Ok(configured.values)
}

/// Every account is the caller's own, and of the app that the prop asks for.
async fn check_accounts(
    caller: &Caller,
    platform: &Platform,
    description: &Description,
    accounts: &[(String, AccountId)],
) -> Result<(), Error> {
    let mut problems = Vec::new();
    for (prop, id) in accounts {
        let found = table::find::<Account>(&*platform.store, &caller.tenant, Lookup::Id(id.as_str())).await?;
        let wanted = description.props.iter().find(|definition| definition.name == *prop);
        let wanted = wanted.and_then(|definition| definition.app.as_deref()).unwrap_or_default();
        let message = match found {
            None => format!("there is no account `{id}`"),
            Some(kept) if kept.record.app != wanted => {
                format!("account `{id}` is one of {}, and the prop needs one of {wanted}", kept.record.app)
            }
            Some(_) => continue,
        };
        problems.push(Problem::new(format!("configured_props.{prop}.authProvisionId"), message));
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Props(problems)) }
}

/// The timers of a source, read back from its stored values.
pub(super) fn schedules(source: &Source) -> Vec<(String, Schedule)> {
    let timers = source.revision.description.props_of(PropType::Timer);
    let scheduled = timers.filter_map(|prop| {
        let value = source.revision.props.get(&prop.name)?;
        // Checked when it was configured; the minimum may have been raised since, and what runs goes on.
        Some((prop.name.clone(), Schedule::parse(value, 1).ok()?))
    });
    scheduled.collect()
}

/// The values as the API shows them: in the order of declaration, secrets redacted, endpoints filled in.
pub(super) fn shown(caller: &Caller, platform: &Platform, source: &Source) -> Map<String, Value> {
    let revision = &source.revision;
    let mut shown = Map::new();
    for definition in &revision.description.props {
        let value = match definition.kind {
            PropType::Http if caller.sees_endpoints() => {
                Some(json!({"endpoint_url": platform.endpoint_url(source.endpoint_of(&definition.name))}))
            }
            PropType::Http => Some(json!({"endpoint_url": props::REDACTED})),
            _ if revision.secret_props.contains(&definition.name) => Some(json!(props::REDACTED)),
            _ => revision.props.get(&definition.name).cloned(),
        };
        if let Some(value) = value {
            shown.insert(definition.name.clone(), value);
        }
    }
    shown
}
