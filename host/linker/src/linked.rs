//! The result of linking: a table of modules, and the packages they came from.
//!
//! It is plain data and the same for the same input, so that it can be stored with a deploy and hashed.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// The key of the component's own module in `modules`.
    pub entry: String,
    pub modules: BTreeMap<String, Module>,
    /// The resolved tree, ordered by location. Handed to `relink`, it gives the same tree again.
    pub dependencies: Vec<Dependency>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub kind: ModuleKind,
    /// The lines are the author's lines.
    pub source: Arc<str>,
    /// From what the source writes to a key of `modules`. What is missing here is a built-in module,
    /// or cannot be found: then requiring it throws, as in Node.
    pub imports: BTreeMap<String, String>,
    /// Of ES modules all names; of CommonJS those that can be told without running it, and those that
    /// some importer asks for.
    pub export_names: Vec<String>,
    /// It was an ES module and has been rewritten to CommonJS.
    #[serde(default)]
    pub is_lowered: bool,
    #[serde(default)]
    pub has_top_level_await: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModuleKind {
    CommonJs,
    Esm,
    Json,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// Where it lies, as in npm's lock file: `node_modules/a/node_modules/b`.
    pub location: String,
    /// The package's own name, also where an alias was used.
    pub name: String,
    pub version: String,
    /// What the first dependent asked for.
    pub range: String,
    pub integrity: String,
    /// The location of that dependent; empty for the component itself.
    pub from: String,
    /// Left out, because it holds no code for this platform.
    #[serde(default)]
    pub is_skipped: bool,
}

/// Something that may matter later, and does not stop the deploy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Warning {
    /// Requiring it throws. Packages often try for modules that they can do without.
    Unresolved {
        importer: String,
        specifier: String,
    },
    /// A package's file that is not JavaScript as we know it; requiring it throws.
    Unparsable {
        path: String,
        message: String,
    },
    /// The component computes what it requires; only what is named elsewhere can be found.
    ComputedRequire {
        path: String,
        line: u32,
    },
    NativeAddon {
        package: String,
    },
    /// An optional dependency that could not be had.
    OptionalDependency {
        name: String,
        range: String,
        from: String,
    },
    /// A peer dependency that no version fits; the one at hand is used.
    PeerConflict {
        name: String,
        range: String,
        from: String,
    },
    Deprecated {
        name: String,
        version: String,
        message: String,
    },
}
