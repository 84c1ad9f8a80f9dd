//! What the registry says about a package: its versions and tags ("packument"), and what one version
//! says about itself ("manifest").
//!
//! Read leniently: decades of published packages hold every mistake that JSON allows, and npm puts up
//! with them. Manifests are parsed only when looked at, since some packages have thousands.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

#[derive(Debug, Deserialize)]
pub(crate) struct Packument {
    pub(crate) name: String,
    #[serde(rename = "dist-tags", default)]
    pub(crate) tags: HashMap<String, String>,
    #[serde(default)]
    versions: HashMap<String, Box<RawValue>>,
    /// Versions that are chosen before others, where they fit.
    #[serde(skip)]
    preferred: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Manifest {
    #[serde(deserialize_with = "lenient")]
    pub(crate) name: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) version: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) dependencies: Specs,
    #[serde(deserialize_with = "lenient")]
    pub(crate) optional_dependencies: Specs,
    #[serde(deserialize_with = "lenient")]
    pub(crate) peer_dependencies: Specs,
    #[serde(deserialize_with = "lenient")]
    pub(crate) peer_dependencies_meta: BTreeMap<String, PeerMeta>,
    #[serde(alias = "bundledDependencies", deserialize_with = "lenient")]
    pub(crate) bundle_dependencies: Bundled,
    #[serde(deserialize_with = "lenient")]
    pub(crate) engines: Engines,
    #[serde(deserialize_with = "lenient")]
    pub(crate) os: OneOrMany,
    #[serde(deserialize_with = "lenient")]
    pub(crate) cpu: OneOrMany,
    #[serde(deserialize_with = "lenient")]
    pub(crate) deprecated: Deprecated,
    #[serde(deserialize_with = "lenient")]
    pub(crate) dist: Dist,
}

pub(crate) type Specs = BTreeMap<String, String>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PeerMeta {
    #[serde(deserialize_with = "lenient")]
    pub(crate) optional: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Bundled {
    Names(Vec<String>),
    All(bool),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Engines {
    #[serde(deserialize_with = "lenient")]
    pub(crate) node: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    Many(Vec<String>),
    One(String),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Deprecated {
    Message(String),
    Flag(bool),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Dist {
    #[serde(deserialize_with = "lenient")]
    pub(crate) tarball: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) integrity: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) shasum: String,
}

// === impl Packument ===

impl Packument {
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    #[must_use]
    pub(crate) fn preferring(self, preferred: Vec<String>) -> Self {
        Self { preferred, ..self }
    }

    pub(crate) fn preferred(&self) -> impl Iterator<Item = &str> {
        self.preferred.iter().map(String::as_str)
    }

    pub(crate) fn versions(&self) -> impl Iterator<Item = &str> {
        self.versions.keys().map(String::as_str)
    }

    pub(crate) fn manifest(&self, version: &str) -> Option<Arc<Manifest>> {
        let mut manifest: Manifest = serde_json::from_str(self.versions.get(version)?.get()).ok()?;
        manifest.name.clone_from(&self.name);
        version.clone_into(&mut manifest.version);
        // npm copies optional dependencies into the others; each is one or the other.
        let optional = &manifest.optional_dependencies;
        manifest.dependencies.retain(|name, _| !optional.contains_key(name));
        Some(Arc::new(manifest))
    }
}

// === impl Manifest ===

impl Manifest {
    pub(crate) fn is_deprecated(&self) -> bool {
        match &self.deprecated {
            Deprecated::Message(text) => !text.is_empty(),
            Deprecated::Flag(flag) => *flag,
        }
    }

    pub(crate) fn deprecation_message(&self) -> &str {
        match &self.deprecated {
            Deprecated::Message(text) => text,
            Deprecated::Flag(_) => "",
        }
    }

    /// The subresource-integrity text; older packages have a SHA-1 in hexadecimal only.
    pub(crate) fn integrity(&self) -> String {
        if !self.dist.integrity.is_empty() {
            return self.dist.integrity.clone();
        }
        let digest = hex::decode(&self.dist.shasum).unwrap_or_default();
        format!("sha1-{}", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, digest))
    }

    pub(crate) fn bundles(&self, name: &str) -> bool {
        match &self.bundle_dependencies {
            Bundled::Names(names) => names.iter().any(|bundled| bundled == name),
            Bundled::All(all) => *all,
        }
    }

    /// Made for some kinds of machine only: a binary, which the sandbox cannot run in any case, or code
    /// for other systems than the one that Node's behaviour is taken from.
    pub(crate) fn is_for_other_platforms(&self) -> bool {
        let system = self.os.names();
        let refuses = system.contains(&"!linux");
        let misses =
            system.iter().any(|name| !name.starts_with('!')) && !system.contains(&"linux") && !system.contains(&"any");
        let names_processors = self.cpu.names().iter().any(|name| !name.starts_with('!') && *name != "any");
        refuses || misses || names_processors
    }
}

// === impl OneOrMany ===

impl OneOrMany {
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Many(names) => names.iter().map(String::as_str).collect(),
            Self::One(name) => vec![name],
        }
    }
}

impl Default for Bundled {
    fn default() -> Self {
        Self::All(false)
    }
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Default for Deprecated {
    fn default() -> Self {
        Self::Flag(false)
    }
}

/// What does not have the form it should have counts as absent.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if let Value::Object(object) = value {
        // One bad entry must not take the good ones with it.
        let whole = Value::Object(object.clone());
        return Ok(T::deserialize(&whole).unwrap_or_else(|_| {
            let texts = object.into_iter().filter(|(_, item)| item.is_string()).collect();
            T::deserialize(&Value::Object(texts)).unwrap_or_default()
        }));
    }
    Ok(T::deserialize(value).unwrap_or_default())
}

#[cfg(test)]
mod tests;
