//! What an update would change, without making it: for plans that are shown before they are applied.

use std::collections::BTreeSet;

use domain::props::REDACTED;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{UpdateSource, find, update};
use crate::manage::code::Adoption;
use crate::manage::configure;
use crate::records::Source;
use crate::{Caller, Error, Platform, sealed_props};

#[derive(Debug, Serialize)]
pub struct Preview {
    /// The version that there is now.
    pub version: u32,
    /// Empty when the update would change nothing.
    pub changes: Vec<PreviewedChange>,
}

#[derive(Debug, Serialize)]
pub struct PreviewedChange {
    /// `code`, `name`, `active`, `project`, or a prop as `props.url`; of a workflow also `settings.…`, `triggers`, `steps.…`.
    pub what: String,
    /// Secret values are redacted; null when there is none.
    pub before: Value,
    pub after: Value,
}

/// The update is checked as if it were made: code is linked and loaded, props and accounts must fit.
pub async fn preview(caller: &Caller, platform: &Platform, id: &str, request: UpdateSource) -> Result<Preview, Error> {
    let before = find(caller, platform, id).await?;
    let replacement = update::replacement(caller, platform, &before, &request, Adoption::Stays).await?;
    let after = update::plan(caller, platform, &before, &request, replacement.as_ref()).await?;
    let mut changes = Vec::new();
    let mut note = |what: &str, before: Value, after: Value| {
        if before != after {
            changes.push(PreviewedChange { what: what.to_owned(), before, after });
        }
    };
    let described = |source: &Source| {
        let description = &source.revision.description;
        json!(format!("{} {} ({})", description.name, description.version, short(&source.revision.program)))
    };
    if before.revision.program != after.revision.program {
        note("code", described(&before), described(&after));
    }
    note("name", json!(before.name), json!(after.name));
    note("active", json!(before.is_active), json!(after.is_active));
    note("project", json!(before.project), json!(after.project));
    changes.extend(changed_props(caller, platform, &before, &after)?);
    Ok(Preview { version: before.version, changes })
}

fn changed_props(
    caller: &Caller,
    platform: &Platform,
    before: &Source,
    after: &Source,
) -> Result<Vec<PreviewedChange>, Error> {
    let open = |source: &Source| -> Result<Map<String, Value>, Error> {
        sealed_props::open_all(platform, &caller.tenant, source.id.as_str(), &source.revision)
    };
    let (had, has) = (open(before)?, open(after)?);
    let (shown_before, shown_after) =
        (configure::shown(caller, platform, before), configure::shown(caller, platform, after));
    let names: BTreeSet<&String> = had.keys().chain(has.keys()).collect();
    let changed = names.into_iter().filter(|name| had.get(*name) != has.get(*name));
    let is_secret = |source: &Source, name: &String| source.revision.secret_props.contains(name);
    let shown = |source: &Source, shown: &Map<String, Value>, name: &String| match is_secret(source, name) {
        true => json!(REDACTED),
        false => shown.get(name).cloned().unwrap_or(Value::Null),
    };
    let change = |name: &String| PreviewedChange {
        what: format!("props.{name}"),
        before: shown(before, &shown_before, name),
        after: shown(after, &shown_after, name),
    };
    Ok(changed.map(change).collect())
}

/// Enough of a digest to tell two apart.
pub(in crate::manage) fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
