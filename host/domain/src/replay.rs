//! What a run did, in a form that two runs can be compared in.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::outcome::{Fault, Outcome};
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
    pub fn of(outcome: &Outcome, reply: Option<Value>) -> Self {
        let raw = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        Self {
            emits: outcome.emits.iter().map(|emit| json!([emit.event, emit.metadata])).collect(),
            writes: outcome.writes.iter().map(|write| (write.key.clone(), write.value.clone())).collect(),
            logs: outcome.logs.iter().map(|line| (level(line.level), line.message.clone())).collect(),
            effects: outcome
                .effects
                .iter()
                .map(|effect| json!([format!("{:?}", effect.kind), raw(effect.parameters.get())]))
                .collect(),
            requests: outcome
                .traffic
                .requests
                .iter()
                .map(|made| format!("{} {}{}", made.method, made.host, made.path))
                .collect(),
            returned: outcome.returned.as_deref().map(|returned| raw(returned.get())).unwrap_or_default(),
            reply,
            error: outcome.fault.as_ref().map(RunError::of),
            fuel: outcome.usage.fuel,
            was_cut_off: matches!(outcome.fault, Some(Fault::Deadline { .. })),
        }
    }
}

impl Deeds {
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

fn level(level: crate::outcome::Level) -> String {
    format!("{level:?}").to_lowercase()
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
        ("error", json!(recorded.error), json!(replayed.error)),
    ] {
        if recorded != replayed && !(what == "error" && is_cut_off) {
            found.push(difference(what, &recorded, &replayed));
        }
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
