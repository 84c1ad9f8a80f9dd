//! What a run did, in a form that two runs can be compared in.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::json::Json;
use crate::limits::NESTING_MAXIMUM;
use crate::outcome::{EffectKind, Fault, Level, Outcome};
use crate::redact::{Hidden, REDACTED, Redaction};
use crate::runs::{RunError, cut};

/// Of one side of a difference that is shown.
const SHOWN_BYTES: usize = 1024;
/// Differences that are listed.
const DIFFERENCES_MAXIMUM: usize = 100;

/// The comparable part of an outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deeds {
    #[serde(default)]
    pub emits: Vec<Value>,
    /// Key and JSON text, or none when it was removed.
    #[serde(default)]
    pub writes: Vec<(String, Option<String>)>,
    /// Level and text.
    #[serde(default)]
    pub logs: Vec<(String, String)>,
    /// What an action asked for, with its parameters.
    #[serde(default)]
    pub effects: Vec<Value>,
    #[serde(default)]
    pub requests: Vec<String>,
    #[serde(default)]
    pub returned: Value,
    #[serde(default)]
    pub reply: Option<Value>,
    #[serde(default)]
    pub error: Option<RunError>,
    pub fuel: u64,
    /// It was stopped from outside, at a moment that a replay does not know: by the clock.
    #[serde(default)]
    pub was_cut_off: bool,
}

/// What [`Deeds`] are read from: the texts of an outcome as they are, because more runs are recorded than recordings are read.
#[derive(Serialize, Deserialize)]
pub struct Told<'a> {
    /// JSON of the event and of its metadata.
    #[serde(borrow)]
    emits: Vec<(&'a str, String)>,
    #[serde(borrow)]
    writes: Vec<(&'a str, Option<&'a str>)>,
    #[serde(borrow)]
    logs: Vec<(Level, &'a str)>,
    /// With the JSON of its parameters.
    #[serde(borrow)]
    effects: Vec<(EffectKind, &'a str)>,
    requests: Vec<String>,
    /// JSON, as are the two below.
    returned: Option<&'a str>,
    reply: Option<String>,
    error: Option<String>,
    fuel: u64,
    was_cut_off: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// `emits[0]`, `writes`, `error`…
    pub what: String,
    pub recorded: Value,
    pub replayed: Value,
}

/// How a replay went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Identical,
    /// The same but for its fuel: another version of the engine or other code.
    OnlyFuel,
    Different,
    /// It asked for something that was not recorded.
    Diverged,
}

// === impl Deeds ===

impl Deeds {
    pub fn of(outcome: &Outcome, reply: Option<&impl Serialize>) -> Result<Self, serde_json::Error> {
        Told::of(outcome, reply)?.deeds()
    }

    /// Hides what the paths of a redaction name, each from the root of an event, a written or returned value, or a reply.
    pub fn redact(&mut self, redaction: &Redaction, hidden: &mut Hidden) {
        // Each is a list of the value and something else.
        let emitted = self.emits.iter_mut().filter_map(|emit| emit.get_mut(0));
        let sent = self.effects.iter_mut().filter_map(|effect| effect.get_mut(1));
        for value in emitted.chain(sent).chain([&mut self.returned]).chain(&mut self.reply) {
            redaction.apply(value, hidden);
        }
        let written = self.writes.iter_mut().filter_map(|(_, text)| text.as_mut());
        let replied = self.reply.as_mut().and_then(|reply| reply.get_mut("body"));
        for text in written {
            redact_json(text, redaction, hidden);
        }
        if let Some(Value::String(text)) = replied {
            redact_json(text, redaction, hidden);
        }
    }

    /// Masks what was hidden wherever it occurs.
    pub fn mask(&mut self, hidden: &Hidden) {
        let values = self.emits.iter_mut().chain(&mut self.effects).chain([&mut self.returned]).chain(&mut self.reply);
        values.for_each(|value| hidden.mask(value));
        for (key, text) in &mut self.writes {
            hidden.mask_text(key);
            text.iter_mut().for_each(|text| hidden.mask_text(text));
        }
        let logged = self.logs.iter_mut().map(|(_, text)| text);
        logged.chain(&mut self.requests).for_each(|text| hidden.mask_text(text));
        if let Some(error) = &mut self.error {
            error.mask(hidden);
        }
    }
}

// === impl Told ===

impl<'a> Told<'a> {
    pub fn of(outcome: &'a Outcome, reply: Option<&impl Serialize>) -> Result<Self, serde_json::Error> {
        let emits = outcome.emits.iter();
        let requests = outcome.traffic.requests.iter();
        Ok(Self {
            emits: emits
                .map(|emit| Ok((emit.event.as_str(), serde_json::to_string(&emit.metadata)?)))
                .collect::<Result<_, serde_json::Error>>()?,
            writes: outcome.written().iter().map(|write| (write.key.as_str(), write.value.as_deref())).collect(),
            logs: outcome.logs.iter().map(|line| (line.level, line.message.as_str())).collect(),
            effects: outcome.effects.iter().map(|effect| (effect.kind, effect.parameters.get())).collect(),
            requests: requests.map(|made| format!("{} {}{}", made.method, made.host, made.path)).collect(),
            returned: outcome.returned.as_deref().map(RawValue::get),
            reply: reply.map(serde_json::to_string).transpose()?,
            error: outcome.fault.as_ref().map(|fault| serde_json::to_string(&RunError::of(fault))).transpose()?,
            fuel: outcome.usage.fuel,
            was_cut_off: matches!(outcome.fault, Some(Fault::Deadline { .. })),
        })
    }

    pub fn deeds(&self) -> Result<Deeds, serde_json::Error> {
        let emits = self.emits.iter();
        let logs = self.logs.iter().map(|line| serde_json::from_value(json!(line)));
        let writes = self.writes.iter().map(|(key, text)| ((*key).to_owned(), text.map(str::to_owned)));
        Ok(Deeds {
            emits: emits
                .map(|(event, metadata)| Ok(json!([readable(event), serde_json::from_str::<Value>(metadata)?])))
                .collect::<Result<_, serde_json::Error>>()?,
            writes: writes.collect(),
            logs: logs.collect::<Result<_, _>>()?,
            effects: self.effects.iter().map(|(kind, parameters)| json!([kind, readable(parameters)])).collect(),
            requests: self.requests.clone(),
            returned: self.returned.map(readable).unwrap_or_default(),
            reply: self.reply.as_deref().map(serde_json::from_str).transpose()?,
            error: self.error.as_deref().map(serde_json::from_str).transpose()?,
            fuel: self.fuel,
            was_cut_off: self.was_cut_off,
        })
    }
}

fn redact_json(text: &mut String, redaction: &Redaction, hidden: &mut Hidden) {
    if let Ok(mut value) = serde_json::from_str::<Value>(text) {
        let before = value.clone();
        redaction.apply(&mut value, hidden);
        if value != before {
            *text = value.to_string();
        }
    }
}

/// The differences as they may be shown: found in what is redacted. One that redaction hides is told without its values.
pub fn shown_differences(verdict: Verdict, recorded: &Deeds, replayed: &Deeds) -> Vec<Difference> {
    let mut found = compare(recorded, replayed).1;
    if verdict == Verdict::Different && found.iter().all(|difference| difference.what == "fuel") {
        found.push(difference("redacted", &json!(REDACTED), &json!(REDACTED)));
    }
    found
}

/// Null for what a component can make and most readers do not take, such as half of a character.
fn readable(json: &str) -> Value {
    let is_readable = Json::parse(json.as_bytes(), NESTING_MAXIMUM).is_ok();
    if is_readable { serde_json::from_str(json).unwrap_or_default() } else { Value::Null }
}

/// The differences, and what they amount to. Requests are not compared: a replay makes none.
pub fn compare(recorded: &Deeds, replayed: &Deeds) -> (Verdict, Vec<Difference>) {
    let code = |deeds: &Deeds| deeds.error.as_ref().map(|error| error.code.clone());
    let ended_with = code(replayed);
    if ended_with.as_deref() == Some("diverged") {
        return (Verdict::Diverged, vec![difference("error", &json!(recorded.error), &json!(replayed.error))]);
    }
    let is_cut_off = recorded.was_cut_off && ended_with.as_deref() == Some("recording_ended");
    let mut found = Vec::new();
    let lists = [
        ("emits", &recorded.emits, &replayed.emits),
        ("writes", &listed(&recorded.writes), &listed(&replayed.writes)),
        ("logs", &listed(&recorded.logs), &listed(&replayed.logs)),
        ("effects", &recorded.effects, &replayed.effects),
    ];
    for (what, recorded, replayed) in lists {
        compare_lists(what, recorded, replayed, &mut found);
    }
    for (what, recorded, replayed) in [
        ("returned", recorded.returned.clone(), replayed.returned.clone()),
        ("reply", json!(recorded.reply), json!(replayed.reply)),
    ] {
        if recorded != replayed {
            found.push(difference(what, &recorded, &replayed));
        }
    }
    if thrown(recorded) != thrown(replayed) && !is_cut_off {
        found.push(difference("error", &json!(recorded.error), &json!(replayed.error)));
    }
    let same_fuel = recorded.fuel == replayed.fuel || recorded.was_cut_off;
    let verdict = match (found.is_empty(), same_fuel) {
        (true, true) => Verdict::Identical,
        (true, false) => Verdict::OnlyFuel,
        (false, _) => Verdict::Different,
    };
    if !same_fuel {
        found.push(difference("fuel", &json!(recorded.fuel), &json!(replayed.fuel)));
    }
    (verdict, found)
}

/// The error of a run, without the places in its code: other code has others.
fn thrown(deeds: &Deeds) -> Value {
    let causes = |error: &RunError| {
        let causes = std::iter::successors(error.cause.as_deref(), |cause| cause.cause.as_deref());
        causes.map(|cause| json!([cause.name, cause.message, cause.code])).collect::<Vec<_>>()
    };
    json!(deeds.error.as_ref().map(|error| json!([error.code, error.name, error.message, causes(error)])))
}

fn listed<T: Serialize>(items: &[T]) -> Vec<Value> {
    items.iter().map(|item| json!(item)).collect()
}

fn compare_lists(what: &str, recorded: &[Value], replayed: &[Value], found: &mut Vec<Difference>) {
    for index in 0..recorded.len().max(replayed.len()) {
        let (one, other) = (recorded.get(index), replayed.get(index));
        if one != other && found.len() < DIFFERENCES_MAXIMUM {
            found.push(difference(&format!("{what}[{index}]"), &json!(one), &json!(other)));
        }
    }
}

fn difference(what: &str, recorded: &Value, replayed: &Value) -> Difference {
    Difference { what: what.to_owned(), recorded: shortened(recorded), replayed: shortened(replayed) }
}

fn shortened(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= SHOWN_BYTES { value.clone() } else { Value::String(cut(&text, SHOWN_BYTES)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Effect, Emit, LogLine, Thrown};

    fn deeds(emit: i32) -> Deeds {
        Deeds { emits: vec![json!(emit)], fuel: 10, ..Deeds::default() }
    }

    fn ended(code: &str) -> Deeds {
        let error = RunError {
            code: code.into(),
            name: "Error".into(),
            message: String::new(),
            stack: String::new(),
            cause: None,
        };
        Deeds { error: Some(error), ..deeds(1) }
    }

    fn thrown_at(place: &str) -> Deeds {
        let cause = Thrown { message: "why".into(), file: Some(place.into()), ..Thrown::default() };
        let error = ended("threw").error.unwrap();
        let error = RunError { stack: format!("at {place}"), cause: Some(Box::new(cause)), ..error };
        Deeds { error: Some(error), ..deeds(1) }
    }

    #[test]
    fn deeds_are_told_and_what_nobody_could_read_again_is_left_out() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let emit = |text: &str| Emit { event: raw(text).into(), metadata: json!({"id": 1}) };
        let deep = format!("{}1{}", "[".repeat(NESTING_MAXIMUM + 1), "]".repeat(NESTING_MAXIMUM + 1));
        let deepest = deep[1..deep.len() - 1].to_owned();
        let outcome = Outcome {
            emits: vec![emit(r#"{"a":1.0}"#), emit(r#""\ud800""#), emit(&deep), emit(&deepest)],
            logs: vec![LogLine { at_ms: 5, level: Level::Warn, message: "hot".into() }],
            effects: vec![Effect { kind: EffectKind::SendHttp, parameters: raw(r#"["\udfff"]"#) }],
            returned: Some(raw(r#"{"b":[2]}"#)),
            ..Outcome::default()
        };

        let deeds = Deeds::of(&outcome, Some(&json!({"status": 200}))).unwrap();

        let emitted: Vec<_> = deeds.emits.iter().map(|emit| &emit[0]).collect();
        assert_eq!((emitted[0], emitted[1], emitted[2]), (&json!({"a": 1.0}), &Value::Null, &Value::Null));
        assert_eq!((emitted[3].to_string(), &deeds.emits[3][1]), (deepest, &json!({"id": 1})));
        assert_eq!(deeds.logs, [("warn".to_owned(), "hot".to_owned())]);
        assert_eq!((&deeds.effects[0], deeds.returned), (&json!(["SendHttp", null]), json!({"b": [2]})));
        assert_eq!(deeds.reply, Some(json!({"status": 200})));
    }

    #[test]
    fn two_runs_are_compared_by_what_they_did() {
        let fuel = Deeds { fuel: 11, ..deeds(1) };
        let cut_off = Deeds { was_cut_off: true, ..ended("deadline") };
        for (case, recorded, replayed, verdict, what) in [
            ("the same", deeds(1), deeds(1), Verdict::Identical, ""),
            ("other fuel", deeds(1), fuel, Verdict::OnlyFuel, "fuel"),
            ("another event", deeds(1), deeds(2), Verdict::Different, "emits[0]"),
            ("no event", deeds(1), Deeds { emits: vec![], ..deeds(1) }, Verdict::Different, "emits[0]"),
            ("a new error", deeds(1), ended("threw"), Verdict::Different, "error"),
            ("another request", deeds(1), ended("diverged"), Verdict::Diverged, "error"),
            ("thrown elsewhere", thrown_at("a.js:1"), thrown_at("b.js:9"), Verdict::Identical, ""),
            ("cut off by the clock", cut_off, ended("recording_ended"), Verdict::Identical, ""),
        ] {
            let (found, differences) = compare(&recorded, &replayed);
            assert_eq!(found, verdict, "{case}");
            assert_eq!(differences.first().map_or("", |difference| &difference.what), what, "{case}");
        }
    }

    #[test]
    fn what_is_shown_of_a_difference_is_bounded() {
        let many = Deeds { emits: (0..10_000).map(|_| json!("x".repeat(10_000))).collect(), ..deeds(1) };

        let (_, differences) = compare(&many, &deeds(1));

        assert!(serde_json::to_string(&differences).unwrap().len() < 300_000);
    }
}
