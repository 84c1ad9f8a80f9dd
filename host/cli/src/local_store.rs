//! `db` of a component that runs without a server, and whether it responded.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sandbox::{Outcome, Reply, Write};
use serde_json::{Map, Value};

use crate::local_outcome::Rules;

#[derive(Default)]
pub(crate) struct LocalStore(Mutex<State>);

#[derive(Default)]
struct State {
    values: BTreeMap<String, String>,
    /// What it held before the run.
    before: BTreeMap<String, String>,
    /// What was stored before requests, which is part of what the run wrote.
    flushed: Vec<Write>,
    reply: Option<Reply>,
}

// === impl LocalStore ===

impl LocalStore {
    pub(crate) fn new(values: &Map<String, Value>) -> Self {
        let values: BTreeMap<_, _> = values.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        Self(Mutex::new(State { before: values.clone(), values, ..State::default() }))
    }

    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.lock().values.get(key).cloned()
    }

    /// Before a request leaves.
    pub(crate) fn flush(&self, writes: Vec<Write>) {
        let mut state = self.lock();
        state.write(&writes);
        state.flushed.extend(writes);
    }

    pub(crate) fn reply(&self, reply: Reply) {
        self.lock().reply = Some(reply);
    }

    /// After a run: the outcome has all that it wrote, and the store holds what counts.
    pub(crate) fn settle(&self, outcome: &mut Outcome, rules: Rules) {
        let mut state = self.lock();
        outcome.writes.splice(0..0, std::mem::take(&mut state.flushed));
        if rules.take_back(outcome) {
            *state = State { values: state.before.clone(), ..State::default() };
        }
        state.write(&outcome.writes);
    }

    pub(crate) fn take_reply(&self) -> Option<Reply> {
        self.lock().reply.take()
    }

    /// What `db` holds now.
    pub(crate) fn values(&self) -> Value {
        let state = self.lock();
        let values = state.values.iter();
        Value::Object(
            values.map(|(key, value)| (key.clone(), serde_json::from_str(value).unwrap_or_default())).collect(),
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn write(&mut self, writes: &[Write]) {
        for Write { key, value } in writes {
            match value {
                Some(value) => self.values.insert(key.clone(), value.clone()),
                None => self.values.remove(key),
            };
        }
    }
}
