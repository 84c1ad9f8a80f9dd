//! Programs of version 1, which hold the modules of their packages, become programs of version 2, which refer to them.
//!
//! Both are read alike, so nothing waits for this: it runs once in the background after a start, one program at a time, and
//! is done for good when it has seen them all. What an older host writes meanwhile is converted when it is next written.

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use store::{CommitError, Op, Page, Tenant};
use tokio_util::sync::CancellationToken;

use super::{assemble, save};
use crate::records::{ProgramRecord, Stored, User, decode, names, table};
use crate::{Error, Platform};

/// Programs of version 1 are megabytes.
const AT_ONCE: u32 = 4;
const LOGGED_EVERY: u64 = 100;
const NOTE_BYTES: u64 = 1 << 20;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    pub programs: u64,
    /// Of their records, before and after; package texts are not among them.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Converts what is left; a pass that is cut short begins anew at the next start.
#[boxed]
pub async fn convert(platform: &Platform, shutdown: &CancellationToken) -> Result<Converted, Error> {
    let mut converted = Converted::default();
    let note = names::PROGRAMS_BY_PACKAGE.to_owned();
    let noted = platform.store.values(&names::operator(), names::UPGRADES, std::slice::from_ref(&note)).await?;
    if noted.found.iter().flatten().next().is_some() {
        return Ok(converted);
    }
    let users = table::list_all::<User>(&*platform.store, &names::operator()).await?;
    let tenants = users.iter().map(|kept| names::tenant(&kept.record.id)).chain([names::operator()]);
    for tenant in tenants {
        if !convert_tenant(platform, &tenant, shutdown, &mut converted).await? {
            return Ok(converted);
        }
    }
    let scope = names::UPGRADES.to_owned();
    let done = Op::SetValue { scope, key: note, value: Bytes::from_static(b"done"), cap_bytes: NOTE_BYTES };
    platform.store.commit(platform.batch(&names::operator()).then(done)).await?;
    if converted.programs > 0 {
        log(&converted, "programs are stored by package");
    }
    Ok(converted)
}

/// False when the server is stopping.
async fn convert_tenant(
    platform: &Platform,
    tenant: &Tenant,
    shutdown: &CancellationToken,
    converted: &mut Converted,
) -> Result<bool, Error> {
    let mut page = Page::newest(AT_ONCE);
    loop {
        let listed = platform.store.records(tenant, ProgramRecord::KIND, page).await?;
        let Some(last) = listed.items.last() else { return Ok(true) };
        page.after = Some(last.position);
        for found in listed.items {
            if shutdown.is_cancelled() {
                return Ok(false);
            }
            convert_program(platform, tenant, found, converted).await?;
        }
    }
}

async fn convert_program(
    platform: &Platform,
    tenant: &Tenant,
    found: store::Record,
    converted: &mut Converted,
) -> Result<(), Error> {
    let record: ProgramRecord = decode(&found.value)?;
    if record.own.is_some() {
        return Ok(());
    }
    let program = assemble(&found.id, record, Vec::new())?.program;
    if program.digest() != found.id {
        tracing::warn!(program = found.id, %tenant, "a program is not what its digest says and is left as it is");
        return Ok(());
    }
    let saving = save(platform, tenant, &program).await?;
    let mut batch = platform.batch(tenant);
    let (kind, id, version) = (ProgramRecord::KIND.to_owned(), found.id.clone(), found.version);
    batch.preconditions.push(store::Precondition::RecordVersion { kind, id, version });
    batch.preconditions.extend(saving.preconditions);
    batch.operations = saving.operations;
    let after = batch.stored_bytes();
    match platform.store.commit(batch).await {
        // It was written or deleted meanwhile.
        Err(CommitError::Conflict { .. }) => return Ok(()),
        committed => drop(committed?),
    }
    converted.programs += 1;
    converted.bytes_before += found.value.len() as u64;
    converted.bytes_after += after;
    if converted.programs.is_multiple_of(LOGGED_EVERY) {
        log(converted, "storing programs by package");
    }
    Ok(())
}

fn log(converted: &Converted, message: &str) {
    let Converted { programs, bytes_before, bytes_after } = converted;
    tracing::info!(programs, bytes_before, bytes_after, "{message}");
}
