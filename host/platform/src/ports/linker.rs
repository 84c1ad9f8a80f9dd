//! The port of the linker: from a component's source to a table of modules.

use std::collections::BTreeMap;

use async_trait::async_trait;
use metrics::Family;
use serde::{Deserialize, Serialize};

use super::Program;

/// What a user sent: the entry and, when it needs any, the files beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentSource {
    /// Tells `.mjs` or `.ts` from `.js`.
    pub filename: String,
    pub source: String,
    /// Paths relative to the entry's folder (`"../../github.app.js"`) and their sources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// What linking gives; plain data, stored with the deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    pub program: Program,
    pub dependencies: Vec<Dependency>,
    /// What the author should know, each a sentence.
    pub warnings: Vec<String>,
}

/// An npm package that was taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    /// What its archive was checked against, as npm writes it: `sha512-…`.
    #[serde(default)]
    pub integrity: String,
    /// Its place in the tree, as in npm's lock file; the same package may be there twice.
    #[serde(default)]
    pub location: String,
}

/// The component cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LinkError {
    /// Stable, for programs: `syntax_error`, `package_not_found`…
    pub code: &'static str,
    /// A sentence for the author.
    pub message: String,
    /// Where in the author's files, when it can be told.
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// The same component may link later or elsewhere: not the author's to mend.
    pub is_unavailable: bool,
}

/// Obligations: the same input and the same packages give the same program; nothing of the author's code is run; the
/// time, memory and number of packages of one call are bounded.
#[async_trait]
pub trait Linker: Send + Sync {
    /// The tenant decides which of the operator's credentials are used for its packages.
    async fn link(&self, tenant: &str, component: ComponentSource) -> Result<Linked, LinkError>;

    /// What it counts.
    fn families(&self) -> Vec<Family> {
        Vec::new()
    }
}
