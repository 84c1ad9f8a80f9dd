//! Sources: deployed components.

use domain::component::Description;
use domain::ids::{ComponentId, EndpointKey, SourceId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Stored;
use crate::vault::Sealed;

/// One deployed component. What an update replaces is its [`Revision`]; the rest stays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub id: SourceId,
    pub name: String,
    /// Unique in the account.
    pub slug: String,
    pub endpoint_key: EndpointKey,
    pub is_active: bool,
    pub phase: Phase,
    pub revision: Revision,
    pub created_at: u64,
    pub updated_at: u64,
}

/// The code and props a source runs with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    pub component_id: ComponentId,
    pub origin: Origin,
    /// The digest of the linked program.
    pub program: String,
    pub description: Description,
    /// Values without the secret ones, by prop.
    pub props: Map<String, Value>,
    /// The secret values, a sealed JSON object; none when there are none.
    pub secrets: Option<Sealed>,
    /// The props whose values are among the secrets.
    pub secret_props: Vec<String>,
}

/// Whose component it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Own,
    Registry,
}

/// Whether somebody is changing the source right now. The time bounds a change whose host died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    Settled,
    /// Its first hooks are running; when they fail it is gone.
    Deploying {
        until_ms: u64,
    },
    /// An update or a deletion is under way.
    Changing {
        until_ms: u64,
    },
}

impl Stored for Source {
    const KIND: &'static str = "source";

    fn id(&self) -> String {
        self.id.to_string()
    }

    fn alias(&self) -> Option<String> {
        Some(self.slug.clone())
    }
}

// === impl Phase ===

impl Phase {
    pub fn is_settled(&self, now_ms: u64) -> bool {
        match self {
            Self::Settled => true,
            Self::Deploying { until_ms } | Self::Changing { until_ms } => now_ms >= *until_ms,
        }
    }
}
