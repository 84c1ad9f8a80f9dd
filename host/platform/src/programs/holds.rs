//! Which package texts are stored, and which tenants hold them.
//!
//! A program and its package texts belong to different tenants, and a batch changes one tenant. So a tenant *holds* a text
//! before it stores programs that refer to it, and gives the hold up when none does:
//!
//! | where | what | says |
//! |---|---|---|
//! | the tenant | `package_hold` | `taking`, `held` or `releasing`, and the nonce of this hold |
//! | `packages` | scope `holders/<digest>` | the nonce of each tenant that holds the text |
//! | `packages` | `package`, `package_text` | whether the text is about to be deleted; the text |
//!
//! Take: `taking` (with a chore that looks after it, should this host die) → the text and the nonce are written to `packages`
//! → `held`. A batch that writes a program requires that its holds are unchanged, so the reference is taken in that batch.
//!
//! Release, a chore: `releasing`, which fails every batch that relied on the hold, → look for programs that refer to it, and
//! go back to `held` if there are any → remove the nonce from the holders → if no tenant holds it: `closing`, look again,
//! delete → delete the hold. Each step requires that its record is unchanged and may be repeated. A tenant that takes a text
//! while it is being released writes a new nonce, and the release, which knows the old one, leaves that alone.
//!
//! So whatever is interleaved, and wherever a host dies, a program that was committed finds its texts. What a host that dies
//! leaves behind is cleared by its chore.

use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use futures_util::future::try_join_all;
use store::{Batch, CommitError, Enqueue, Lookup, Op, Page, Precondition, Tenant};

use super::split::split;
use crate::ports::Program;
use crate::records::{
    Deflated, HoldState, Job, Kept, PACKAGE_TEXT, PackageHold, PackageRecord, PackageRef, PackageText, ProgramRecord,
    RecordError, names, table,
};
use crate::{Error, Platform};

/// Between the last use of a text and its deletion: code that is deployed again a moment later finds it.
const KEPT_MS: u64 = 10 * 60 * 1000;
/// A deploy has written its program by then, or never will.
const TAKING_MS: u64 = 60 * 60 * 1000;
/// Of what other requests of the same tenant, or for the same text, change in between.
const TRIES: usize = 64;
/// Programs read at a time; those of version 1 are megabytes.
const PROGRAMS_AT_ONCE: u32 = 20;
/// No bound: there are as many holders as tenants.
const HOLDERS_BYTES: u64 = 1 << 40;

/// What a batch contains that writes a program.
#[derive(Default)]
pub(crate) struct Saving {
    pub(crate) preconditions: Vec<Precondition>,
    pub(crate) operations: Vec<Op>,
}

/// Divides a program, and sees to it that its package texts are stored. The batch that the answer becomes part of may fail
/// with a conflict when it comes too late: then it is made anew.
#[boxed]
pub(crate) async fn save(platform: &Platform, tenant: &Tenant, program: &Program) -> Result<Saving, Error> {
    let of_task = program.clone();
    let (record, texts) = off_thread(program.text_bytes(), move || divide(&of_task)).await??;
    let preconditions = hold(platform, tenant, &texts).await?;
    Ok(Saving { preconditions, operations: vec![table::put(&record)?] })
}

fn divide(program: &Program) -> Result<(ProgramRecord, Vec<PackageText>), RecordError> {
    let (digest, divided) = (program.digest(), split(program));
    let mut packages = Vec::new();
    let mut texts: Vec<PackageText> = Vec::new();
    for (location, modules) in divided.packages {
        let text = PackageText::new(&modules)?;
        packages.push(PackageRef { location, digest: text.digest.clone() });
        if texts.iter().all(|other| other.digest != text.digest) {
            texts.push(text);
        }
    }
    let own = Some(Deflated::new(&divided.own)?);
    Ok((ProgramRecord { digest, entry: program.entry.clone(), own, packages, ..ProgramRecord::default() }, texts))
}

/// What must hold when a program is written that refers to the texts.
async fn hold(platform: &Platform, tenant: &Tenant, texts: &[PackageText]) -> Result<Vec<Precondition>, Error> {
    for _ in 0..TRIES {
        let holds = find_holds(platform, tenant, texts.iter().map(|text| text.digest.as_str())).await?;
        let is_held =
            |hold: &Option<Kept<PackageHold>>| hold.as_ref().is_some_and(|kept| kept.record.state == HoldState::Held);
        if holds.iter().all(is_held) {
            return Ok(holds.iter().flatten().map(table::unchanged).collect());
        }
        let missing = texts.iter().zip(holds).filter(|(_, hold)| !is_held(hold)).collect();
        take(platform, tenant, missing).await?;
    }
    Err(Error::Changed)
}

async fn find_holds<'a>(
    platform: &Platform,
    tenant: &Tenant,
    digests: impl Iterator<Item = &'a str>,
) -> Result<Vec<Option<Kept<PackageHold>>>, Error> {
    let find = |digest| table::find::<PackageHold>(&*platform.store, tenant, Lookup::Id(digest));
    Ok(try_join_all(digests.map(find)).await?)
}

/// One attempt; a conflict is found by the caller, which looks again.
async fn take(
    platform: &Platform,
    tenant: &Tenant,
    missing: Vec<(&PackageText, Option<Kept<PackageHold>>)>,
) -> Result<(), Error> {
    let Some(taken) = announce(platform, tenant, missing).await? else {
        return Ok(());
    };
    let deposits = taken.iter().map(|(text, nonce)| deposit(platform, tenant, text, nonce));
    let sizes = try_join_all(deposits).await?;
    let holds = find_holds(platform, tenant, taken.iter().map(|(text, _)| text.digest.as_str())).await?;
    let mut batch = platform.batch(tenant);
    for (((_, nonce), size_bytes), found) in taken.iter().zip(sizes).zip(holds) {
        let Some(kept) = found.filter(|kept| kept.record.nonce == *nonce && kept.record.state == HoldState::Taking)
        else {
            continue;
        };
        let held = PackageHold { state: HoldState::Held, size_bytes, ..kept.record.clone() };
        batch = batch.require(table::unchanged(&kept)).then(table::put(&held)?);
        platform.keeping().grow(tenant, size_bytes);
    }
    commit(platform, batch).await.map(drop)
}

/// Writes `taking` where no other request has. The texts with the nonces they are to be deposited with; nothing after a conflict.
async fn announce<'a>(
    platform: &Platform,
    tenant: &Tenant,
    missing: Vec<(&'a PackageText, Option<Kept<PackageHold>>)>,
) -> Result<Option<Vec<(&'a PackageText, String)>>, Error> {
    let mut batch = platform.batch(tenant);
    let mut taken = Vec::with_capacity(missing.len());
    for (text, found) in missing {
        if let Some(kept) = found.as_ref().filter(|kept| kept.record.state == HoldState::Taking) {
            taken.push((text, kept.record.nonce.clone()));
            continue;
        }
        let nonce = hex::encode(platform.entropy.bytes::<16>());
        let taking = PackageHold {
            digest: text.digest.clone(),
            state: HoldState::Taking,
            nonce: nonce.clone(),
            size_bytes: 0,
            taken_at_ms: batch.now_ms,
        };
        let as_found = found.as_ref().map_or_else(|| table::absent(&taking), table::unchanged);
        batch = batch.require(as_found).then(table::put(&taking)?);
        taken.push((text, nonce));
    }
    if !batch.operations.is_empty() {
        let due_ms = batch.now_ms.saturating_add(TAKING_MS);
        let digests = taken.iter().map(|(text, _)| text.digest.clone()).collect();
        batch = batch.then(release_chore(due_ms, digests)?);
    }
    Ok(commit(platform, batch).await?.then_some(taken))
}

/// Stores a text, if it is not stored, and notes that the tenant holds it. Its size in the store.
async fn deposit(platform: &Platform, tenant: &Tenant, text: &PackageText, nonce: &str) -> Result<u64, Error> {
    for _ in 0..TRIES {
        let found =
            table::find::<PackageRecord>(&*platform.store, &names::packages(), Lookup::Id(&text.digest)).await?;
        let mut batch = platform.batch(&names::packages());
        let size_bytes = match found {
            Some(kept) => {
                batch = batch.require(table::unchanged(&kept));
                if kept.record.is_closing {
                    batch = batch.then(table::put(&PackageRecord { is_closing: false, ..kept.record.clone() })?);
                }
                kept.record.size_bytes
            }
            None => {
                let of_task = text.clone();
                let value = off_thread(text.size_bytes(), move || of_task.deflate()).await?;
                let size_bytes = value.len() as u64;
                let record = PackageRecord { digest: text.digest.clone(), is_closing: false, size_bytes };
                batch = batch.require(table::absent(&record)).then(table::put(&record)?);
                let (kind, id) = (PACKAGE_TEXT.to_owned(), text.digest.clone());
                batch = batch.then(Op::PutRecord { kind, id, alias: None, value });
                size_bytes
            }
        };
        let (scope, key) = (names::holders(&text.digest), tenant.to_string());
        let value = Bytes::copy_from_slice(nonce.as_bytes());
        batch = batch.then(Op::SetValue { scope, key, value, cap_bytes: HOLDERS_BYTES });
        if commit(platform, batch).await? {
            return Ok(size_bytes);
        }
    }
    Err(Error::Changed)
}

/// Queued with the batch that deletes a program: looks after the texts it referred to.
pub(crate) fn release_at(now_ms: u64, packages: &[PackageRef]) -> Result<Option<Op>, RecordError> {
    let mut digests: Vec<String> = packages.iter().map(|package| package.digest.clone()).collect();
    digests.sort_unstable();
    digests.dedup();
    if digests.is_empty() { Ok(None) } else { release_chore(now_ms.saturating_add(KEPT_MS), digests).map(Some) }
}

fn release_chore(due_ms: u64, packages: Vec<String>) -> Result<Op, RecordError> {
    let payload = Job::ReleasePackages { packages }.encode()?;
    Ok(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }))
}

/// The chore: gives up the holds on texts that no program of the tenant refers to.
pub(crate) async fn release(tenant: &Tenant, platform: &Platform, digests: &[String]) -> Result<(), Error> {
    // Mostly another program has them, and nothing is written.
    let in_use = referred_to(platform, tenant, digests).await?;
    let unused: Vec<&str> = digests.iter().map(String::as_str).filter(|digest| !in_use.contains(*digest)).collect();
    let mut releasing = Vec::new();
    for kept in find_holds(platform, tenant, unused.into_iter()).await?.into_iter().flatten() {
        releasing.extend(mark_releasing(platform, tenant, kept).await?);
    }
    if releasing.is_empty() {
        return Ok(());
    }
    // A program may have been written before the mark.
    let marked: Vec<String> = releasing.iter().map(|kept| kept.record.digest.clone()).collect();
    let in_use = referred_to(platform, tenant, &marked).await?;
    for kept in releasing {
        let batch = platform.batch(tenant).require(table::unchanged(&kept));
        if in_use.contains(&kept.record.digest) {
            let held = PackageHold { state: HoldState::Held, ..kept.record };
            commit(platform, batch.then(table::put(&held)?)).await?;
            continue;
        }
        withdraw(platform, tenant, &kept.record).await?;
        commit(platform, batch.then(table::delete(&kept.record))).await?;
    }
    Ok(())
}

/// Nothing when the hold is not to be released, or changed since it was read.
async fn mark_releasing(
    platform: &Platform,
    tenant: &Tenant,
    kept: Kept<PackageHold>,
) -> Result<Option<Kept<PackageHold>>, Error> {
    let batch = platform.batch(tenant);
    match kept.record.state {
        // Left by a host that died.
        HoldState::Releasing => return Ok(Some(kept)),
        // A deploy is under way; it has queued a chore of its own.
        HoldState::Taking if batch.now_ms < kept.record.taken_at_ms.saturating_add(TAKING_MS) => return Ok(None),
        HoldState::Taking | HoldState::Held => {}
    }
    let releasing = PackageHold { state: HoldState::Releasing, ..kept.record.clone() };
    let batch = batch.require(table::unchanged(&kept)).then(table::put(&releasing)?);
    let is_marked = commit(platform, batch).await?;
    Ok(is_marked.then(|| Kept { record: releasing, ..kept.rewritten() }))
}

/// Those of the texts that programs of the tenant refer to.
async fn referred_to(platform: &Platform, tenant: &Tenant, digests: &[String]) -> Result<HashSet<String>, Error> {
    let wanted: HashSet<&str> = digests.iter().map(String::as_str).collect();
    let mut found = HashSet::new();
    let mut page = Page::newest(PROGRAMS_AT_ONCE);
    while found.len() < wanted.len() {
        let listed = table::list::<ProgramRecord>(&*platform.store, tenant, page).await?;
        let Some(last) = listed.items.last() else { break };
        page.after = Some(last.position);
        let references = listed.items.iter().flat_map(|kept| &kept.record.packages);
        found.extend(references.map(|package| package.digest.clone()).filter(|one| wanted.contains(one.as_str())));
    }
    Ok(found)
}

/// Takes a hold out of the holders, and deletes the text if it was the last.
async fn withdraw(platform: &Platform, tenant: &Tenant, hold: &PackageHold) -> Result<(), Error> {
    let (packages, scope, key) = (names::packages(), names::holders(&hold.digest), tenant.to_string());
    let nonce = Bytes::copy_from_slice(hold.nonce.as_bytes());
    let holder = platform.store.values(&packages, &scope, std::slice::from_ref(&key)).await?;
    if holder.found.first() == Some(&Some(nonce.clone())) {
        let is_same = Precondition::ValueIs { scope: scope.clone(), key: key.clone(), value: Some(nonce) };
        let batch = platform.batch(&packages).require(is_same).then(Op::RemoveValue { scope: scope.clone(), key });
        commit(platform, batch).await?;
    }
    let is_held = async || Ok::<bool, Error>(platform.store.keys(&packages, &scope, None, 1).await?.total > 0);
    if is_held().await? {
        return Ok(());
    }
    let found = table::find::<PackageRecord>(&*platform.store, &packages, Lookup::Id(&hold.digest)).await?;
    let Some(mut kept) = found else {
        return Ok(());
    };
    if !kept.record.is_closing {
        let batch = platform.batch(&packages).require(table::unchanged(&kept));
        kept.record.is_closing = true;
        if !commit(platform, batch.then(table::put(&kept.record)?)).await? {
            return Ok(());
        }
        kept = kept.rewritten();
    }
    // From here on a tenant that takes it changes the record. One may have taken it before.
    let batch = platform.batch(&packages).require(table::unchanged(&kept));
    let batch = if is_held().await? {
        batch.then(table::put(&PackageRecord { is_closing: false, ..kept.record })?)
    } else {
        let (kind, id) = (PACKAGE_TEXT.to_owned(), hold.digest.clone());
        batch.then(table::delete(&kept.record)).then(Op::DeleteRecord { kind, id })
    };
    commit(platform, batch).await.map(drop)
}

/// One step of deleting an account, whose programs are gone; true when it holds nothing any more.
pub(crate) async fn forget(platform: &Platform, tenant: &Tenant) -> Result<bool, Error> {
    let listed = table::list::<PackageHold>(&*platform.store, tenant, Page::newest(100)).await?;
    for kept in &listed.items {
        withdraw(platform, tenant, &kept.record).await?;
        platform.store.commit(platform.batch(tenant).then(table::delete(&kept.record))).await?;
    }
    Ok(listed.items.is_empty())
}

/// What the texts take that a tenant holds: each tenant is charged as if it had stored them alone, because it may be the last.
pub(crate) async fn held_bytes(platform: &Platform, tenant: &Tenant) -> Result<u64, Error> {
    let holds = table::list_all::<PackageHold>(&*platform.store, tenant).await?;
    Ok(holds.iter().map(|kept| kept.record.size_bytes).sum())
}

/// Whether it was committed: not, when something else changed first.
async fn commit(platform: &Platform, batch: Batch) -> Result<bool, Error> {
    if batch.operations.is_empty() {
        return Ok(true);
    }
    match platform.store.commit(batch).await {
        Err(CommitError::Conflict { .. }) => Ok(false),
        committed => committed.map(|_| true).map_err(Error::from),
    }
}

/// Compressing and hashing megabytes does not belong on the threads that serve requests; a few kilobytes are done before another
/// thread has begun.
pub(super) async fn off_thread<T: Send + 'static>(
    size_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    const SMALL_BYTES: usize = 32 << 10;
    if size_bytes <= SMALL_BYTES {
        return Ok(work());
    }
    admission::on_own_thread("program", work).await.map_err(|_| Error::Changed)
}
