//! Accounts that are over: their sources say so. An account ends when its provider refuses a refresh (`refresh.rs`), or here, when
//! its service refuses credentials that cannot be refreshed.
//!
//! One 401 may be about the address that a component asked for, so the service is asked once more, in the way that its
//! provider file tests credentials. Only when that is refused as well the account is over. An app that says no way to
//! test is believed at once about a token that it granted, and not at all about credentials that a user pasted: whether
//! those were ever good is not known.

use domain::ids::{AccountId, EmitId};
use domain::plan::Context;
use store::{Lookup, Op, Tenant};

use super::{call_profile, open_credentials, open_grant};
use crate::numbers::Refreshed;
use crate::ports::Fault;
use crate::providers::find_provider;
use crate::records::names::ERRORS;
use crate::records::{Account, Death, GrantSecrets, Source, StreamEntry, table};
use crate::{Error, Platform};

const UNAUTHORIZED: u16 = 401;

// === impl Platform ===

impl Platform {
    /// Called after a service refused the credentials of this generation.
    pub(super) async fn end_refused(&self, tenant: &Tenant, account: &Account, generation: u64) -> Result<(), Error> {
        let queue = self.refreshes().queue(&account.id);
        let _turn = queue.lock().await;
        let id = Lookup::Id(account.id.as_str());
        let Some(mut kept) = table::find::<Account>(&*self.store, tenant, id).await? else { return Ok(()) };
        let has_changed = kept.record.grant.as_ref().map_or(0, |grant| grant.generation) != generation;
        if has_changed || kept.record.dead.is_some() || !self.is_refused(tenant, &kept.record).await? {
            return Ok(());
        }
        let unchanged = table::unchanged(&kept);
        let reason = format!("{} refuses its credentials, and they cannot be refreshed", kept.record.app);
        let death = Death { reason, at: self.clock.now_seconds() };
        kept.record.dead = Some(death.clone());
        let mut batch = self.batch(tenant).require(unchanged).then(table::put(&kept.record)?);
        batch.operations.append(&mut self.report_death(tenant, &kept.record, &death).await?);
        match self.store.commit(batch).await.map_err(Error::from) {
            // Connected again, or marked by another host, in this moment.
            Err(Error::Changed) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => {
                self.numbers.refreshed(Refreshed::Refused);
                Ok(())
            }
        }
    }

    async fn is_refused(&self, tenant: &Tenant, account: &Account) -> Result<bool, Error> {
        let provider = match find_provider(self, &account.app).await {
            Ok(provider) => provider,
            Err(Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let credentials = open_credentials(self, tenant, account)?;
        let client = self.client_of(tenant, account, &provider, &credentials).await?;
        let secrets = match &account.grant {
            Some(grant) => open_grant(self, tenant, &account.id, grant)?,
            None => GrantSecrets::default(),
        };
        Ok(match call_profile(self, tenant, &provider, &credentials, &secrets, client.as_ref()).await {
            None => account.grant.is_some(),
            Some(Ok(called)) => called.status == UNAUTHORIZED,
            // Not reached: the next 401 asks again.
            Some(Err(_)) => false,
        })
    }

    /// Every source that uses the account says so in its `$errors`, in the batch that marks it.
    pub(super) async fn report_death(
        &self,
        tenant: &Tenant,
        account: &Account,
        death: &Death,
    ) -> Result<Vec<Op>, Error> {
        let sources = sources_of(tenant, self, &account.id).await?;
        sources.iter().map(|source| self.report_of_death(source, account, death)).collect()
    }

    fn report_of_death(&self, source: &Source, account: &Account, death: &Death) -> Result<Op, Error> {
        let limits = &self.config.limits;
        let now_ms = self.clock.instant_ms();
        let context = Context {
            emitter_id: source.id.as_str(),
            dedupe: None,
            limits,
            run_id: "",
            original_event: None,
            now_ms,
            emit_id: &|| EmitId::new(now_ms, self.entropy.bytes()),
        };
        let prop = source.revision.prop_of_account(&account.id).unwrap_or_default().to_owned();
        let fault = Fault::DeadAccount { prop, account: account.id.to_string(), reason: death.reason.clone() };
        let message = fault.to_string();
        let event = context.report(fault.code(), "Error", &message, &message);
        let keep = u32::try_from(limits.events_kept).unwrap_or(u32::MAX);
        let (emitter, stream) = (source.id.to_string(), ERRORS.to_owned());
        Ok(Op::Append { emitter, stream, value: event.encode()?, keep })
    }
}

/// The sources that an account is given to.
pub(crate) async fn sources_of(tenant: &Tenant, platform: &Platform, id: &AccountId) -> Result<Vec<Source>, Error> {
    let sources = table::list_all::<Source>(&*platform.store, tenant).await?;
    Ok(sources.into_iter().map(|kept| kept.record).filter(|source| source.revision.uses_account(id)).collect())
}
