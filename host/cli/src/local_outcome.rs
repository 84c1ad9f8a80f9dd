//! What a run without a server came to, judged as a server would: which emits become events, in which order, and whether
//! what the run did counts at all.
//!
//! A server also compares with the events of earlier runs; here every run is the first.

use domain::component::{Description, Kind};
use domain::dedupe::{self, DedupeState, Strategy};
use domain::emit;
use domain::limits::Limits;
use domain::props::PropType;
use domain::timers::Schedule;
use sandbox::{Emit, EmitMetadata, Fault, Outcome, Reply};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// What a component says of its runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    is_atomic: bool,
    dedupe: Option<Strategy>,
}

// === impl Rules ===

impl Rules {
    /// A component that could not be deployed has none.
    pub(crate) fn of(exports: &Value) -> Self {
        let description = Description::parse(exports);
        description.map_or_else(
            |_| Self::default(),
            |description| Self { is_atomic: description.is_atomic, dedupe: description.dedupe },
        )
    }

    /// Takes back what an atomic run did that failed; whether it did.
    pub(crate) fn take_back(self, outcome: &mut Outcome) -> bool {
        let is_void = self.is_atomic && outcome.fault.is_some();
        if is_void {
            outcome.emits.clear();
            outcome.writes.clear();
            outcome.effects.clear();
        }
        is_void
    }
}

/// Of a source without `run`, which emits what it is given, as on a server; without an event, that is the tick of its timer.
pub(crate) fn without_run(
    exports: &Value,
    event: Option<&Value>,
    props: &Map<String, Value>,
    now_ms: f64,
) -> Option<Outcome> {
    let description = Description::parse(exports).ok().filter(|one| one.kind == Kind::Source && !one.has_run)?;
    let tick = || {
        let schedule = description.props_of(PropType::Timer).find_map(|prop| props.get(&prop.name))?;
        Some(Schedule::parse(schedule, 1).ok()?.event(now_ms as i64))
    };
    let event = event.cloned().or_else(tick).unwrap_or_else(|| json!({}));
    let event = serde_json::value::to_raw_value(&event).ok()?;
    Some(Outcome { emits: vec![Emit { event, metadata: EmitMetadata::default() }], ..Outcome::default() })
}

/// The outcome for people and programs alike.
pub(crate) fn to_json(outcome: &Outcome, reply: Option<Reply>, rules: Rules) -> Value {
    let (emits, rejected) = judge(&outcome.emits, rules.dedupe);
    let writes = outcome.writes.iter().map(|write| {
        let value = write.value.as_deref().and_then(|value| serde_json::from_str::<Value>(value).ok());
        (write.key.clone(), value.unwrap_or(Value::Null))
    });
    let effects =
        outcome.effects.iter().map(|effect| json!({"kind": effect.kind, "parameters": shown(&effect.parameters)}));
    json!({
        "ok": outcome.fault.is_none(),
        "error": outcome.fault.as_ref().map(fault_to_json),
        "returned": outcome.returned.as_deref().map(shown),
        "emits": emits,
        "rejected": rejected,
        "writes": writes.collect::<Map<_, _>>(),
        "effects": effects.collect::<Vec<_>>(),
        "reply": reply.map(|reply| json!({
            "status": reply.status, "headers": reply.headers, "body": String::from_utf8_lossy(&reply.body),
        })),
        "logs": outcome.logs,
        "usage": {
            "fuel": outcome.usage.fuel,
            "cpu_us": outcome.usage.cpu.as_micros() as u64,
            "wall_clock_us": outcome.usage.wall_clock.as_micros() as u64,
            "peak_memory_bytes": outcome.usage.peak_memory_bytes,
        },
    })
}

/// JSON that nests too deeply for this program is shown as its text.
fn shown(json: &RawValue) -> Value {
    serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().into())
}

/// Those that would become events, and those that a server would reject, with the reason.
fn judge(emits: &[Emit], dedupe: Option<Strategy>) -> (Vec<Value>, Vec<Value>) {
    let (mut parsed, mut rejected) = (Vec::new(), Vec::new());
    for emit in emits {
        match parse(emit) {
            Ok(read) => parsed.push((told(emit), read)),
            Err(reason) => rejected.push(with_reason(told(emit), &reason)),
        }
    }
    let ordered = emit::order(parsed.iter().map(|(_, read)| read.clone()).collect());
    // Those that are equal are told alike.
    let mut take = |read: &emit::Emit| {
        let at = parsed.iter().position(|(_, other)| other == read);
        at.map_or(Value::Null, |at| parsed.remove(at).0)
    };
    let Some(strategy) = dedupe else { return (ordered.iter().map(take).collect(), rejected) };
    let applied = dedupe::apply(strategy, DedupeState::default(), ordered);
    let refused = applied.rejected.iter();
    rejected.extend(refused.map(|rejection| with_reason(take(&rejection.emit), &rejection.reason.to_string())));
    (applied.accepted.iter().map(take).collect(), rejected)
}

fn parse(emit: &Emit) -> Result<emit::Emit, String> {
    let limits = Limits::default();
    let event = domain::json::Json::from(emit.event.clone());
    if !event.is_readable(limits.nesting_depth) {
        let levels = limits.nesting_depth;
        return Err(format!("it nests deeper than {levels} levels, or is not JSON that every reader accepts"));
    }
    let read = emit::Emit::parse(event, &json!(emit.metadata)).and_then(|read| read.checked(&limits));
    read.map_err(|error| error.to_string())
}

fn told(emit: &Emit) -> Value {
    json!({"event": shown(&emit.event), "metadata": emit.metadata})
}

fn with_reason(mut told: Value, reason: &str) -> Value {
    if let Some(fields) = told.as_object_mut() {
        fields.insert("reason".to_owned(), json!(reason));
    }
    told
}

fn fault_to_json(fault: &Fault) -> Value {
    let thrown = match fault {
        Fault::Threw(thrown) => Some(thrown),
        _ => None,
    };
    json!({"code": fault.code(), "message": fault.to_string(), "thrown": thrown})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emit(event: &str, metadata: Value) -> Emit {
        let metadata: EmitMetadata = serde_json::from_value(metadata).unwrap();
        Emit { event: RawValue::from_string(event.to_owned()).unwrap(), metadata }
    }

    fn events(told: &[Value]) -> Vec<&Value> {
        told.iter().map(|told| &told["event"]).collect()
    }

    #[test]
    fn emits_are_ordered_and_deduplicated_as_on_a_server() {
        let emits = [
            emit("\"late\"", json!({"id": 2, "ts": 2})),
            emit("\"early\"", json!({"id": 1, "ts": 1})),
            emit("\"again\"", json!({"id": "1", "ts": 3})),
            emit("\"none\"", json!({})),
            emit("\"reserved\"", json!({"id": 3, "name": "$errors"})),
        ];

        let (kept, rejected) = judge(&emits, Some(Strategy::Unique));
        let (all, refused) = judge(&emits, None);

        assert_eq!(events(&kept), ["early", "late"]);
        assert_eq!(events(&rejected), ["reserved", "none"]);
        assert!(rejected[1]["reason"].as_str().unwrap().contains("every emit needs an id"), "{rejected:?}");
        assert_eq!(events(&all), ["early", "late", "again", "none"]);
        assert_eq!(events(&refused), ["reserved"]);
    }
}
