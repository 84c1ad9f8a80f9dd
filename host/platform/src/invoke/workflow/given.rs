//! What a step is given: short results of earlier steps come with its call, everything else when it is looked at.
//!
//! Most steps look at little of what came before them, and reading all of it would take longer than what most steps do. The
//! code around a step asks through its own `db`, with keys that begin with [`GIVEN`]. Recordings hold everything: they show what
//! a step was given, and are run again on code that cannot ask.

use std::collections::HashMap;
use std::sync::LazyLock;

use domain::json::Json;
use domain::workflow::{GIVEN, TRIGGER, Visible};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What comes with the call; a property that is looked up costs as much as this is read.
const SHORT_BYTES: usize = 300;
/// What is for the code around a step, which takes it away.
const RUN: &str = "$run";

pub(crate) struct Given {
    /// By their names, in order.
    earlier: Vec<(String, Json)>,
    event: Json,
    context: Json,
    /// Few steps ask for it.
    run: LazyLock<Json, Box<dyn FnOnce() -> Json + Send>>,
    /// The code around the step asks for what did not come with the call.
    is_asked_for: bool,
}

#[derive(Serialize, Deserialize)]
struct Triggered<T> {
    event: T,
    context: T,
}

/// `$run`.
#[derive(Serialize)]
pub(super) struct RunGiven {
    pub(super) context: Value,
    pub(super) resume_url: String,
    pub(super) cancel_url: String,
}

/// The same, with whether the code around the step asks for it. Recordings show that.
#[derive(Serialize, Deserialize)]
struct Marked<T> {
    #[serde(flatten)]
    run: T,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_asked_for: bool,
}

// === impl Given ===

impl Given {
    pub(super) fn new(
        earlier: &Visible<'_>,
        (event, context): (Json, Json),
        is_asked_for: bool,
        run: impl FnOnce() -> RunGiven + Send + 'static,
    ) -> Self {
        let earlier = earlier.iter().map(|(name, value)| (name.to_owned(), text_of(value))).collect();
        let run = LazyLock::new(Box::new(move || text_of(&Marked { run: run(), is_asked_for })) as Box<_>);
        Self { earlier, event, context, run, is_asked_for }
    }

    /// Of a call as it was recorded; none when its step did not ask.
    pub(crate) fn of_recorded(call: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Recorded<'a> {
            #[serde(borrow)]
            steps: &'a RawValue,
        }
        let steps = serde_json::from_str::<Recorded<'_>>(call).ok()?.steps.get();
        let mut texts: HashMap<String, Box<RawValue>> = serde_json::from_str(steps).ok()?;
        let run = texts.remove(RUN)?;
        let is_asked_for = serde_json::from_str::<Marked<()>>(run.get()).is_ok_and(|run| run.is_asked_for);
        let trigger = texts.remove(TRIGGER)?;
        let trigger: Triggered<Box<RawValue>> = serde_json::from_str(trigger.get()).ok()?;
        let names: Map<String, Value> = serde_json::from_str(steps).ok()?;
        let earlier = names.into_iter().filter_map(|(name, _)| texts.remove_entry(&name));
        let earlier = earlier.map(|(name, text)| (name, text.into())).collect();
        let (event, context) = (trigger.event.into(), trigger.context.into());
        let run = LazyLock::new(Box::new(move || run.into()) as Box<_>);
        is_asked_for.then_some(Self { earlier, event, context, run, is_asked_for })
    }

    /// `steps` as the step's call has it.
    pub(crate) fn steps(&self) -> Json {
        if self.is_asked_for { text_of(&Brief(self)) } else { self.whole() }
    }

    pub(crate) fn whole(&self) -> Json {
        text_of(&Whole(self))
    }

    /// The call as it is recorded.
    pub(crate) fn to_recorded(&self, call: &str) -> String {
        call.replacen(self.steps().as_str(), self.whole().as_str(), 1)
    }

    /// A recorded call as the step got it.
    pub(crate) fn to_call(&self, recorded: &str) -> String {
        recorded.replacen(self.whole().as_str(), self.steps().as_str(), 1)
    }

    /// What is asked for with a key of `db`; none when the key is an ordinary one.
    pub(crate) fn answer(&self, key: &str) -> Option<String> {
        let found = match key.strip_prefix(GIVEN)? {
            "event" => &self.event,
            "context" => &self.context,
            "run" => &self.run,
            step => &self.earlier.iter().find(|(name, _)| Some(name.as_str()) == step.strip_prefix("step/"))?.1,
        };
        Some(found.as_str().to_owned())
    }
}

/// Everything.
struct Whole<'a>(&'a Given);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Given { earlier, event, context, run, .. } = self.0;
        let mut steps = serializer.serialize_map(None)?;
        for (name, value) in earlier {
            steps.serialize_entry(name, value)?;
        }
        steps.serialize_entry(TRIGGER, &Triggered { event, context })?;
        steps.serialize_entry(RUN, &**run)?;
        steps.end()
    }
}

/// What is short; the rest is named in `$run`, and keeps its place.
struct Brief<'a>(&'a Given);

impl Serialize for Brief<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_short = |value: &Json| value.as_str().len() <= SHORT_BYTES;
        let mut steps = serializer.serialize_map(None)?;
        for (name, value) in &self.0.earlier {
            steps.serialize_entry(name, &is_short(value).then_some(value))?;
        }
        let long: Vec<&str> =
            self.0.earlier.iter().filter(|(_, value)| !is_short(value)).map(|(name, _)| name.as_str()).collect();
        steps.serialize_entry(RUN, &long)?;
        steps.end()
    }
}

/// Of what always has a JSON form: texts, and values that came from JSON.
fn text_of(value: &impl Serialize) -> Json {
    serde_json::value::to_raw_value(value).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Map, Value, json};

    use super::{Given, RunGiven, SHORT_BYTES, Visible};

    fn given(is_asked_for: bool) -> Given {
        let earlier =
            [("z", json!({"$return_value": 1.50})), ("long", json!("x".repeat(SHORT_BYTES))), ("a", json!("é"))];
        let earlier: Map<String, Value> = earlier.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (resume_url, cancel_url) = ("http://r".to_owned(), "http://c".to_owned());
        let run = || RunGiven { context: json!({"attempt": 2}), resume_url, cancel_url };
        let event = RawValue::from_string(r#"{"b": 1e2, "a": "\u0041"}"#.to_owned()).unwrap();
        Given::new(&Visible::from(&earlier), (event.into(), json!({"verified": true}).into()), is_asked_for, run)
    }

    fn call(steps: &str) -> String {
        format!(r#"{{"kind":"action","steps":{steps},"props":{{}}}}"#)
    }

    #[test]
    fn short_results_come_with_the_call_and_the_rest_is_asked_for() {
        let given = given(true);

        assert_eq!(given.steps().as_str(), r#"{"z":{"$return_value":1.5},"long":null,"a":"é","$run":["long"]}"#);
        let answer = |key: &str| given.answer(&format!("\0given/{key}"));
        assert_eq!(answer("event").unwrap(), r#"{"b": 1e2, "a": "\u0041"}"#);
        assert_eq!(answer("context").unwrap(), r#"{"verified":true}"#);
        assert_eq!(answer("step/long").unwrap().len(), SHORT_BYTES + 2);
        assert!(answer("run").unwrap().contains(r#""resume_url":"http://r""#));
        assert_eq!((answer("step/none"), answer("trigger"), given.answer("event")), (None, None, None));
    }

    #[test]
    fn a_result_at_the_bound_is_short() {
        let of = |length: usize| {
            let earlier = Map::from_iter([("a".to_owned(), json!("x".repeat(length - 2)))]);
            let run = || RunGiven { context: json!(1), resume_url: String::new(), cancel_url: String::new() };
            Given::new(&(&earlier).into(), (json!(1).into(), json!(1).into()), true, run).steps().to_value()["a"]
                .is_string()
        };

        assert!(of(SHORT_BYTES) && !of(SHORT_BYTES + 1));
    }

    #[test]
    fn a_recorded_call_holds_everything_and_becomes_the_same_call_again() {
        let given = given(true);
        let made = call(given.steps().as_str());

        let recorded = given.to_recorded(&made);
        let again = Given::of_recorded(&recorded).unwrap();

        assert!(recorded.contains(r#""trigger":{"event":{"b": 1e2, "a": "\u0041"},"context":{"verified":true}}"#));
        assert_eq!(again.to_call(&recorded), made);
        assert_eq!(again.answer("\0given/run"), given.answer("\0given/run"));
    }

    #[test]
    fn a_step_that_cannot_ask_is_given_everything() {
        let given = given(false);
        let steps = given.steps();

        assert_eq!(steps.to_value()["trigger"]["event"]["b"], 100.0);
        assert_eq!(given.to_recorded(&call(steps.as_str())), call(steps.as_str()));
        assert!(Given::of_recorded(&call(steps.as_str())).is_none());
        assert!(Given::of_recorded(r#"{"kind":"run","event":1}"#).is_none());
    }
}
