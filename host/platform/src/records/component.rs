//! Saved components.

use domain::component::Description;
use domain::ids::ComponentId;
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::ports::{ComponentSource, Dependency};

/// Code with a name; the registry is the operator's own saved components.
///
/// It never changes: saving again makes a new one, and the key names the newest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Component {
    pub id: ComponentId,
    pub source: ComponentSource,
    /// Where the code lives, as the user said; metadata only.
    pub url: Option<String>,
    /// SHA-256 of the code, in hex.
    pub code_hash: String,
    pub description: Description,
    /// The digest of the linked [`crate::ports::Program`].
    pub program: String,
    pub dependencies: Vec<Dependency>,
    /// What the author should know although the component loads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Saved together with a source, and not used by its name since: it goes when no source has it.
    #[serde(default)]
    pub came_with_source: bool,
    /// Saved to be deployed: using it by its id does not make it one that stays.
    #[serde(default)]
    pub is_temporary: bool,
    /// It holds its key; a newer component with the same key takes it over.
    pub holds_key: bool,
    pub created_at: u64,
    pub updated_at: u64,
}

impl Stored for Component {
    const KIND: &'static str = "component";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }

    fn alias(&self) -> Option<String> {
        self.description.key.clone().filter(|_| self.holds_key)
    }
}
