//! Sources: deployed components.

use std::collections::{BTreeMap, HashSet};

use domain::component::Description;
use domain::ids::{AccountId, ComponentId, EndpointKey, SourceId};
use domain::props::{PropDefinition, PropType};
use domain::redact::Redaction;
use domain::retention::RunRetention;
use domain::runs::RecordingMode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Stored;
use crate::UsedBy;
use crate::vault::Sealed;

/// One deployed component. What an update replaces is its [`Revision`]; the rest stays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub id: SourceId,
    pub name: String,
    /// Unique in the account.
    pub slug: String,
    /// The first endpoint it had, which stays with the source whatever its code becomes.
    pub endpoint_key: EndpointKey,
    /// The endpoint of each HTTP interface, by prop. Where a prop is missing, and in records that were written when a
    /// source had one endpoint, `endpoint_key` is meant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub endpoints: BTreeMap<String, EndpointKey>,
    pub is_active: bool,
    /// Which of its runs are recorded.
    #[serde(default)]
    pub recording: RecordingMode,
    /// How long records of its runs are kept.
    #[serde(default)]
    pub retention: RunRetention,
    /// What is not shown of the input and output of its runs.
    #[serde(default, skip_serializing_if = "Redaction::is_empty")]
    pub redaction: Redaction,
    pub phase: Phase,
    /// Counts the revisions it has had; the earlier ones that are kept are its [`super::SourceHistory`].
    #[serde(default = "first_version")]
    pub version: u32,
    /// When the revision began to run; none for the first one, and in records from before there were versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versioned_at: Option<u64>,
    /// The folder that `apply` made it from: what it may update and delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
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

/// Whether the component is the tenant's own or of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Own,
    Registry,
}

/// Whether a request is changing the source right now. The time bounds a change whose host died.
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
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }

    fn alias(&self) -> Option<String> {
        Some(self.slug.clone())
    }
}

fn first_version() -> u32 {
    1
}

// === impl Source ===

impl Source {
    /// When its revision began to run.
    pub fn versioned_at(&self) -> u64 {
        self.versioned_at.unwrap_or(self.created_at)
    }

    pub fn endpoint_of(&self, prop: &str) -> &EndpointKey {
        self.endpoints.get(prop).unwrap_or(&self.endpoint_key)
    }

    /// Every key that leads here.
    pub fn endpoint_keys(&self) -> HashSet<&EndpointKey> {
        self.endpoints.values().chain([&self.endpoint_key]).collect()
    }

    /// The HTTP interface that a key is for; none when the code has it no longer.
    pub fn interface_at(&self, key: &EndpointKey) -> Option<&PropDefinition> {
        self.revision.description.props_of(PropType::Http).find(|prop| self.endpoint_of(&prop.name) == key)
    }

    /// Gives every HTTP interface of the revision an endpoint of its own. A prop that had one keeps it; the source's
    /// first endpoint goes to the first prop that has none, so that a prop can be renamed; others get `new` ones.
    pub fn assign_endpoints(&mut self, before: &Self, mut new: impl FnMut() -> EndpointKey) {
        let names = |source: &Self| -> Vec<String> {
            source.revision.description.props_of(PropType::Http).map(|prop| prop.name.clone()).collect()
        };
        let (had, has) = (names(before), names(self));
        // Two props of an older record share an endpoint: it is the first one's.
        let mut taken = HashSet::new();
        let kept = had.iter().filter(|name| has.contains(name)).map(|name| (name, before.endpoint_of(name)));
        let mut endpoints: BTreeMap<String, EndpointKey> = kept
            .filter(|(_, key)| taken.insert((*key).clone()))
            .map(|(name, key)| (name.clone(), key.clone()))
            .collect();
        for name in has {
            endpoints.entry(name).or_insert_with(|| match taken.insert(self.endpoint_key.clone()) {
                true => self.endpoint_key.clone(),
                false => new(),
            });
        }
        self.endpoints = endpoints;
    }

    /// As what keeps something from being deleted.
    pub(crate) fn as_user(&self) -> UsedBy {
        UsedBy { id: self.id.to_string(), name: self.slug.clone() }
    }
}

// === impl Revision ===

impl Revision {
    /// The first prop that an account is given to.
    pub fn prop_of_account(&self, id: &AccountId) -> Option<&str> {
        let holds = |prop: &&PropDefinition| {
            let value = self.props.get(&prop.name).and_then(|value| value.get("authProvisionId"));
            value.and_then(Value::as_str) == Some(id.as_str())
        };
        self.description.props_of(PropType::App).find(holds).map(|prop| prop.name.as_str())
    }

    pub fn uses_account(&self, id: &AccountId) -> bool {
        uses_account(&self.description, &self.props, id)
    }
}

/// Whether one of the app props is connected to an account.
pub(super) fn uses_account(description: &Description, props: &Map<String, Value>, id: &AccountId) -> bool {
    let connected = |prop: &PropDefinition| props.get(&prop.name)?.get("authProvisionId")?.as_str();
    description.props_of(PropType::App).any(|prop| connected(prop) == Some(id.as_str()))
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
