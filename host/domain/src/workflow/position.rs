//! Where a run is. A position is data: it is stored between the commits of a run, and any host can go on from it.
//!
//! A sequence of steps has a place in it and what its steps exported; a block holds sequences of its own. Exports are visible
//! in their sequence and in the blocks of it, so that branches that run at the same time do not see each other.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::document::{Body, Document, Step};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Position {
    pub(super) root: Sequence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Ended>,
}

/// How a run ended before its last step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    Exited { reason: Option<String> },
    Failed,
}

/// One of the sequences of a run: which child of which, from the outermost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot(pub(super) Vec<usize>);

/// What a step sees of others, by their names.
pub struct Visible<'a>(Vec<(&'a str, Cow<'a, Value>)>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sequence {
    /// The step that is to run, or is at work.
    pub(super) next: usize,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) exports: Map<String, Value>,
    #[serde(default, skip_serializing_if = "At::is_ready")]
    pub(super) at: At,
    /// How often the step has failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) tries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rerun: Option<Rerun>,
    /// The step that ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) enum At {
    #[default]
    Ready,
    Paused(Pause),
    Block(Block),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    pub kind: PauseKind,
    /// When it ends by itself.
    pub until_ms: u64,
    /// What the URLs that resume or cancel it end with.
    pub key: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PauseKind {
    Delay,
    Suspend,
    /// The same step again, with a context.
    Rerun {
        context: Value,
    },
    /// The same step again, because it failed.
    Retry,
}

/// What a step that is run again finds in `$.context.run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rerun {
    pub(super) runs: u32,
    pub(super) context: Value,
    pub(super) callback_request: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Block {
    Branch {
        index: usize,
        inner: Box<Sequence>,
    },
    /// Each with the number of its branch.
    Parallel {
        branches: Vec<(usize, Sequence)>,
    },
    Each {
        items: Vec<Value>,
        next_item: usize,
        running: Vec<(usize, Sequence)>,
        results: Vec<Value>,
    },
}

// === impl At ===

impl At {
    fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }
}

// === impl Block ===

impl Block {
    /// Its sequences, with the number that a spot has for each and the steps that each goes through.
    fn children<'a, 'd>(&'a self, step: &'d Step) -> Vec<(usize, &'a Sequence, &'d [Step])> {
        let inner = step.inner();
        let steps = |index: usize| inner.get(index).copied().unwrap_or_default();
        match self {
            Self::Branch { index, inner } => vec![(0, inner, steps(*index))],
            Self::Parallel { branches } => {
                branches.iter().map(|(index, sequence)| (*index, sequence, steps(*index))).collect()
            }
            Self::Each { running, .. } => {
                running.iter().map(|(index, sequence)| (*index, sequence, steps(0))).collect()
            }
        }
    }

    pub(super) fn child_mut(&mut self, number: usize) -> Option<&mut Sequence> {
        match self {
            Self::Branch { inner, .. } => Some(inner),
            Self::Parallel { branches: children } | Self::Each { running: children, .. } => {
                children.iter_mut().find(|(index, _)| *index == number).map(|(_, sequence)| sequence)
            }
        }
    }
}

// === impl Visible ===

impl<'a> From<&'a Map<String, Value>> for Visible<'a> {
    fn from(exports: &'a Map<String, Value>) -> Self {
        Self(exports.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value))).collect())
    }
}

impl<'a> Visible<'a> {
    fn extend(&mut self, exports: &'a Map<String, Value>) {
        for (name, value) in exports {
            self.insert(name, Cow::Borrowed(value));
        }
    }

    /// What is inside of a block hides what has the same name around it.
    fn insert(&mut self, name: &'a str, value: Cow<'a, Value>) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, &**value))
    }
}

// === impl Position ===

impl Position {
    /// How it ended, when it did: without a reason once every step has.
    pub fn ended(&self, document: &Document) -> Option<Option<&Ended>> {
        match &self.ended {
            Some(ended) => Some(Some(ended)),
            None => self.root.is_finished(&document.steps).then_some(None),
        }
    }

    /// The sequences whose next step may run now.
    pub fn ready(&self, document: &Document) -> Vec<Spot> {
        let mut found = Vec::new();
        if self.ended.is_none() {
            self.root.walk(&document.steps, &mut Vec::new(), &mut |path, sequence, steps| {
                if sequence.at.is_ready() && sequence.next < steps.len() {
                    found.push(Spot(path.to_vec()));
                }
            });
        }
        found
    }

    pub fn pauses(&self, document: &Document) -> Vec<(Spot, &Pause)> {
        let mut found = Vec::new();
        self.root.walk(&document.steps, &mut Vec::new(), &mut |path, sequence, _| {
            if let At::Paused(pause) = &sequence.at {
                found.push((Spot(path.to_vec()), pause));
            }
        });
        found
    }

    /// When the first of its pauses ends by itself.
    pub fn due_ms(&self, document: &Document) -> Option<u64> {
        self.pauses(document).into_iter().map(|(_, pause)| pause.until_ms).min()
    }

    pub fn step<'d>(&self, document: &'d Document, spot: &Spot) -> Option<&'d Step> {
        let (sequence, steps) = self.find(document, spot)?;
        steps.get(sequence.next)
    }

    /// What `steps` is for the step at a spot, without the trigger.
    pub fn visible<'a>(&'a self, document: &'a Document, spot: &Spot) -> Visible<'a> {
        let (mut sequence, mut steps) = (&self.root, document.steps.as_slice());
        let mut visible = Visible::from(&sequence.exports);
        for number in &spot.0 {
            let (At::Block(block), Some(step)) = (&sequence.at, steps.get(sequence.next)) else { break };
            if let (Block::Each { items, .. }, Body::ForEach { name, .. }) = (block, &step.body) {
                let item = items.get(*number).unwrap_or(&Value::Null);
                visible.insert(&step.namespace, Cow::Owned(json!({"index": number, "item": item})));
                visible.insert(name, Cow::Borrowed(item));
            }
            let Some((_, child, inner)) = block.children(step).into_iter().find(|(index, ..)| index == number) else {
                break;
            };
            visible.extend(&child.exports);
            (sequence, steps) = (child, inner);
        }
        visible
    }

    /// What every step of the run exported, blocks by their own names: what a caller is told at its end.
    pub fn exports(&self) -> &Map<String, Value> {
        &self.root.exports
    }

    /// How often the step at a spot has failed so far.
    pub fn tries(&self, document: &Document, spot: &Spot) -> u32 {
        self.find(document, spot).map_or(0, |(sequence, _)| sequence.tries)
    }

    /// `$.context.run` of the step at a spot.
    pub fn rerun(&self, document: &Document, spot: &Spot) -> Value {
        let rerun = self.find(document, spot).and_then(|(sequence, _)| sequence.rerun.as_ref());
        match rerun {
            None => json!({"runs": 1, "context": null, "callback_request": null}),
            Some(Rerun { runs, context, callback_request }) => {
                json!({"runs": runs, "context": context, "callback_request": callback_request})
            }
        }
    }

    /// Tells iterations of a step apart: `[2]` within a `for_each`; empty elsewhere.
    pub fn iteration(&self, document: &Document, spot: &Spot) -> Vec<usize> {
        let (mut sequence, mut steps, mut found) = (&self.root, document.steps.as_slice(), Vec::new());
        for number in &spot.0 {
            let (At::Block(block), Some(step)) = (&sequence.at, steps.get(sequence.next)) else { break };
            if matches!(block, Block::Each { .. }) {
                found.push(*number);
            }
            let Some((_, child, inner)) = block.children(step).into_iter().find(|(index, ..)| index == number) else {
                break;
            };
            (sequence, steps) = (child, inner);
        }
        found
    }

    fn find<'a, 'd>(&'a self, document: &'d Document, spot: &Spot) -> Option<(&'a Sequence, &'d [Step])> {
        let mut at = (&self.root, document.steps.as_slice());
        for number in &spot.0 {
            let (sequence, steps) = at;
            let At::Block(block) = &sequence.at else { return None };
            let step = steps.get(sequence.next)?;
            let (_, child, inner) = block.children(step).into_iter().find(|(index, ..)| index == number)?;
            at = (child, inner);
        }
        Some(at)
    }

    pub(super) fn find_mut(&mut self, spot: &Spot) -> Option<&mut Sequence> {
        let mut sequence = &mut self.root;
        for number in &spot.0 {
            let At::Block(block) = &mut sequence.at else { return None };
            sequence = block.child_mut(*number)?;
        }
        Some(sequence)
    }
}

// === impl Sequence ===

impl Sequence {
    pub(super) fn is_finished(&self, steps: &[Step]) -> bool {
        self.at.is_ready() && self.next >= steps.len()
    }

    fn walk<'a>(
        &'a self,
        steps: &[Step],
        path: &mut Vec<usize>,
        visit: &mut impl FnMut(&[usize], &'a Sequence, &[Step]),
    ) {
        visit(path, self, steps);
        if let (At::Block(block), Some(step)) = (&self.at, steps.get(self.next)) {
            for (number, child, inner) in block.children(step) {
                path.push(number);
                child.walk(inner, path, visit);
                path.pop();
            }
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
