//! Workflows: actions that run one after the other when something they listen to is emitted. The API does not make them.

use domain::component::Description;
use domain::ids::{AccountId, ComponentId, WorkflowId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::source::uses_account;
use super::{Origin, Stored};
use crate::UsedBy;
use crate::vault::Sealed;

/// Where steps find the event that started the run: `steps.trigger`.
pub(crate) const TRIGGER: &str = "trigger";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workflow {
    pub id: WorkflowId,
    pub name: String,
    pub is_active: bool,
    /// In the order they run.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The secret values of all steps, a sealed JSON object by step and prop; none when there are none.
    #[serde(default)]
    pub secrets: Option<Sealed>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// One action of a workflow, with what it is run with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Later steps find what it returned under this name.
    pub name: String,
    pub component_id: ComponentId,
    pub origin: Origin,
    /// The digest of the linked program.
    pub program: String,
    pub description: Description,
    /// Values without the secret ones, by prop.
    pub props: Map<String, Value>,
}

impl Stored for Workflow {
    const KIND: &'static str = "workflow";

    fn id(&self) -> String {
        self.id.to_string()
    }
}

// === impl Step ===

impl Step {
    pub fn uses_account(&self, id: &AccountId) -> bool {
        uses_account(&self.description, &self.props, id)
    }
}

// === impl Workflow ===

impl Workflow {
    /// As what keeps something that `step` uses from being deleted.
    pub(crate) fn as_user(&self, step: &Step) -> UsedBy {
        UsedBy { id: self.id.to_string(), name: format!("step {} of workflow {}", step.name, self.name) }
    }

    /// Names the workflow as it is now; changes with it.
    pub fn deployment_id(&self) -> String {
        format!("d_{}_{}", self.id.as_str().trim_start_matches("p_"), self.updated_at)
    }
}
