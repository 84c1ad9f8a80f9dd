//! Errors that the platform itself reports in a source's `$errors`.

use domain::ids::EmitId;
use domain::json::Json;
use domain::plan::Context;
use domain::users::QuotaError;
use store::{Op, Precondition, Tenant};

use crate::Error;
use crate::flow::handle::Flow;
use crate::keeping::STORED_BYTES;
use crate::quotas::reports_of_today;
use crate::records::{Event, Source, StreamEntry, names};

/// An event of `$errors` that no run threw.
pub(crate) struct Report<'a> {
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
    /// What could not be processed.
    pub(crate) original_event: Option<Json>,
}

// === impl Flow ===

impl Flow {
    /// The operation that puts a report into the stream of a source.
    pub(crate) fn report(&self, source: &Source, report: Report<'_>) -> Result<Op, Error> {
        let event = self.report_event(source.id.as_str(), report);
        let keep = u32::try_from(self.platform.config.limits.events_kept).unwrap_or(u32::MAX);
        let (emitter, stream) = (source.id.to_string(), names::ERRORS.to_owned());
        Ok(Op::Append { emitter, stream, value: event.encode()?, keep })
    }

    pub(crate) fn report_event(&self, emitter_id: &str, report: Report<'_>) -> Event {
        let Report { code, message, original_event } = report;
        let platform = &self.platform;
        let context = Context {
            emitter_id,
            dedupe: None,
            limits: &platform.config.limits,
            run_id: "",
            original_event: original_event.as_ref(),
            now_ms: platform.clock.instant_ms(),
            emit_id: &|| EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()),
        };
        context.report(code, "Error", message, message)
    }

    /// Design: "over quota … one `$errors` event says so". Best effort: the refusal does not depend on it.
    pub(crate) async fn report_refusal(&self, tenant: &Tenant, source: &Source, refusal: &Error) {
        let code = match refusal {
            Error::NoRoom { .. } => STORED_BYTES,
            _ => QuotaError::CODE,
        };
        let message = refusal.to_string();
        let report = Report { code, message: &message, original_event: None };
        if let Err(error) = self.report_once_a_day(tenant, source, report).await {
            tracing::warn!(source.id = %source.id, %error, "a refusal could not be reported");
        }
    }

    async fn report_once_a_day(&self, tenant: &Tenant, source: &Source, report: Report<'_>) -> Result<(), Error> {
        let (counter, count) = reports_of_today(&self.platform, report.code);
        // Refusals are many and the report is one, so look before asking for a write.
        let reported = self.platform.store.counters(tenant, std::slice::from_ref(&counter)).await?;
        if reported.iter().any(|count| *count > 0) {
            return Ok(());
        }
        let precondition = Precondition::CounterBelow { counter, limit: 1 };
        let append = self.report(source, report)?;
        let batch = self.platform.batch(tenant).require(precondition).then(append).then(count);
        match self.platform.store.commit(batch).await.map_err(Error::from) {
            Ok(_) | Err(Error::Changed) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
