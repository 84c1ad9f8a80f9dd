//! What steps did that is not committed yet.

use std::sync::Arc;

use domain::actions::{Effect, PauseAsked};
use domain::emit::{Channel, Emit};
use domain::json::Json;
use domain::plan::Planned;
use serde_json::{Map, Value, json};
use store::{Op, Tenant};

use super::again::StepAt;
use super::failure::{Failure, metadata};
use super::state::State;
use crate::invoke::{RecordingEntry, Transaction, Waited};
use crate::ports::{LogLine, Reply, Usage};
use crate::records::{Event, Metadata, Workflow};
use crate::{Platform, effects};

#[derive(Default)]
pub(super) struct Pending {
    pub(super) emits: Vec<Emit>,
    /// Requests, e-mails and objects, each with its step.
    pub(super) sends: Vec<(String, Effect)>,
    pub(super) writes: Vec<Op>,
    pub(super) logs: Vec<LogLine>,
    /// Records of the steps.
    pub(super) records: Vec<Op>,
    pub(super) recordings: Vec<RecordingEntry>,
    /// What steps read must hold when they are committed.
    pub(super) transactions: Vec<(StepAt, Arc<Transaction>)>,
    /// What a step responded: the client is answered when that step is committed.
    pub(super) reply: Option<Reply>,
    pub(super) usage: Option<Usage>,
    /// How many steps it is about.
    pub(super) steps: u64,
    /// Something could be seen from outside, so that none of this may be done again.
    pub(super) has_left: bool,
}

/// What a step asked for besides what is pending.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) exports: Map<String, Value>,
    pub(super) exit: Option<Option<String>>,
    pub(super) pause: Option<PauseAsked>,
}

// === impl Pending ===

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// Whether steps wrote where a step keeps its state.
    pub(super) fn writes_in(&self, state: &State) -> bool {
        self.writes.iter().any(|write| match write {
            Op::SetValue { scope, .. } | Op::RemoveValue { scope, .. } => state.has(scope),
            _ => false,
        })
    }

    /// Waits after a commit was refused because a value is locked. `false` when that is not worth it, or the steps can as well be
    /// run again.
    pub(super) async fn wait(&self, waited: &mut Waited) -> bool {
        let last = self.transactions.iter().map(|(_, transaction)| transaction).rfind(|one| one.has_effects());
        match last {
            Some(transaction) => transaction.pause(waited).await,
            None => false,
        }
    }

    pub(super) fn has_output(&self) -> bool {
        !(self.emits.is_empty() && self.sends.is_empty() && self.writes.is_empty() && self.logs.is_empty())
    }

    pub(super) fn add_usage(&mut self, usage: Usage) {
        self.usage = Some(self.usage.unwrap_or_default().plus(usage));
        self.steps += 1;
    }

    /// What does not fit into one batch is rolled back.
    pub(super) fn discard(&mut self) {
        self.emits.clear();
        self.sends.clear();
        self.writes.clear();
        self.logs.clear();
        self.reply = None;
    }

    /// The first counts.
    pub(super) fn respond(&mut self, reply: Option<Reply>) {
        self.reply = self.reply.take().or(reply);
    }

    /// Takes in what a step asked for; nothing of it when the step fails for that.
    pub(super) fn apply(
        &mut self,
        (platform, tenant): (&Platform, &Tenant),
        step: &str,
        effects: Vec<Effect>,
    ) -> Result<Asked, Failure> {
        let (mut asked, mut emits, mut sends) = (Asked::default(), Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Export { name, value } => {
                    asked.exports.insert(name, value);
                }
                Effect::Exit { reason } => asked.exit = Some(reason),
                Effect::Pause(pause) => asked.pause = Some(pause),
                Effect::Emit(emit) => emits.push(emit),
                // A channel of the workflow's own, which is followed as a stream of events.
                Effect::Sse { channel, payload } => match Emit::parse(payload, &json!({"name": channel})) {
                    Ok(emit) => emits.push(emit),
                    Err(error) => {
                        return Err(Failure::new(step, "invalid_parameters", format!("$.send.sse.channel: {error}")));
                    }
                },
                // The guest's answer goes to the request that waits for it, when there is one.
                Effect::Respond(_) => {}
                Effect::Http(_) | Effect::Email(_) | Effect::S3(_) => {
                    if let Some(reason) = effects::refused(platform, tenant, &effect) {
                        let message = format!("$.send.{}: {reason}", effects::kind(&effect));
                        return Err(Failure::new(step, "unsupported", message));
                    }
                    sends.push((step.to_owned(), effect));
                }
            }
        }
        self.emits.extend(emits);
        self.sends.extend(sends);
        Ok(asked)
    }

    /// The events as they are emitted.
    pub(super) fn planned(&self, platform: &Platform, workflow: &Workflow, run_id: &str) -> Vec<Planned> {
        let emitted = |emit: &Emit| {
            let (stream, name) = match &emit.channel {
                Channel::Default => (emit.channel.as_str().to_owned(), String::new()),
                Channel::Named(name) => (name.clone(), name.clone()),
            };
            let id = emit.id.as_ref().map(|id| id.as_str().to_owned());
            let run_id = Some(run_id.to_owned());
            let metadata = Metadata {
                id,
                summary: emit.summary.clone(),
                ts: emit.ts,
                run_id,
                ..metadata(platform, workflow, name)
            };
            let delivery_ms = emit.delivery_ts.and_then(|at_ms| u64::try_from(at_ms).ok());
            Planned { stream, event: Event { event: raw_event(&emit.event), metadata }, delivery_ms }
        };
        self.emits.iter().map(emitted).collect()
    }
}

/// Spec: "for workflow emits it holds `raw_event`".
fn raw_event(event: &Json) -> Json {
    if event.to_value().get("raw_event").is_some() { event.clone() } else { json!({"raw_event": event}).into() }
}
