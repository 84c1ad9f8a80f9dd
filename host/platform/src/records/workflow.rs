//! Workflows, as far as this platform knows them: something that emits and listens. The API does not make them.

use domain::ids::WorkflowId;
use serde::{Deserialize, Serialize};

use super::Stored;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workflow {
    pub id: WorkflowId,
    pub name: String,
    pub is_active: bool,
    pub created_at: u64,
    pub updated_at: u64,
}

impl Stored for Workflow {
    const KIND: &'static str = "workflow";

    fn id(&self) -> String {
        self.id.to_string()
    }
}
