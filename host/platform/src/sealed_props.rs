//! Secret values of props, sealed in the record of the source or workflow that they configure.

use serde_json::{Map, Value};
use store::Tenant;

use crate::records::{RecordError, Revision};
use crate::vault::{Context, Sealed};
use crate::{Error, Platform};

pub(crate) const FIELD: &str = "secrets";

pub(crate) fn seal(
    platform: &Platform,
    tenant: &Tenant,
    record: &str,
    values: &Map<String, Value>,
) -> Result<Option<Sealed>, Error> {
    if values.is_empty() {
        return Ok(None);
    }
    let unwritable = |source| RecordError::Unwritable { kind: FIELD, source };
    let text = serde_json::to_vec(values).map_err(unwritable)?;
    Ok(Some(platform.vault.seal(context(tenant, record), &text)?))
}

pub(crate) fn open(
    platform: &Platform,
    tenant: &Tenant,
    record: &str,
    sealed: Option<&Sealed>,
) -> Result<Map<String, Value>, Error> {
    let Some(sealed) = sealed else {
        return Ok(Map::new());
    };
    let opened = platform.vault.open(context(tenant, record), sealed)?;
    let malformed = |source| RecordError::Malformed { kind: FIELD, source };
    Ok(serde_json::from_slice(opened.expose()).map_err(malformed)?)
}

/// All values of a revision, the secret ones in the clear.
pub(crate) fn open_all(
    platform: &Platform,
    tenant: &Tenant,
    source: &str,
    revision: &Revision,
) -> Result<Map<String, Value>, Error> {
    let mut values = revision.props.clone();
    values.extend(open(platform, tenant, source, revision.secrets.as_ref())?);
    Ok(values)
}

fn context<'a>(tenant: &'a Tenant, record: &'a str) -> Context<'a> {
    Context { tenant: tenant.as_str(), record, field: FIELD }
}
