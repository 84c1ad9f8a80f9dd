//! The types a prop may have.
//!
//! Besides the specification's own: `any` and `$.interface.apphook`, which published components use, the `[]` form
//! of every value type, because a list of objects has an obvious meaning, and types of other platforms.

use serde::{Deserialize, Serialize};

use super::vendor::VendorType;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum PropType {
    #[serde(rename = "app")]
    App,
    #[serde(rename = "boolean")]
    Boolean,
    #[serde(rename = "boolean[]")]
    BooleanList,
    #[serde(rename = "integer")]
    Integer,
    #[serde(rename = "integer[]")]
    IntegerList,
    #[serde(rename = "string")]
    String,
    #[serde(rename = "string[]")]
    StringList,
    #[serde(rename = "object")]
    Object,
    #[serde(rename = "object[]")]
    ObjectList,
    #[serde(rename = "any")]
    Any,
    #[serde(rename = "any[]")]
    AnyList,
    #[serde(rename = "$.interface.http")]
    Http,
    #[serde(rename = "$.interface.timer")]
    Timer,
    #[serde(rename = "$.interface.apphook")]
    AppHook,
    #[serde(rename = "$.service.db")]
    Db,
    #[serde(rename = "data_store")]
    DataStore,
    #[serde(untagged)]
    Vendor(VendorType),
}

/// The type of one value, or of one item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Boolean,
    Integer,
    String,
    Object,
    Any,
}

// === impl PropType ===

impl PropType {
    /// Ours; those of other platforms have no end.
    pub const ALL: [Self; 16] = [
        Self::App,
        Self::Boolean,
        Self::BooleanList,
        Self::Integer,
        Self::IntegerList,
        Self::String,
        Self::StringList,
        Self::Object,
        Self::ObjectList,
        Self::Any,
        Self::AnyList,
        Self::Http,
        Self::Timer,
        Self::AppHook,
        Self::Db,
        Self::DataStore,
    ];

    pub fn parse(text: &str) -> Option<Self> {
        let ours = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        ours.or_else(|| VendorType::parse(text).map(Self::Vendor))
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::App => "app",
            Self::Boolean => "boolean",
            Self::BooleanList => "boolean[]",
            Self::Integer => "integer",
            Self::IntegerList => "integer[]",
            Self::String => "string",
            Self::StringList => "string[]",
            Self::Object => "object",
            Self::ObjectList => "object[]",
            Self::Any => "any",
            Self::AnyList => "any[]",
            Self::Http => "$.interface.http",
            Self::Timer => "$.interface.timer",
            Self::AppHook => "$.interface.apphook",
            Self::Db => "$.service.db",
            Self::DataStore => "data_store",
            Self::Vendor(kind) => kind.as_str(),
        }
    }

    /// What triggers a source; actions have none of these.
    pub fn is_interface(&self) -> bool {
        matches!(self, Self::Http | Self::Timer | Self::AppHook)
    }

    pub fn is_list(&self) -> bool {
        match self {
            Self::BooleanList | Self::IntegerList | Self::StringList | Self::ObjectList | Self::AnyList => true,
            Self::Vendor(kind) => kind.is_list(),
            _ => false,
        }
    }

    /// The type of the value a user types in; none for what the platform provides.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Boolean | Self::BooleanList => Some(Scalar::Boolean),
            Self::Integer | Self::IntegerList => Some(Scalar::Integer),
            Self::String | Self::StringList | Self::DataStore => Some(Scalar::String),
            Self::Object | Self::ObjectList => Some(Scalar::Object),
            Self::Any | Self::AnyList | Self::Vendor(_) => Some(Scalar::Any),
            Self::App | Self::Http | Self::Timer | Self::AppHook | Self::Db => None,
        }
    }
}
