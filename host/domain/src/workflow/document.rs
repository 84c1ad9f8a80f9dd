//! A workflow as a user wrote it: read and checked as a whole, every mistake at once.

mod read;

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use self::read::{Reader, list, unknown};
use super::settings::Settings;
use crate::problem::Problem;
use crate::raw::Fields;

/// Of all steps, those within blocks included: what a version keeps and what its deploy compiles.
pub const STEPS_MAXIMUM: usize = 100;
/// Blocks within blocks.
pub const NESTING_MAXIMUM: usize = 5;

/// Where steps find the event that started the run: `steps.trigger`.
pub const TRIGGER: &str = "trigger";

#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub settings: Settings,
    pub triggers: Vec<Trigger>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Of a trigger that the workflow has already: it keeps its address.
    pub id: Option<String>,
    pub kind: TriggerKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TriggerKind {
    Http { has_custom_response: bool },
    Timer { schedule: Value },
    Source { source_id: String, event_name: String },
    Component { component: ComponentRef, props: Map<String, Value> },
}

/// How a saved component is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentRef {
    Id(String),
    /// The caller's own, or one of the registry.
    Key(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub namespace: String,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Action(ActionStep),
    Code(CodeStep),
    /// The first branch whose condition holds; one without a condition always does.
    If {
        branches: Vec<Branch>,
    },
    /// The first case with this value; the one without a value is the default.
    Switch {
        on: Value,
        cases: Vec<(Option<Value>, Vec<Step>)>,
    },
    /// Every branch whose condition holds, at the same time.
    Parallel {
        branches: Vec<(String, Branch)>,
    },
    ForEach {
        items: Value,
        name: String,
        concurrency: usize,
        steps: Vec<Step>,
    },
    /// Ends the run unless the condition holds.
    Filter {
        when: Value,
    },
    End {
        reason: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ActionStep {
    pub component: ComponentRef,
    pub props: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CodeStep {
    pub code: String,
    pub filename: Option<String>,
    /// By their path from the step's own file.
    pub files: BTreeMap<String, String>,
    pub props: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub when: Option<Value>,
    pub steps: Vec<Step>,
}

// === impl Document ===

impl Document {
    pub fn parse(value: &Value, interval_seconds_minimum: u64) -> Result<Self, Vec<Problem>> {
        let Value::Object(object) = value else {
            return Err(vec![Problem::new("", "a workflow is an object: {settings, triggers, steps}")]);
        };
        let mut problems = Vec::new();
        let mut fields = Fields::new("", object.clone(), &mut problems);
        let settings = fields.take("settings").unwrap_or_else(|| Value::Object(Map::new()));
        let triggers = list(&mut fields, "triggers");
        let steps = list(&mut fields, "steps");
        unknown(fields);
        let mut reader = Reader { problems: &mut problems, names: HashSet::new(), steps: 0, interval_seconds_minimum };
        let settings = reader.settings(settings);
        let triggers = reader.triggers(triggers);
        let steps = reader.steps("steps", steps, 0);
        if reader.steps > STEPS_MAXIMUM {
            problems.push(Problem::new("steps", format!("a workflow has at most {STEPS_MAXIMUM} steps")));
        }
        if problems.is_empty() { Ok(Self { settings, triggers, steps }) } else { Err(problems) }
    }

    /// Every step, blocks before what they hold.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        gather(&self.steps, &mut all);
        all
    }
}

fn gather<'a>(steps: &'a [Step], all: &mut Vec<&'a Step>) {
    for step in steps {
        all.push(step);
        for inner in step.inner() {
            gather(inner, all);
        }
    }
}

// === impl Step ===

impl Step {
    /// The sequences of steps in a block; none in another step.
    pub fn inner(&self) -> Vec<&[Step]> {
        match &self.body {
            Body::If { branches } => branches.iter().map(|branch| branch.steps.as_slice()).collect(),
            Body::Switch { cases, .. } => cases.iter().map(|(_, steps)| steps.as_slice()).collect(),
            Body::Parallel { branches } => branches.iter().map(|(_, branch)| branch.steps.as_slice()).collect(),
            Body::ForEach { steps, .. } => vec![steps],
            Body::Action(_) | Body::Code(_) | Body::Filter { .. } | Body::End { .. } => Vec::new(),
        }
    }

    /// Whether it is decided without running any code.
    pub fn is_immediate(&self) -> bool {
        match &self.body {
            Body::End { .. } => true,
            Body::Parallel { branches } => branches.iter().all(|(_, branch)| branch.when.is_none()),
            _ => false,
        }
    }
}
