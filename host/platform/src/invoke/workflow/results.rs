//! Takes in what came of a step: its results, its effects, its record, and where the run goes from there.

use std::io;

use domain::ids::RunId;
use domain::limits::NESTING_MAXIMUM;
use domain::outcome::Effect;
use domain::problem::Problem;
use domain::props;
use domain::retention::{RUNS_KEPT_MAXIMUM, RunRetention};
use domain::runs::{Facts, Trigger, TriggerKind};
use domain::workflow::{Body, Choice, Pause, PauseKind, Spot, StepOutcome, template};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::running::Running;
use super::step::StepRan;
use crate::Platform;
use crate::effects::{self, INPUTS, is_too_deep};
use crate::invoke::{Executed, Keeping, Transaction, append_record};
use crate::ports::{EffectKind, Fault, LogLine, Outcome};
use crate::records::workflow_run::{RunState, StepResult};
use crate::records::{RunRecord, Step};

/// Step results that are kept of one run.
const RESULTS_MAXIMUM: usize = 1000;
/// What is shown of one step.
const SHOWN_BYTES: usize = 32 << 10;
const SHOWN_LINES: usize = 100;
/// What all steps of a run may export: it is part of what is committed.
const EXPORTED_BYTES: usize = 16 << 20;
/// Records of steps and of runs that are kept for each run that is.
const RECORDS_PER_RUN: usize = 10;

// === impl Running ===

impl Running<'_> {
    pub(super) fn take(&mut self, ran: StepRan) {
        let StepRan { id, spot, key, started_at_ms, executed, recording, reply } = ran;
        let Executed { transaction, outcome, .. } = executed;
        self.deadline_ms = self.deadline_ms.saturating_add(transaction.take_waited_ms());
        self.pending.has_left |= transaction.has_effects() || outcome.has_replied;
        self.pending.add_usage(outcome.usage);
        self.run.used.add(outcome.usage);
        self.barrier.set(true);
        let (position, document) = (&self.run.position, &self.version.document);
        let Some(step) = position.step(document, &spot) else { return };
        let namespace = step.namespace.clone();
        transaction.note_writes(&outcome.writes);
        self.pending.transactions.push(((spot.clone(), namespace.clone()), transaction.clone()));
        let attempt = position.tries(document, &spot) + 1;
        let inputs = self.version.step(&namespace).map(|step| inputs(step, &outcome.effects)).unwrap_or_default();
        self.record(&id, &namespace, started_at_ms, &outcome, recording);
        let (position, document) = (&self.run.position, &self.version.document);
        let mut result = StepResult {
            namespace: namespace.clone(),
            iteration: position.iteration(document, &spot),
            state: RunState::Success,
            run_id: Some(id),
            inputs,
            exports: Value::Null,
            is_truncated: false,
            logs: shown_logs(&outcome.logs),
            attempt,
            started_at_ms,
            ended_at_ms: self.platform.clock.now_ms(),
            fuel: outcome.usage.fuel,
            error: None,
        };
        self.pending.logs.extend(outcome.logs.iter().cloned());
        let outcome = match &outcome.fault {
            Some(fault) => self.failed(&namespace, fault, attempt),
            None => match self.succeeded(&spot, &key, &transaction, outcome) {
                Ok(done) => {
                    self.pending.respond(reply);
                    done
                }
                Err(failure) => {
                    self.failure = Some(failure);
                    StepOutcome::Failed
                }
            },
        };
        if let StepOutcome::Failed | StepOutcome::Paused { pause: Pause { kind: PauseKind::Retry, .. }, .. } = &outcome
        {
            result.state = RunState::Error;
            result.error = self.failure.as_ref().map(|failure| (*failure.error).clone());
        } else if matches!(outcome, StepOutcome::Paused { .. }) {
            result.state = RunState::Paused;
        }
        self.show_exports(&mut result, &outcome);
        if !matches!(outcome, StepOutcome::Failed) {
            self.failure = None;
        }
        self.run.position.apply(&self.version.document, &spot, outcome);
        self.keep_result(result);
    }

    /// Keeps a record of the step, beside that of the run.
    fn record(&mut self, id: &RunId, step: &str, started_at_ms: u64, outcome: &Outcome, recording: Keeping) {
        if !self.keeps_runs() {
            return;
        }
        let facts = Facts {
            id: id.clone(),
            emitter_id: self.workflow.id.as_str(),
            version: &self.workflow.deployment_id(self.run.version),
            trigger: Trigger { kind: TriggerKind::Step, id: Some(format!("{}/{step}", self.run.id)) },
            trace_id: self.run.cause.trace_id,
            queued_at_ms: started_at_ms,
            ended_at_ms: self.platform.clock.now_ms(),
            reply_status: None,
            recording: recording.state,
        };
        let record = RunRecord::new(facts, outcome, std::iter::empty());
        let retention = record_retention(self.platform);
        // A record is made of plain data, which has a stored form.
        self.pending.records.extend(append_record(self.platform, retention, &record).ok().flatten());
        self.pending.recordings.extend(recording.entry);
    }

    /// A step that failed is tried again, when the workflow says so; not when its limits ended it.
    fn failed(&mut self, namespace: &str, fault: &Fault, attempt: u32) -> StepOutcome {
        self.failure = Some(Failure::of(namespace, fault));
        let is_limit = matches!(fault, Fault::Deadline { .. } | Fault::OutOfMemory { .. } | Fault::OutOfFuel { .. });
        match self.version.document.settings.retry_delay_ms(attempt).filter(|_| !is_limit) {
            None => StepOutcome::Failed,
            Some(delay_ms) => {
                let until_ms = self.platform.clock.now_ms().saturating_add(delay_ms);
                let pause = Pause { kind: PauseKind::Retry, until_ms, key: String::new() };
                StepOutcome::Paused { exports: Map::new(), pause }
            }
        }
    }

    fn succeeded(
        &mut self,
        spot: &Spot,
        key: &str,
        transaction: &Transaction,
        outcome: Outcome,
    ) -> Result<StepOutcome, Failure> {
        let (platform, document) = (self.platform, &self.version.document);
        let limits = &platform.config.limits;
        let Some(step) = self.run.position.step(document, spot) else { return Ok(StepOutcome::Failed) };
        let namespace = step.namespace.as_str();
        let returned_bytes = outcome.returned.as_ref().map_or(0, |returned| returned.get().len());
        let exported: usize = outcome.effects.iter().map(|effect| effect.parameters.get().len()).sum();
        self.exported_bytes += returned_bytes + exported;
        if self.exported_bytes > EXPORTED_BYTES {
            let message = format!("the steps of a run return and export at most {EXPORTED_BYTES} bytes");
            return Err(Failure::new(namespace, "too_much_output", message));
        }
        let returned = outcome.returned.as_deref().map(|returned| serde_json::from_str(returned.get()));
        let returned: Option<Value> = returned.unwrap_or(Ok(Value::Null)).ok().filter(|value| !is_too_deep(value));
        let Some(returned) = returned else {
            let message = format!("what it returned nests deeper than {NESTING_MAXIMUM} levels, and cannot be kept");
            return Err(Failure::new(namespace, "too_much_output", message));
        };
        if !matches!(step.body, Body::Action(_) | Body::Code(_)) {
            let choice = Choice::parse(step, returned);
            return choice.map(StepOutcome::Chosen).map_err(|error| Failure::new(namespace, "not_a_choice", error));
        }
        let invalid = |problems: Vec<Problem>| {
            let message = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            Failure::new(namespace, "invalid_parameters", message)
        };
        let mut effects = effects::parse(&outcome.effects, limits).map_err(invalid)?;
        if let Some(step) = self.version.step(namespace) {
            effects::name_accounts(&mut effects, &step.description, &step.props).map_err(invalid)?;
        }
        let asked = self.pending.apply((platform, self.owner.tenant), namespace, effects)?;
        self.pending.writes.extend(transaction.write_operations(outcome.writes));
        let mut exports = Map::from_iter([("$return_value".to_owned(), returned)]);
        exports.extend(asked.exports);
        exports.shift_remove(INPUTS);
        let Some(pause) = asked.pause.filter(|_| asked.exit.is_none()) else {
            return Ok(StepOutcome::Done { exports, exit: asked.exit });
        };
        let runs = self.run.position.rerun(document, spot).get("runs").and_then(Value::as_u64).unwrap_or(1);
        if matches!(pause.kind, PauseKind::Rerun { .. }) && runs > u64::from(pause.retries_maximum) {
            return Ok(StepOutcome::Done { exports, exit: None });
        }
        let until_ms = platform.clock.now_ms().saturating_add(pause.ms);
        Ok(StepOutcome::Paused { exports, pause: Pause { kind: pause.kind, until_ms, key: key.to_owned() } })
    }

    fn show_exports(&self, result: &mut StepResult, outcome: &StepOutcome) {
        let shown = match outcome {
            StepOutcome::Done { exports, .. } | StepOutcome::Paused { exports, .. } => Value::Object(exports.clone()),
            StepOutcome::Chosen(Choice::Branch(branch)) => json!({"branch": branch}),
            StepOutcome::Chosen(Choice::Branches(branches)) => json!({"branches": branches}),
            StepOutcome::Chosen(Choice::Items(items)) => json!({"items": items.len()}),
            StepOutcome::Chosen(Choice::Holds(holds)) => json!({"$return_value": holds}),
            StepOutcome::Failed => Value::Null,
        };
        if !self.keeps_runs() {
            return;
        }
        result.is_truncated = is_longer(&shown, SHOWN_BYTES);
        if !result.is_truncated {
            result.exports = shown;
        }
    }

    fn keep_result(&mut self, mut result: StepResult) {
        if !self.keeps_runs() {
            result.logs.clear();
            result.inputs = Value::Null;
        }
        if self.run.steps.len() < RESULTS_MAXIMUM {
            self.run.steps.push(result);
        }
    }
}

/// How many records of runs and steps are kept of a workflow.
pub(crate) fn record_retention(platform: &Platform) -> RunRetention {
    let kept = platform.config.limits.runs_kept.saturating_mul(RECORDS_PER_RUN);
    RunRetention { count: Some(u32::try_from(kept).unwrap_or(u32::MAX).min(RUNS_KEPT_MAXIMUM)), seconds: None }
}

/// The values of a step's props as they were when it ran, without secret ones.
fn inputs(step: &Step, given: &[Effect]) -> Value {
    let mut inputs = Value::Object(step.props.clone());
    let exported = given.iter().filter(|effect| effect.kind == EffectKind::Export).find_map(|effect| {
        let mut parameters: Value = serde_json::from_str(effect.parameters.get()).ok()?;
        (parameters.get("name")?.as_str()? == INPUTS).then(|| parameters.get_mut("value").map(Value::take))?
    });
    let secret: Vec<&str> = props::secret_names(&step.description.props).collect();
    for pair in exported.iter().filter_map(Value::as_array).flatten() {
        let (Some(path), Some(value)) = (pair.get(0).and_then(Value::as_array), pair.get(1)) else { continue };
        let is_secret = path.first().and_then(Value::as_str).is_some_and(|name| secret.contains(&name));
        if let Some(place) = template::value_at(&mut inputs, path).filter(|_| !is_secret) {
            *place = value.clone();
        }
    }
    let is_empty = inputs.as_object().is_none_or(Map::is_empty);
    if is_empty || is_longer(&inputs, SHOWN_BYTES) || is_too_deep(&inputs) { Value::Null } else { inputs }
}

/// Whether the JSON of a value takes more bytes than that, without making it.
fn is_longer(value: &Value, bytes: usize) -> bool {
    struct Room(usize);

    impl io::Write for Room {
        fn write(&mut self, part: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(part.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(part.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    serde_json::to_writer(Room(bytes), value).is_err()
}

/// The last lines, as far as they are short.
fn shown_logs(logs: &[LogLine]) -> Vec<LogLine> {
    let mut left = SHOWN_BYTES;
    let mut shown: Vec<LogLine> = Vec::new();
    for line in logs.iter().rev().take(SHOWN_LINES) {
        let Some(rest) = left.checked_sub(line.message.len()) else { break };
        left = rest;
        shown.push(line.clone());
    }
    shown.reverse();
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_longer;

    #[test]
    fn what_is_as_long_as_may_be_is_not_longer() {
        let value = json!({"a": [1, "é"]});
        let length = value.to_string().len();

        assert!(!is_longer(&value, length) && is_longer(&value, length - 1));
    }
}
