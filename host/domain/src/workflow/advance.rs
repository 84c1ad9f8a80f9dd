//! Given the document, the position of a run and the outcome of a step: the next position.

use serde_json::{Map, Value, json};

use super::document::{Body, Document, Step};
use super::position::{At, Block, Ended, Pause, PauseKind, Position, Rerun, Sequence, Spot};

/// Items of one `for_each`.
const ITEMS_MAXIMUM: usize = 1000;

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepOutcome {
    /// It ended, with what it exported and returned, and perhaps the wish that the run ends with it.
    Done { exports: Map<String, Value>, exit: Option<Option<String>> },
    /// A block has decided what runs.
    Chosen(Choice),
    /// It ended and the run pauses; a step that is to be run again has not ended.
    Paused { exports: Map<String, Value>, pause: Pause },
    /// It failed and is not tried again.
    Failed,
}

/// What a block decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// One of its branches, or none.
    Branch(Option<usize>),
    Branches(Vec<usize>),
    Items(Vec<Value>),
    /// Of a filter.
    Holds(bool),
}

/// What a call to resume did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    Yes,
    /// The key is of no pause that still is.
    No,
}

// === impl Choice ===

impl Choice {
    /// Reads what the code of a block returned.
    pub fn parse(step: &Step, returned: Value) -> Result<Self, String> {
        let index = |value: &Value| value.as_u64().and_then(|index| usize::try_from(index).ok());
        match (&step.body, returned) {
            (Body::If { .. } | Body::Switch { .. }, value) => Ok(Self::Branch(index(&value))),
            (Body::Parallel { .. }, Value::Array(indexes)) => {
                Ok(Self::Branches(indexes.iter().filter_map(index).collect()))
            }
            (Body::Filter { .. }, value) => Ok(Self::Holds(value == Value::Bool(true))),
            (Body::ForEach { .. }, Value::Array(items)) if items.len() <= ITEMS_MAXIMUM => Ok(Self::Items(items)),
            (Body::ForEach { .. }, Value::Array(items)) => {
                Err(format!("`for_each` has {} items, at most {ITEMS_MAXIMUM} are allowed", items.len()))
            }
            (Body::ForEach { .. }, _) => Err("`for_each` needs a list".to_owned()),
            _ => Err("the step decides nothing".to_owned()),
        }
    }
}

// === impl Position ===

impl Position {
    /// Of a run that is about to begin.
    pub fn begin(document: &Document) -> Self {
        let mut position = Self::default();
        position.settle(document);
        position
    }

    /// Takes in what came of the step at a spot.
    pub fn apply(&mut self, document: &Document, spot: &Spot, outcome: StepOutcome) {
        let Some(step) = self.step(document, spot) else { return };
        let Some(sequence) = self.find_mut(spot) else { return };
        match outcome {
            StepOutcome::Done { exports, exit } => {
                sequence.complete(&step.namespace, Value::Object(exports));
                if let Some(reason) = exit {
                    self.ended = Some(Ended::Exited { reason });
                }
            }
            StepOutcome::Paused { exports, pause } => sequence.pause(&step.namespace, exports, pause),
            StepOutcome::Chosen(Choice::Holds(holds)) => {
                sequence.complete(&step.namespace, json!({"$return_value": holds}));
                if !holds {
                    self.ended = Some(Ended::Exited { reason: Some(format!("filter {}", step.namespace)) });
                }
            }
            StepOutcome::Chosen(choice) => sequence.enter(choice),
            StepOutcome::Failed => self.ended = Some(Ended::Failed),
        }
        self.settle(document);
    }

    /// Ends the run for a reason of its own.
    pub fn fail(&mut self) {
        self.ended = Some(Ended::Failed);
    }

    /// Ends the pauses that are over by themselves.
    pub fn wake(&mut self, document: &Document, now_ms: u64) {
        let over: Vec<Spot> = self
            .pauses(document)
            .into_iter()
            .filter(|(_, pause)| pause.until_ms <= now_ms)
            .map(|(spot, _)| spot)
            .collect();
        for spot in over {
            self.end_pause(document, &spot, None);
        }
        self.settle(document);
    }

    /// Ends the pause with this key, because its URL was called with `data`; or, without a key, all of them.
    pub fn resume(&mut self, document: &Document, key: Option<&str>, data: &Value) -> Resumed {
        let wanted = |pause: &Pause| key.is_none_or(|key| pause.key == key);
        let found: Vec<Spot> =
            self.pauses(document).into_iter().filter(|(_, pause)| wanted(pause)).map(|(spot, _)| spot).collect();
        for spot in &found {
            self.end_pause(document, spot, Some(data.clone()));
        }
        self.settle(document);
        if found.is_empty() { Resumed::No } else { Resumed::Yes }
    }

    fn end_pause(&mut self, document: &Document, spot: &Spot, data: Option<Value>) {
        let namespace = self.step(document, spot).map(|step| step.namespace.clone()).unwrap_or_default();
        let Some(sequence) = self.find_mut(spot) else { return };
        let At::Paused(pause) = std::mem::take(&mut sequence.at) else { return };
        match pause.kind {
            PauseKind::Retry => {}
            PauseKind::Rerun { context } => {
                let runs = sequence.rerun.as_ref().map_or(1, |rerun| rerun.runs) + 1;
                let callback_request = data.unwrap_or_default();
                sequence.rerun = Some(Rerun { runs, context, callback_request });
            }
            PauseKind::Delay | PauseKind::Suspend => {
                if let (Some(data), Some(Value::Object(exports))) = (data, sequence.exports.get_mut(&namespace)) {
                    exports.insert("$resume_data".to_owned(), data);
                }
                sequence.go_on(&namespace);
            }
        }
    }

    fn settle(&mut self, document: &Document) {
        if self.ended.is_none() {
            self.ended = self.root.settle(&document.steps);
        }
    }
}

// === impl Sequence ===

impl Sequence {
    fn complete(&mut self, namespace: &str, exports: Value) {
        self.exports.insert(namespace.to_owned(), exports);
        self.go_on(namespace);
    }

    fn go_on(&mut self, namespace: &str) {
        (self.at, self.tries, self.rerun) = (At::Ready, 0, None);
        self.last = Some(namespace.to_owned());
        self.next += 1;
    }

    fn pause(&mut self, namespace: &str, exports: Map<String, Value>, pause: Pause) {
        match pause.kind {
            PauseKind::Retry => self.tries += 1,
            PauseKind::Rerun { .. } => {}
            PauseKind::Delay | PauseKind::Suspend => {
                self.exports.insert(namespace.to_owned(), Value::Object(exports));
            }
        }
        self.at = At::Paused(pause);
    }

    fn enter(&mut self, choice: Choice) {
        let sequence = |index: usize| (index, Self::default());
        self.at = At::Block(match choice {
            Choice::Branch(Some(index)) => Block::Branch { index, inner: Box::default() },
            Choice::Branch(None) | Choice::Holds(_) => Block::Parallel { branches: Vec::new() },
            Choice::Branches(indexes) => Block::Parallel { branches: indexes.into_iter().map(sequence).collect() },
            Choice::Items(items) => Block::Each { items, next_item: 0, running: Vec::new(), results: Vec::new() },
        });
    }

    /// Goes as far as it can without running any code: into blocks that need none, and out of those that are finished.
    fn settle(&mut self, steps: &[Step]) -> Option<Ended> {
        loop {
            let step = steps.get(self.next)?;
            match &mut self.at {
                At::Paused(_) => return None,
                At::Ready if !step.is_immediate() => return None,
                At::Ready => match &step.body {
                    Body::End { reason } => return Some(Ended::Exited { reason: reason.clone() }),
                    _ => self.enter(Choice::Branches((0..step.inner().len()).collect())),
                },
                At::Block(block) => {
                    if let Some(ended) = block.settle(step) {
                        return Some(ended);
                    }
                    let exports = block.exports(step)?;
                    self.complete(&step.namespace, exports);
                }
            }
        }
    }

    /// What the step that ended last exported.
    fn last_exports(&self) -> Value {
        let last = self.last.as_ref().and_then(|last| self.exports.get(last)).cloned();
        last.unwrap_or_else(|| json!({"$return_value": null}))
    }
}

// === impl Block ===

impl Block {
    fn settle(&mut self, step: &Step) -> Option<Ended> {
        let inner = step.inner();
        let steps = |index: usize| inner.get(index).copied().unwrap_or_default();
        match self {
            Self::Branch { index, inner } => inner.settle(steps(*index)),
            Self::Parallel { branches } => {
                branches.iter_mut().find_map(|(index, sequence)| sequence.settle(steps(*index)))
            }
            Self::Each { items, next_item, running, results } => {
                let Body::ForEach { concurrency, .. } = &step.body else { return None };
                results.resize(items.len(), Value::Null);
                loop {
                    if let Some(ended) = running.iter_mut().find_map(|(_, sequence)| sequence.settle(steps(0))) {
                        return Some(ended);
                    }
                    let finished = |sequence: &Sequence| sequence.is_finished(steps(0));
                    for (index, sequence) in running.iter().filter(|(_, sequence)| finished(sequence)) {
                        if let Some(result) = results.get_mut(*index) {
                            *result = sequence.last_exports().get("$return_value").cloned().unwrap_or_default();
                        }
                    }
                    running.retain(|(_, sequence)| !finished(sequence));
                    if running.len() >= *concurrency || *next_item >= items.len() {
                        return None;
                    }
                    running.push((*next_item, Sequence::default()));
                    *next_item += 1;
                }
            }
        }
    }

    /// What a block that is finished exports under its own name.
    fn exports(&self, step: &Step) -> Option<Value> {
        let inner = step.inner();
        let is_finished =
            |index: usize, sequence: &Sequence| sequence.is_finished(inner.get(index).copied().unwrap_or_default());
        match (self, &step.body) {
            (Self::Branch { index, inner }, _) => is_finished(*index, inner).then(|| inner.last_exports()),
            (Self::Parallel { branches }, Body::Parallel { branches: named }) => {
                let mut exports = Map::new();
                for (index, sequence) in branches {
                    if !is_finished(*index, sequence) {
                        return None;
                    }
                    let name = named.get(*index).map(|(name, _)| name.clone()).unwrap_or_default();
                    exports.insert(name, sequence.last_exports());
                }
                Some(Value::Object(exports))
            }
            (Self::Parallel { .. }, _) => Some(json!({"$return_value": null})),
            (Self::Each { items, next_item, running, results }, _) => {
                (running.is_empty() && *next_item >= items.len()).then(|| json!({"$return_value": results}))
            }
        }
    }
}
