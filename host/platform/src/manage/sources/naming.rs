//! Names of sources and the slugs made of them.

use domain::slug::slugify;
use store::{Lookup, Tenant};

use crate::records::{Source, Stored};
use crate::{Error, ParameterError, Platform};

const NAME_BYTES_MAXIMUM: usize = 256;
/// Numbers tried one by one, so that the first free one is found where names are few.
const STEPS_OF_ONE: u64 = 32;

pub(super) fn check(name: &str) -> Result<(), Error> {
    if name.trim().is_empty() {
        return Err(Error::parameter("name", ParameterError::Empty));
    }
    if name.len() > NAME_BYTES_MAXIMUM {
        let source = ParameterError::TooLong { limit_bytes: NAME_BYTES_MAXIMUM, size_bytes: name.len() };
        return Err(Error::parameter("name", source));
    }
    Ok(())
}

/// The first of `slug`, `slug-2`, `slug-3`… that is free; `own` is the source's present one, which counts as free.
/// Past the first few, numbers are skipped in growing steps: a thousand sources of one name must not cost a thousand
/// reads.
pub(super) async fn free_slug(
    tenant: &Tenant,
    platform: &Platform,
    name: &str,
    own: Option<&str>,
) -> Result<String, Error> {
    let slug = slugify(name);
    let mut number = 1_u64;
    loop {
        let candidate = if number == 1 { slug.clone() } else { format!("{slug}-{number}") };
        let is_own = own == Some(candidate.as_str());
        if is_own || platform.store.record(tenant, Source::KIND, Lookup::Alias(&candidate)).await?.is_none() {
            return Ok(candidate);
        }
        let step = if number < STEPS_OF_ONE { 1 } else { number / 2 };
        number = number.checked_add(step).ok_or(Error::NoFreeName)?;
    }
}
