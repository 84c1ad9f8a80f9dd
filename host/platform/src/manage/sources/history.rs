//! The versions of a source: what it ran before, and going back to it.
//!
//! A version is one revision: code and props. An update that changes either keeps the one before; a rollback is an update
//! to the code and props of an earlier version, with the same hooks, and makes the next version. So nothing that ran is
//! ever numbered anew, and a rollback can itself be rolled back.

use serde::Serialize;
use serde_json::{Map, Value, json};
use store::{Lookup, Op};

use super::{UpdateSource, find, update};
use crate::manage::code::{self, Adoption, CodeRequest};
use crate::manage::components;
use crate::paging::count;
use crate::records::{Component, Origin, Source, SourceHistory, SourceVersion, table};
use crate::{Caller, Error, Noun, Platform, sealed_props};

/// What to go back to.
#[derive(Clone, Debug, Default)]
pub struct Rollback {
    /// The one before the present one when absent.
    pub version: Option<u32>,
    /// Only the code goes back.
    pub keeps_props: bool,
    pub ignore_hook_errors: bool,
}

/// What the API shows of a version.
#[derive(Debug, Serialize)]
pub struct SourceVersionView {
    pub version: u32,
    /// Whether it is what the source runs.
    pub current: bool,
    pub component_id: String,
    pub component_name: String,
    pub component_version: String,
    /// Of the linked program, in hex: versions with the same one differ in their props.
    pub digest: String,
    /// Secret ones redacted; without endpoints, which stay with the source.
    pub configured_props: Map<String, Value>,
    /// When it began to run, in epoch seconds.
    pub created_at: u64,
}

/// Newest first, the present one among them.
pub async fn versions(caller: &Caller, platform: &Platform, id: &str) -> Result<Vec<SourceVersionView>, Error> {
    let source = find(caller, platform, id).await?;
    let mut versions = vec![SourceVersionView::of(SourceVersion::of(&source, 0), true)];
    let earlier = history(caller, platform, &source).await?.versions;
    versions.extend(earlier.into_iter().rev().map(|version| SourceVersionView::of(version, false)));
    Ok(versions)
}

pub async fn rollback(caller: &Caller, platform: &Platform, id: &str, wanted: Rollback) -> Result<Source, Error> {
    let source = find(caller, platform, id).await?;
    let history = history(caller, platform, &source).await?;
    let previous = || history.versions.last().map_or(source.version.saturating_sub(1), |version| version.number);
    let number = wanted.version.unwrap_or_else(previous);
    let version = history.version(number).ok_or_else(|| Error::not_found(Noun::Version, number))?;
    let configured_props = match wanted.keeps_props {
        true => None,
        false => Some(values(caller, platform, &source, version)?),
    };
    let request = UpdateSource {
        component: CodeRequest { component_id: Some(version.component_id.to_string()), ..CodeRequest::default() },
        configured_props,
        active: Some(source.is_active),
        ignore_hook_errors: wanted.ignore_hook_errors,
        ..UpdateSource::default()
    };
    update::change(caller, platform, id, request, Adoption::Returns).await
}

/// Keeps what a change has put out of use as an earlier version, and queues the code of versions that are one too many:
/// operations of the batch that ends the change.
pub(super) async fn retire(
    caller: &Caller,
    platform: &Platform,
    before: &Source,
    after: &Source,
) -> Result<Vec<Op>, Error> {
    let now_ms = platform.clock.now_ms();
    if before.version == after.version {
        return Ok(update::collect_unused(now_ms, &before.revision, &after.revision)?.into_iter().collect());
    }
    let mut history = history(caller, platform, before).await?;
    history.versions.push(SourceVersion::of(before, size_bytes(caller, platform, before).await?));
    let versions = versions_kept(caller, platform).await?;
    let dropped = history.trim(versions, platform.config.shares.source_version_bytes);
    let mut operations = vec![table::put(&history)?];
    operations.extend(collections(now_ms, &dropped)?);
    Ok(operations)
}

/// What ends with its source.
pub(super) async fn forget(caller: &Caller, platform: &Platform, source: &Source) -> Result<Vec<Op>, Error> {
    let history = history(caller, platform, source).await?;
    if history.versions.is_empty() {
        return Ok(Vec::new());
    }
    let mut operations = vec![table::delete(&history)];
    operations.extend(collections(platform.clock.now_ms(), &history.versions)?);
    Ok(operations)
}

/// The collection looks itself whether a source or another version has the code.
fn collections(due_ms: u64, versions: &[SourceVersion]) -> Result<Vec<Op>, Error> {
    let mut own: Vec<_> = versions.iter().filter(|version| version.origin == Origin::Own).collect();
    own.dedup_by(|one, other| one.component_id == other.component_id);
    own.into_iter().map(|version| Ok(code::collect_at(due_ms, &version.component_id, &version.program)?)).collect()
}

/// Each version is a component. When an account has half of those it may have, its sources keep one step back: history
/// must not keep it from deploying.
async fn versions_kept(caller: &Caller, platform: &Platform) -> Result<usize, Error> {
    let shares = &platform.config.shares;
    let components = count::<Component>(&caller.tenant, platform).await? as u64;
    let kept = if components > shares.components / 2 { 1 } else { shares.source_versions };
    Ok(usize::try_from(kept).unwrap_or(usize::MAX))
}

/// Of the files of what a source runs; components of the registry are kept by the operator.
async fn size_bytes(caller: &Caller, platform: &Platform, source: &Source) -> Result<u64, Error> {
    let revision = &source.revision;
    if revision.origin == Origin::Registry {
        return Ok(0);
    }
    let found = components::find(caller, platform, revision.component_id.as_str()).await;
    let files = match found {
        Ok((component, _)) => component.source,
        Err(Error::NotFound { .. }) => return Ok(0),
        Err(error) => return Err(error),
    };
    let sizes = files.files.values().map(String::len).chain([files.source.len()]);
    Ok(sizes.sum::<usize>() as u64)
}

async fn history(caller: &Caller, platform: &Platform, source: &Source) -> Result<SourceHistory, Error> {
    let id = source.id.as_str();
    let found = table::find::<SourceHistory>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    Ok(found.map_or_else(|| SourceHistory::new(&source.id), |kept| kept.record))
}

/// The values of a version, the secret ones in the clear.
fn values(
    caller: &Caller,
    platform: &Platform,
    source: &Source,
    version: &SourceVersion,
) -> Result<Map<String, Value>, Error> {
    let mut values = version.props.clone();
    let sealed = version.secrets.as_ref();
    values.extend(sealed_props::open(platform, &caller.tenant, source.id.as_str(), sealed)?);
    Ok(values)
}

// === impl SourceVersionView ===

impl SourceVersionView {
    fn of(version: SourceVersion, current: bool) -> Self {
        let mut configured_props = version.props;
        configured_props.extend(version.secret_props.into_iter().map(|name| (name, json!(domain::props::REDACTED))));
        Self {
            version: version.number,
            current,
            component_id: version.component_id.to_string(),
            component_name: version.component_name,
            component_version: version.component_version,
            digest: version.program,
            configured_props,
            created_at: version.created_at,
        }
    }
}
