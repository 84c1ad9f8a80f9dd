//! Where a step keeps state: its own `db`, and data stores.

use domain::ids::WorkflowId;
use domain::props::PropType;
use domain::workflow::template;
use serde_json::Value;

use crate::records::{Step, names};

/// The scopes it reads and writes. A data store that an expression names may be any of them.
#[derive(Default)]
pub(super) struct State {
    scopes: Vec<String>,
    has_any_store: bool,
}

// === impl State ===

impl State {
    pub(super) fn of(workflow: &WorkflowId, step: &Step) -> Self {
        let mut state = Self::default();
        for prop in &step.description.props {
            match (&prop.kind, step.props.get(&prop.name)) {
                (PropType::Db, _) => state.scopes.push(names::db_of_step(workflow, &step.name)),
                (PropType::DataStore, Some(value)) if !template::find(value).is_empty() => state.has_any_store = true,
                (PropType::DataStore, Some(Value::String(id))) => state.scopes.push(names::data_store(id)),
                _ => {}
            }
        }
        state
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scopes.is_empty() && !self.has_any_store
    }

    pub(super) fn has(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| own == scope) || (self.has_any_store && scope.starts_with(names::DATA))
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        (self.has_any_store && other.has_any_store)
            || other.scopes.iter().any(|scope| self.has(scope))
            || self.scopes.iter().any(|scope| other.has(scope))
    }
}
