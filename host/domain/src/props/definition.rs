//! One declared prop: read from what the component wrote, with every mistake named.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::isolation::Isolation;
use super::kind::{PropType, Scalar};
use super::vendor;
use crate::problem::{Problem, did_you_mean};
use crate::raw::{Fields, is_function, join};
use crate::timers::Schedule;

/// A prop as declared. Serialized it is one item of `configurable_props`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PropDefinition {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: PropType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The slug of the app; on app props only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    #[serde(rename = "optional", default, skip_serializing_if = "is_false")]
    pub is_optional: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(rename = "secret", default, skip_serializing_if = "is_false")]
    pub is_secret: bool,
    #[serde(rename = "min", skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    #[serde(rename = "max", skip_serializing_if = "Option::is_none")]
    pub maximum: Option<i64>,
    /// The values to choose from, bare or as `{label, value}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Value>>,
    /// The values to choose from are found by running the component's method.
    #[serde(rename = "remoteOptions", default, skip_serializing_if = "is_false")]
    pub has_remote_options: bool,
    /// The component wants each value as `{label, value}`.
    #[serde(rename = "withLabel", default, skip_serializing_if = "is_false")]
    pub has_label: bool,
    /// `run` answers the request itself; on HTTP interfaces only.
    #[serde(rename = "customResponse", default, skip_serializing_if = "is_false")]
    pub has_custom_response: bool,
    /// Bodies are handed over as they were sent, in their content encoding; on HTTP interfaces only.
    #[serde(rename = "keepEncoding", default, skip_serializing_if = "is_false")]
    pub keeps_encoding: bool,
    /// What concurrent runs see of each other; on `$.service.db` props only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    #[serde(rename = "propDefinition", skip_serializing_if = "Option::is_none")]
    pub reused: Option<ReusedProp>,
    /// What the component declared and we do not know: kept and returned.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Where a prop was taken from; its properties are already merged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReusedProp {
    pub app: String,
    pub name: String,
    /// The definition is called with the values of earlier props.
    #[serde(rename = "hasInput", default)]
    pub has_input: bool,
}

/// The list the API returns for a component.
pub fn configurable_props(definitions: &[PropDefinition]) -> Value {
    // Serializing plain data with string keys cannot fail; an empty list stands in for the impossible.
    serde_json::to_value(definitions).unwrap_or_else(|_| Value::Array(Vec::new()))
}

// === impl PropDefinition ===

impl PropDefinition {
    /// Reads one entry of `props`; every mistake is noted, and nothing is returned when its type is not known. A known
    /// property on a type it says nothing about (an `app` on a string) is dropped: kept as an unknown one it would be
    /// read back as what it is not.
    pub(crate) fn parse(name: &str, value: &Value, problems: &mut Vec<Problem>) -> Option<Self> {
        let path = join("props", name);
        let object = match value {
            // Shorthand: `db: "$.service.db"`.
            Value::String(kind) => Map::from_iter([("type".to_owned(), Value::String(kind.clone()))]),
            Value::Object(object) if !is_function(value) => object.clone(),
            _ => {
                problems.push(Problem::new(path, "must be an object with a `type`, or the name of a type"));
                return None;
            }
        };
        let mut fields = Fields::new(path, object, problems);
        if name.is_empty() {
            fields.problem("", "a prop needs a name");
        }
        let reused = parse_reused(&mut fields).ok()?;
        let kind = parse_kind(&mut fields)?;
        Some(Self::parse_fields(name, kind, reused, fields))
    }

    fn parse_fields(name: &str, kind: PropType, reused: Option<ReusedProp>, mut fields: Fields<'_>) -> Self {
        let (minimum, maximum) = parse_bounds(&kind, &mut fields);
        let (options, has_remote_options) = parse_options(&kind, &mut fields);
        let asks_for_nothing = matches!(&kind, PropType::Vendor(kind) if !kind.has_value());
        Self {
            name: name.to_owned(),
            label: fields.text("label"),
            description: fields.text("description"),
            app: parse_app(&kind, &mut fields),
            is_optional: fields.flag("optional") || asks_for_nothing,
            default: parse_default(&kind, &mut fields),
            is_secret: parse_secret(&kind, &mut fields),
            minimum,
            maximum,
            options,
            has_remote_options,
            has_label: fields.flag("withLabel"),
            has_custom_response: parse_http_flag("customResponse", &kind, &mut fields),
            keeps_encoding: parse_http_flag("keepEncoding", &kind, &mut fields),
            isolation: Isolation::parse(&kind, &mut fields),
            reused,
            extra: extra(&kind, fields),
            kind,
        }
    }

    /// Whether a user may leave it out.
    ///
    /// The specification allows `default` on optional props only; published components set it on required ones too
    /// and are deployed without a value. Refusing them would break components that work elsewhere, so a default makes
    /// the prop effectively optional.
    pub fn may_be_absent(&self) -> bool {
        self.is_optional || self.default.is_some()
    }
}

fn parse_reused(fields: &mut Fields<'_>) -> Result<Option<ReusedProp>, ()> {
    let Some(value) = fields.take("propDefinition") else {
        return Ok(None);
    };
    // The target does not exist, so nothing was merged: complaints about a missing type would only distract.
    if let Some(error) = value.get("error").and_then(Value::as_str) {
        fields.problem("propDefinition", error);
        return Err(());
    }
    match serde_json::from_value(value) {
        Ok(reused) => Ok(Some(reused)),
        Err(_) => {
            fields.problem("propDefinition", "must be [app, name of one of its propDefinitions]");
            Err(())
        }
    }
}

fn parse_kind(fields: &mut Fields<'_>) -> Option<PropType> {
    let text = fields.required_text("type")?;
    let kind = PropType::parse(&text);
    if kind.is_none() {
        let hint = did_you_mean(&text, PropType::ALL.iter().map(PropType::as_str));
        fields.problem("type", format!("unknown prop type `{text}`{hint}"));
    }
    kind
}

fn parse_app(kind: &PropType, fields: &mut Fields<'_>) -> Option<String> {
    if *kind != PropType::App {
        fields.take("app");
        return None;
    }
    fields.required_text("app")
}

fn parse_http_flag(name: &str, kind: &PropType, fields: &mut Fields<'_>) -> bool {
    if *kind != PropType::Http {
        fields.take(name);
        return false;
    }
    fields.flag(name)
}

fn parse_secret(kind: &PropType, fields: &mut Fields<'_>) -> bool {
    let is_secret = fields.flag("secret");
    if is_secret && *kind != PropType::String {
        fields.problem("secret", "only a string prop can be secret");
        return false;
    }
    is_secret
}

fn parse_bounds(kind: &PropType, fields: &mut Fields<'_>) -> (Option<i64>, Option<i64>) {
    if kind.scalar() != Some(Scalar::Integer) {
        for name in ["min", "max"] {
            if fields.take(name).is_some() {
                fields.problem(name, "only an integer prop has bounds");
            }
        }
        return (None, None);
    }
    let bounds = (fields.integer("min"), fields.integer("max"));
    if let (Some(minimum), Some(maximum)) = bounds
        && minimum > maximum
    {
        fields.problem("min", format!("{minimum} is greater than max, {maximum}"));
    }
    bounds
}

fn parse_default(kind: &PropType, fields: &mut Fields<'_>) -> Option<Value> {
    let default = fields.take("default")?;
    if is_function(&default) {
        fields.problem("default", "must be a value, not a function");
        return None;
    }
    // Any JSON is a legal default for an input prop; a timer's default is a schedule and has to be one.
    if *kind == PropType::Timer
        && let Err(error) = Schedule::parse(&default, 1)
    {
        fields.problem(&join("default", error.property()), error.to_string());
    }
    Some(default)
}

fn parse_options(kind: &PropType, fields: &mut Fields<'_>) -> (Option<Vec<Value>>, bool) {
    // `remoteOptions` is ours to say; a component that writes it says nothing.
    fields.take("remoteOptions");
    match fields.take("options") {
        None => (None, false),
        Some(_) if kind.scalar().is_none() => (None, false),
        Some(options) if is_function(&options) => (None, true),
        Some(Value::Array(options)) => {
            for (index, option) in options.iter().enumerate() {
                if !is_option(option) {
                    fields.problem(&format!("options[{index}]"), "must be a value or {label, value}");
                }
            }
            (Some(options), false)
        }
        Some(_) => {
            fields.problem("options", "must be a list or a method");
            (None, false)
        }
    }
}

fn is_option(option: &Value) -> bool {
    match option {
        // The specification names strings; integer props list numbers, and nothing is gained by refusing them.
        Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
        Value::Object(fields) => {
            fields.get("label").is_some_and(Value::is_string)
                && fields.get("value").is_some_and(|value| !is_function(value))
        }
        _ => false,
    }
}

/// What is left over, and the note on a foreign type. Functions have no JSON form, and an app's own machinery is not
/// the user's to see.
fn extra(kind: &PropType, fields: Fields<'_>) -> Map<String, Value> {
    const OF_THE_APP: [&str; 2] = ["methods", "propDefinitions"];
    let note = matches!(kind, PropType::Vendor(_)).then(|| ("note".to_owned(), Value::String(vendor::NOTE.to_owned())));
    fields
        .into_rest()
        .into_iter()
        .filter(|(name, value)| {
            // `name` is how we return the prop's key; a property of that name would shadow it.
            name != "name" && !is_function(value) && !(*kind == PropType::App && OF_THE_APP.contains(&name.as_str()))
        })
        .chain(note)
        .collect()
}

fn is_false(flag: &bool) -> bool {
    !flag
}
