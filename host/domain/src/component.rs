//! The description of a component: parsed once, strictly, with every mistake named.
//!
//! The sandbox evaluates the code and dumps `module.exports`; this module reads that dump and nothing else. It never
//! sees code, and it does not decide what a component may do at run time.

mod parse;

use serde::{Deserialize, Serialize};

use crate::dedupe::Strategy;
use crate::problem::Problem;
use crate::props::{Isolation, PropDefinition, PropType};

/// Why an app is refused. `dev` looks for it: a file that is an app now is no longer the source that it was.
pub const IS_AN_APP: &str = "this is an app, not a component: deploy the source or action that uses it";

/// The description the platform stores with a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Description {
    pub name: String,
    /// Unique within the account, or within the registry for published components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Free-form; a published component's is a semantic version.
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In the order of declaration.
    pub props: Vec<PropDefinition>,
    /// The hooks that are present.
    pub hooks: Vec<Hook>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedupe: Option<Strategy>,
    /// The names of the component's methods.
    pub methods: Vec<String>,
    /// Without it a source with a timer emits the tick itself.
    pub has_run: bool,
    /// Nothing a run did counts unless it returns.
    #[serde(rename = "atomic", default, skip_serializing_if = "is_false")]
    pub is_atomic: bool,
    /// What the component declares and cannot have, and what is therefore ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Problem>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Source,
    Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    Deploy,
    Activate,
    Deactivate,
}

// === impl Description ===

impl Description {
    /// Reads the dump of `module.exports`, in which each function is `{"$fn": true}`.
    pub fn parse(exports: &serde_json::Value) -> Result<Self, Vec<Problem>> {
        parse::parse(exports)
    }

    /// What the registry asks on top: a semantic version and a key `<app>-<slug>`.
    pub fn check_registry(&self) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        if !parse::is_semantic_version(&self.version) {
            let message = format!("`{}` is not a semantic version, such as 1.0.0", self.version);
            problems.push(Problem::new("version", message));
        }
        match &self.key {
            None => problems.push(Problem::new("key", "a published component needs a key")),
            Some(key) if !self.is_registry_key(key) => {
                let message =
                    format!("`{key}` does not follow the pattern <app>-<name>, such as {}", self.key_example());
                problems.push(Problem::new("key", message));
            }
            Some(_) => {}
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    pub fn has_hook(&self, hook: Hook) -> bool {
        self.hooks.contains(&hook)
    }

    /// A component has one store, so one prop that opts out decides.
    pub fn isolation(&self) -> Isolation {
        let opts_out = self.props_of(PropType::Db).any(|prop| prop.isolation == Some(Isolation::None));
        if opts_out { Isolation::None } else { Isolation::Serializable }
    }

    pub fn has_data_stores(&self) -> bool {
        self.props_of(PropType::DataStore).next().is_some()
    }

    pub fn props_of(&self, kind: PropType) -> impl Iterator<Item = &PropDefinition> {
        self.props.iter().filter(move |prop| prop.kind == kind)
    }

    /// A component that uses apps is filed under one of them; one without an app may choose any first word.
    fn is_registry_key(&self, key: &str) -> bool {
        let mut apps = self.apps().peekable();
        if apps.peek().is_none() {
            return key.split_once('-').is_some_and(|(app, slug)| is_app_slug(app) && is_slug(slug));
        }
        apps.any(|app| key.strip_prefix(app).and_then(|rest| rest.strip_prefix('-')).is_some_and(is_slug))
    }

    fn apps(&self) -> impl Iterator<Item = &str> {
        self.props_of(PropType::App).filter_map(|prop| prop.app.as_deref())
    }

    fn key_example(&self) -> String {
        format!("{}-{}", self.apps().next().unwrap_or("app"), crate::slug::slugify(&self.name))
    }
}

// === impl Hook ===

impl Hook {
    pub const ALL: [Self; 3] = [Self::Deploy, Self::Activate, Self::Deactivate];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Activate => "activate",
            Self::Deactivate => "deactivate",
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// App slugs, unlike others, contain underscores: `google_drive`.
fn is_app_slug(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn is_slug(text: &str) -> bool {
    !text.is_empty() && crate::slug::slugify(text) == text
}

#[cfg(test)]
mod tests;
