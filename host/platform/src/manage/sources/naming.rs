//! Names of sources and the slugs made of them.

use domain::slug::slugify;
use store::{Lookup, Tenant};

use crate::records::{Source, Stored};
use crate::{Error, ParameterError, Platform};

const NAME_BYTES_MAXIMUM: usize = 256;
/// Of a project; it is in the record of each of its sources.
const PROJECT_BYTES_MAXIMUM: usize = 128;
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

pub(in crate::manage) fn check_project(project: Option<&str>) -> Result<(), Error> {
    match project {
        Some(project) if project.len() > PROJECT_BYTES_MAXIMUM => {
            let source = ParameterError::TooLong { limit_bytes: PROJECT_BYTES_MAXIMUM, size_bytes: project.len() };
            Err(Error::parameter("project", source))
        }
        _ => Ok(()),
    }
}

/// The first of `slug`, `slug-2`, `slug-3`… that is free; `own` is the source's present one, which counts as free.
/// Past the first few, a free number is looked for in growing steps and the first one after a taken one between: ten
/// thousand sources of one name must not cost ten thousand reads.
pub(super) async fn free_slug(
    tenant: &Tenant,
    platform: &Platform,
    name: &str,
    own: Option<&str>,
) -> Result<String, Error> {
    let slug = slugify(name);
    let (mut taken, mut free) = (0_u64, 1_u64);
    while !is_free(tenant, platform, &numbered(&slug, free), own).await? {
        let step = if free < STEPS_OF_ONE { 1 } else { free };
        (taken, free) = (free, free.checked_add(step).ok_or(Error::NoFreeName)?);
    }
    while free - taken > 1 {
        let between = taken + (free - taken) / 2;
        match is_free(tenant, platform, &numbered(&slug, between), own).await? {
            true => free = between,
            false => taken = between,
        }
    }
    Ok(numbered(&slug, free))
}

fn numbered(slug: &str, number: u64) -> String {
    if number == 1 { slug.to_owned() } else { format!("{slug}-{number}") }
}

async fn is_free(tenant: &Tenant, platform: &Platform, candidate: &str, own: Option<&str>) -> Result<bool, Error> {
    let is_own = own == Some(candidate);
    Ok(is_own || platform.store.record(tenant, Source::KIND, Lookup::Alias(candidate)).await?.is_none())
}
