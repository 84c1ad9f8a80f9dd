//! An invocation, as data.

use std::sync::Arc;

use domain::component::Description;
use domain::ids::RunId;
use domain::retention::RunRetention;
use domain::runs::{RecordingMode, Trigger};
use domain::users::Plan;
use serde_json::{Map, Value};
use store::Tenant;

use super::reply::ReplySlot;
use super::transaction::{Terms, Transaction, new_run_id};
use super::workflow::StepContext;
use crate::ports::{Call, RunLimits};
use crate::quotas::Admission;
use crate::records::{Component, Origin, Source, Step, Workflow, names};
use crate::{Caller, Platform};

/// The account that is charged.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) plan: &'a Plan,
    /// The invocation was counted before it began.
    pub(crate) was_counted: bool,
}

/// One invocation, over all its attempts.
pub(crate) struct Invocation<'a> {
    pub(crate) owner: Owner<'a>,
    pub(crate) target: Target<'a>,
    pub(crate) call: Call,
    pub(crate) limits: RunLimits,
    pub(crate) trigger: Trigger,
    /// When it was triggered.
    pub(crate) queued_at_ms: u64,
    /// Where `respond` is waited for, when there is a request to answer.
    pub(crate) reply: Option<Arc<ReplySlot>>,
    /// Of a step of a workflow.
    pub(crate) step: Option<StepContext>,
}

/// The component that runs, and where its state lies.
pub(crate) struct Target<'a> {
    /// What the guest knows itself as.
    pub(crate) id: &'a str,
    pub(crate) description: &'a Description,
    pub(crate) origin: Origin,
    pub(crate) program: &'a str,
    pub(crate) values: Values<'a>,
    /// Where `$.service.db` keeps its values.
    pub(crate) scope: String,
    /// Which of its runs are recorded.
    pub(crate) recording: RecordingMode,
}

/// The values of its props.
pub(crate) enum Values<'a> {
    /// Of a source; the secret ones are sealed, and its endpoints have URLs.
    Stored(&'a Source),
    /// With secrets in the clear.
    Given(Map<String, Value>),
}

// === impl Invocation ===

impl Invocation<'_> {
    pub(crate) fn transaction(&self, platform: &Platform) -> Arc<Transaction> {
        self.transaction_of(platform, new_run_id(platform, self.target.id))
    }

    /// Of a run that is not committed: nothing that it writes is flushed either.
    pub(crate) fn trial(&self, platform: &Platform) -> Arc<Transaction> {
        let terms = self.terms(new_run_id(platform, self.target.id));
        Transaction::new(platform, Terms { is_atomic: true, ..terms })
    }

    /// Steps of one workflow run share its id.
    pub(crate) fn transaction_of(&self, platform: &Platform, run_id: RunId) -> Arc<Transaction> {
        Transaction::new(platform, self.terms(run_id))
    }

    /// What the run responded does not count: it was rolled back, or begins again.
    pub(super) fn withdraw_reply(&self) {
        if let Some(slot) = &self.reply {
            slot.withdraw();
        }
    }

    fn terms(&self, run_id: RunId) -> Terms {
        Terms {
            run_id,
            tenant: self.owner.tenant.clone(),
            scope: self.target.scope.clone(),
            has_data_stores: self.target.description.has_data_stores(),
            isolation: self.target.description.isolation(),
            is_atomic: self.target.description.is_atomic,
            wall_clock: self.limits.wall_clock,
        }
    }

    /// Hooks and options are part of managing a source, and are charged by their time alone.
    pub(super) fn counts_as_invocation(&self) -> bool {
        matches!(self.call, Call::Run { .. } | Call::Action { .. })
    }
}

// === impl Owner ===

impl<'a> Owner<'a> {
    /// Of what a caller runs and waits for.
    pub(crate) fn by_hand(caller: &'a Caller) -> Self {
        Self { tenant: &caller.tenant, plan: &caller.user.plan, was_counted: false }
    }

    pub(crate) fn admitted(tenant: &'a Tenant, admission: &'a Admission) -> Self {
        Self { tenant, plan: &admission.plan, was_counted: admission.was_counted }
    }
}

// === impl Target ===

impl<'a> Target<'a> {
    /// How long records of its runs are kept, as far as it says so itself.
    pub(crate) fn retention(&self) -> RunRetention {
        match &self.values {
            Values::Stored(source) => source.retention,
            Values::Given(_) => RunRetention::default(),
        }
    }

    pub(crate) fn of_source(source: &'a Source) -> Self {
        let revision = &source.revision;
        Self {
            id: source.id.as_str(),
            description: &revision.description,
            origin: revision.origin,
            program: &revision.program,
            values: Values::Stored(source),
            scope: names::db(&source.id),
            recording: source.recording,
        }
    }

    /// A saved component that is run by hand.
    pub(crate) fn of_component(component: &'a Component, origin: Origin, props: Map<String, Value>) -> Self {
        Self {
            id: component.id.as_str(),
            description: &component.description,
            origin,
            program: &component.program,
            values: Values::Given(props),
            scope: names::db_of_component(&component.id),
            recording: RecordingMode::default(),
        }
    }

    pub(crate) fn of_step(
        workflow: &Workflow,
        step: &'a Step,
        props: Map<String, Value>,
        recording: RecordingMode,
    ) -> Self {
        Self {
            id: step.component_id.as_str(),
            description: &step.description,
            origin: Origin::Own,
            program: &step.program,
            values: Values::Given(props),
            scope: names::db_of_step(&workflow.id, &step.name),
            recording,
        }
    }
}
