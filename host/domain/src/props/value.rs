//! Does a value fit a type?
//!
//! Only what loses nothing is converted. Command lines and forms send text: `"42"` for an integer, `"true"` for a
//! boolean. The `options` of published components return numbers for string props: `42` for `"42"`. A number that may
//! have lost something on its way is refused, and saying so beats passing on a wrong one: `1.10` is `1.1` by the time
//! it arrives, and integers beyond 2^53 have lost their last digits in a JavaScript client.

use serde_json::Value;

use super::kind::Scalar;
use crate::raw::whole_number;

/// The value as the component will see it, or what it should have been.
pub(super) fn fit(scalar: Scalar, value: &Value) -> Result<Value, &'static str> {
    match scalar {
        Scalar::Boolean => fit_boolean(value).ok_or("must be true or false"),
        Scalar::Integer => fit_integer(value).ok_or("must be an integer"),
        Scalar::String => fit_string(value),
        Scalar::Object if value.is_object() => Ok(value.clone()),
        Scalar::Object => Err("must be an object"),
        Scalar::Any => Ok(value.clone()),
    }
}

/// The two parts of `{label, value}`; none for anything else.
pub(super) fn labelled(value: &Value) -> Option<(&Value, &Value)> {
    Some((value.get("label")?, value.get("value")?))
}

fn fit_string(value: &Value) -> Result<Value, &'static str> {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Bool(flag) => Ok(Value::String(flag.to_string())),
        Value::Number(number) if number.is_i64() && whole_number(value).is_some() => {
            Ok(Value::String(number.to_string()))
        }
        Value::Number(_) => Err("must be a string: write it in quotes, because this number may lose digits"),
        _ => Err("must be a string"),
    }
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
