//! Workflows, and their versions: what a run goes through. A version is never changed.

use domain::component::Description;
use domain::ids::{AccountId, ComponentId, EndpointKey, SourceId, WorkflowId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Stored;
use super::source::uses_account;
use crate::UsedBy;
use crate::vault::Sealed;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workflow {
    pub id: WorkflowId,
    pub name: String,
    pub is_active: bool,
    /// The version that new runs go through.
    pub version: u32,
    pub triggers: Vec<TriggerRecord>,
    /// The folder that `apply` made it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What starts runs of a workflow, besides a call by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerRecord {
    /// `hi_…`, `ti_…` or `dc_…`.
    pub id: String,
    pub kind: TriggerRecordKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TriggerRecordKind {
    Http {
        key: EndpointKey,
        has_custom_response: bool,
    },
    Timer {
        /// In the form `domain::timers::Schedule::parse` reads.
        schedule: Value,
    },
    Source {
        source: SourceId,
        event_name: String,
        /// Of a source that was deployed with the workflow, and goes with it: the component and its props, as they were given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        component: Option<Value>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkflowVersion {
    pub workflow: WorkflowId,
    pub number: u32,
    /// As it was given, without secret values.
    pub document: Value,
    /// The code of every step that has some, blocks included.
    pub steps: Vec<Step>,
    /// The secret values of all steps, a sealed JSON object by step and prop; none when there are none.
    #[serde(default)]
    pub secrets: Option<Sealed>,
    pub created_at: u64,
}

/// The code of one step, with what it is run with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Later steps find what it returned under this name.
    pub name: String,
    pub component_id: ComponentId,
    /// The digest of the linked program: the tenant's own, also of a published action, because the code around it is.
    pub program: String,
    pub description: Description,
    /// Values without the secret ones, by prop.
    pub props: Map<String, Value>,
    /// The code around it asks for what does not come with a call; code that was made earlier does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
}

impl Stored for Workflow {
    const KIND: &'static str = "workflow";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Stored for WorkflowVersion {
    const KIND: &'static str = "workflow_version";
    as_json!();

    fn id(&self) -> String {
        Self::id_of(&self.workflow, self.number)
    }
}

// === impl Step ===

impl Step {
    pub fn uses_account(&self, id: &AccountId) -> bool {
        uses_account(&self.description, &self.props, id)
    }
}

// === impl WorkflowVersion ===

impl WorkflowVersion {
    pub fn id_of(workflow: &WorkflowId, number: u32) -> String {
        format!("{workflow}/{number}")
    }

    pub fn name(&self) -> &str {
        self.document.pointer("/settings/name").and_then(Value::as_str).unwrap_or_default()
    }

    /// As what keeps something that `step` uses from being deleted.
    pub(crate) fn as_user(&self, step: &Step) -> UsedBy {
        UsedBy { id: self.workflow.to_string(), name: format!("step {} of workflow {}", step.name, self.name()) }
    }
}

// === impl Workflow ===

impl Workflow {
    /// Names a version as it is deployed.
    pub fn deployment_id(&self, version: u32) -> String {
        format!("d_{}_{version}", self.id.as_str().trim_start_matches("p_"))
    }

    /// The trigger that is called at an endpoint.
    pub(crate) fn endpoint(&self, key: &EndpointKey) -> Option<(&str, bool)> {
        self.triggers.iter().find_map(|trigger| match &trigger.kind {
            TriggerRecordKind::Http { key: own, has_custom_response } if own == key => {
                Some((trigger.id.as_str(), *has_custom_response))
            }
            _ => None,
        })
    }

    pub(crate) fn endpoint_keys(&self) -> impl Iterator<Item = &EndpointKey> {
        self.triggers.iter().filter_map(|trigger| match &trigger.kind {
            TriggerRecordKind::Http { key, .. } => Some(key),
            _ => None,
        })
    }
}
