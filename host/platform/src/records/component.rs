//! Saved components and what the registry publishes.

use domain::component::Description;
use domain::ids::ComponentId;
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::ports::{ComponentSource, Dependency, Program};

/// Code with a name. It never changes: saving again makes a new one, and the key names the newest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Component {
    pub id: ComponentId,
    pub source: ComponentSource,
    /// Where the code lives, as the user said; metadata only.
    pub url: Option<String>,
    /// SHA-256 of the code, in hex.
    pub code_hash: String,
    pub description: Description,
    /// The digest of the linked [`Program`].
    pub program: String,
    pub dependencies: Vec<Dependency>,
    /// It holds its key; a newer component with the same key takes it over.
    pub holds_key: bool,
    pub created_at: u64,
    pub updated_at: u64,
}

/// A component that everybody may use, under its key; kept with the operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RegistryEntry {
    pub component_id: ComponentId,
    pub key: String,
}

impl Stored for Component {
    const KIND: &'static str = "component";

    fn id(&self) -> String {
        self.id.to_string()
    }

    fn alias(&self) -> Option<String> {
        self.description.key.clone().filter(|_| self.holds_key)
    }
}

impl Stored for Program {
    const KIND: &'static str = "program";

    fn id(&self) -> String {
        self.digest()
    }
}

impl Stored for RegistryEntry {
    const KIND: &'static str = "registry";

    fn id(&self) -> String {
        self.key.clone()
    }
}
