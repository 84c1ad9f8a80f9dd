//! A document whose objects have no field twice: the last would silently win, which is not what was meant.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// JSON from a file in any format; refuses a field that is there twice, and says where if the format can.
pub(crate) struct Unique(pub(crate) Value);

struct UniqueVisitor;

// === impl Unique ===

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("`{name}` is there twice")));
            }
            let Unique(value) = fields.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_there_twice_is_refused_in_either_format() {
        let json = serde_json::from_str::<Unique>("{\"a\": [{\"b\": 1, \"b\": 2}]}").map(|read| read.0);
        let yaml = serde_yaml_ng::from_str::<Unique>("a:\n  - b: 1\n    c: x\n    b: 2\n").map(|read| read.0);

        assert_eq!(json.unwrap_err().to_string(), "`b` is there twice at line 1 column 19");
        assert_eq!(yaml.unwrap_err().to_string(), "a[0]: `b` is there twice at line 2 column 5");
    }

    #[test]
    fn everything_else_is_read_as_it_was() {
        let text = r#"{"a": [1, -2, 0.5, 1e300, true, null, "x", {}, 18446744073709551615], "b": {"a": {"a": "é"}}}"#;
        let plain: Value = serde_json::from_str(text).unwrap();

        assert_eq!(serde_json::from_str::<Unique>(text).unwrap().0, plain);
        assert_eq!(serde_yaml_ng::from_str::<Unique>(text).unwrap().0, plain);
        let numbered = "1: a\n~: b\nlist: [~, 0x10, .5, '1']\n";
        let expected: Value = serde_yaml_ng::from_str(numbered).unwrap();
        assert_eq!(serde_yaml_ng::from_str::<Unique>(numbered).unwrap().0, expected);
        assert_eq!(serde_yaml_ng::from_str::<Unique>("").unwrap().0, Value::Null);
    }
}
