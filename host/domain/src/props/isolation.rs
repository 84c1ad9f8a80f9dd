//! The isolation level of a run on its `db`: what it may rely on while other runs of its source use the same keys.

use serde::{Deserialize, Serialize};

use super::kind::PropType;
use crate::problem::did_you_mean;
use crate::raw::Fields;

/// `isolation` of a `$.service.db` prop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// As if runs that use the same keys had come one after the other.
    #[default]
    Serializable,
    /// Each read gives the newest value and the last write counts: no run waits or is repeated.
    None,
}

// === impl Isolation ===

impl Isolation {
    const NAMES: [&'static str; 2] = ["serializable", "none"];

    pub(super) fn parse(kind: &PropType, fields: &mut Fields<'_>) -> Option<Self> {
        if *kind != PropType::Db {
            return None;
        }
        match fields.text("isolation")?.as_str() {
            "serializable" => Some(Self::Serializable),
            "none" => Some(Self::None),
            other => {
                let hint = did_you_mean(other, Self::NAMES);
                fields.problem("isolation", format!("must be \"serializable\" or \"none\"{hint}"));
                None
            }
        }
    }
}
