//! Does a value fit a type?
//!
//! Only what loses nothing is converted, because command lines and forms send text: `"42"` for an integer, `"true"`
//! for a boolean. A number for a string prop is refused: an id or phone number written as a number has already lost
//! its leading zeros or its last digits by the time we see it, and saying so beats passing on a wrong one.

use serde_json::Value;

use super::kind::Scalar;
use crate::raw::whole_number;

/// The value as the component will see it, or what it should have been.
pub(super) fn fit(scalar: Scalar, value: &Value) -> Result<Value, &'static str> {
    match scalar {
        Scalar::Boolean => fit_boolean(value).ok_or("must be true or false"),
        Scalar::Integer => fit_integer(value).ok_or("must be an integer"),
        Scalar::String if value.is_string() => Ok(value.clone()),
        Scalar::String => Err("must be a string"),
        Scalar::Object if value.is_object() => Ok(value.clone()),
        Scalar::Object => Err("must be an object"),
        Scalar::Any => Ok(value.clone()),
    }
}

/// The two parts of `{label, value}`; none for anything else.
pub(super) fn labelled(value: &Value) -> Option<(&Value, &Value)> {
    let fields = value.as_object().filter(|fields| fields.len() == 2)?;
    Some((fields.get("label")?, fields.get("value")?))
}

fn fit_boolean(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) if text == "true" => Some(Value::Bool(true)),
        Value::String(text) if text == "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn fit_integer(value: &Value) -> Option<Value> {
    let Value::String(text) = value else {
        return whole_number(value).map(Value::from);
    };
    // Only the number's own spelling: `007` or `+7` would come back different, so it was text and not a number.
    let number = text.parse::<i64>().ok().filter(|number| number.to_string() == *text)?;
    whole_number(&Value::from(number)).map(Value::from)
}
