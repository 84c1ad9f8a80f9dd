//! Takes what `$auth` holds out of what is written down, in every form in which it may be there: as it is, escaped for URLs,
//! JSON or HTML, in each other, in base64 (as in Basic authentication) and in hex.
//!
//! A text is looked at as it is, and as it reads when escapes are undone, up to [`DEPTH`] times in every order. What is found is
//! replaced where it stands in the original.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde_json::Value;

use super::escapes::{DECODERS, Unit};

/// JSON in JSON in a URL; deeper is not met.
const DEPTH: usize = 3;
/// Shorter values are no secrets, and would be found everywhere.
const BYTES_MINIMUM: usize = 3;
/// Shorter values count only where they stand alone, not in the middle of a word.
const WORD_BYTES: usize = 6;
/// Of base64: fewer are in any text.
const CORE_BYTES_MINIMUM: usize = 5;

#[derive(Default)]
pub(super) struct Concealer {
    /// By their first bytes.
    patterns: HashMap<u8, Vec<Pattern>>,
    /// Values that need no escapes, by what is written instead.
    plain: Vec<(String, String)>,
}

struct Pattern {
    bytes: Vec<u8>,
    form: Form,
    /// What is written instead.
    name: String,
    /// Of the value: a longer one decides what is written.
    weight: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// A short value.
    Word,
    Base64,
}

struct Found<'p> {
    range: Range<usize>,
    pattern: &'p Pattern,
}

// === impl Concealer ===

impl Concealer {
    /// Of JSON by prop.
    pub(super) fn new(credentials: &HashMap<String, String>) -> Self {
        let mut values = Vec::new();
        for (prop, json) in credentials {
            gather(prop, &serde_json::from_str(json).unwrap_or_default(), &mut values);
        }
        values.sort();
        let mut concealer = Self::default();
        for (value, name) in &values {
            concealer.add(value, name);
        }
        concealer
    }

    pub(super) fn conceal(&self, bytes: &[u8]) -> Vec<u8> {
        if self.patterns.is_empty() {
            return bytes.to_vec();
        }
        let mut found = Vec::new();
        self.look(&Unit::all(bytes), DEPTH, &mut found);
        found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
        let mut result = Vec::with_capacity(bytes.len());
        let mut done = 0;
        let mut found = found.into_iter().peekable();
        while let Some(Found { mut range, mut pattern }) = found.next() {
            while let Some(next) = found.next_if(|next| next.range.start < range.end) {
                range.end = range.end.max(next.range.end);
                if next.pattern.weight > pattern.weight {
                    pattern = next.pattern;
                }
            }
            result.extend_from_slice(bytes.get(done..range.start).unwrap_or_default());
            result.extend_from_slice(pattern.name.as_bytes());
            done = range.end;
        }
        result.extend_from_slice(bytes.get(done..).unwrap_or_default());
        result
    }

    /// The same for a text. What is found is whole letters.
    pub(super) fn conceal_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.conceal(text.as_bytes())).into_owned()
    }

    /// Puts values back for the component that has them: without, a number would be missing in JSON. One that may need an
    /// escape stays a name.
    pub(super) fn reveal(&self, text: &str) -> String {
        self.plain.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    fn add(&mut self, value: &str, name: &str) {
        if value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+".contains(&byte)) {
            self.plain.push((format!("<{name}>"), value.to_owned()));
        }
        let form = if value.len() < WORD_BYTES { Form::Word } else { Form::Plain };
        let mut add = |bytes: Vec<u8>, form| {
            let Some(first) = bytes.first().map(u8::to_ascii_lowercase) else { return };
            let pattern = Pattern { bytes, form, name: format!("<{name}>"), weight: value.len() };
            self.patterns.entry(first).or_default().push(pattern);
        };
        add(value.as_bytes().to_vec(), form);
        add(value.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes(), form);
        // What is encoded may be escaped itself.
        let json = Value::from(value).to_string();
        let escaped = [
            value.to_owned(),
            json.trim_matches('"').to_owned(),
            percent_encode(value.as_bytes(), NON_ALPHANUMERIC).to_string(),
        ];
        let cores: BTreeSet<Vec<u8>> = escaped.iter().flat_map(|value| cores(value.as_bytes())).collect();
        cores.into_iter().for_each(|core| add(core, Form::Base64));
    }

    fn look<'p>(&'p self, units: &[Unit], depth: usize, found: &mut Vec<Found<'p>>) {
        self.search(units, found);
        if depth > 0 {
            for decode in DECODERS {
                if let Some(decoded) = decode(units) {
                    self.look(&decoded, depth - 1, found);
                }
            }
        }
    }

    fn search<'p>(&'p self, units: &[Unit], found: &mut Vec<Found<'p>>) {
        for (at, unit) in units.iter().enumerate() {
            let patterns = self.patterns.get(&unit.byte.to_ascii_lowercase()).into_iter().flatten();
            for pattern in patterns {
                if let Some(range) = pattern.matched(units, at)
                    && let (Some(first), Some(last)) = (units.get(range.start), units.get(range.end - 1))
                {
                    found.push(Found { range: first.start as usize..last.end as usize, pattern });
                }
            }
        }
    }
}

// === impl Pattern ===

impl Pattern {
    /// The units that are to be replaced when it stands at `at`.
    fn matched(&self, units: &[Unit], at: usize) -> Option<Range<usize>> {
        let end = at + self.bytes.len();
        let is_same = |(unit, byte): (&Unit, &u8)| match self.form {
            Form::Base64 => unit.byte == *byte,
            Form::Plain | Form::Word => unit.byte.eq_ignore_ascii_case(byte),
        };
        if !units.get(at..end)?.iter().zip(&self.bytes).all(is_same) {
            return None;
        }
        let is = |at: Option<usize>, test: fn(u8) -> bool| {
            at.and_then(|at| units.get(at)).is_some_and(|unit| test(unit.byte))
        };
        match self.form {
            Form::Plain => Some(at..end),
            Form::Word => {
                let is_alone = !is(at.checked_sub(1), is_letter) && !is(Some(end), is_letter);
                is_alone.then_some(at..end)
            }
            Form::Base64 => {
                // The letters beside it hold bits of the value as well; those further on are of the same text.
                let (mut start, mut end) = (at, end);
                start -= usize::from(is(start.checked_sub(1), is_base64));
                end += usize::from(is(Some(end), is_base64));
                while is(start.checked_sub(1), is_base64_and_no_slash) {
                    start -= 1;
                }
                while is(Some(end), is_base64_and_no_slash) {
                    end += 1;
                }
                while is(Some(end), |byte| byte == b'=') {
                    end += 1;
                }
                Some(start..end)
            }
        }
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

fn is_base64(byte: u8) -> bool {
    byte == b'/' || is_base64_and_no_slash(byte)
}

/// A slash is more often of a path.
fn is_base64_and_no_slash(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'_')
}

/// Every text and number in it, by where it is.
fn gather(name: &str, value: &Value, values: &mut Vec<(String, String)>) {
    let mut note = |text: String| {
        if text.len() >= BYTES_MINIMUM {
            values.push((text, name.to_owned()));
        }
    };
    match value {
        Value::String(text) => note(text.clone()),
        Value::Number(number) => note(number.to_string()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(&format!("{name}.{index}"), item, values);
            }
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                gather(&format!("{name}.{field}"), value, values);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// What base64 of a text that holds `value` holds for sure, however much stands before it.
fn cores(value: &[u8]) -> Vec<Vec<u8>> {
    let mut cores = Vec::new();
    for (before, shared) in [(0, 0), (1, 2), (2, 3)] {
        let padded = [&vec![0; before], value].concat();
        let open = usize::from(padded.len() % 3 != 0);
        for text in [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            let core = text.get(shared..text.len() - open).unwrap_or_default();
            if core.len() >= CORE_BYTES_MINIMUM {
                cores.push(core.as_bytes().to_vec());
            }
        }
    }
    cores
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "s3cr\"t/a b+é?Z";

    fn concealer(auth: &Value) -> Concealer {
        Concealer::new(&HashMap::from([("api".to_owned(), auth.to_string())]))
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let concealed = concealer(&json!({"token": TOKEN, "short": "k9x"})).conceal_text(text);
        assert_eq!(concealed, expected, "{text}");
    }

    #[test]
    fn a_value_is_found_in_every_form() {
        let in_json = json!({"t": TOKEN}).to_string();
        let in_json_twice = json!({"outer": in_json}).to_string();
        let in_url = percent_encode(TOKEN.as_bytes(), NON_ALPHANUMERIC).to_string();
        check(&format!("a {TOKEN} b"), "a <api.token> b");
        check(&in_json, r#"{"t":"<api.token>"}"#);
        check(&in_json_twice, r#"{"outer":"{\"t\":\"<api.token>\"}"}"#);
        check(
            &json!({"deep": in_json_twice}).to_string(),
            r#"{"deep":"{\"outer\":\"{\\\"t\\\":\\\"<api.token>\\\"}\"}"}"#,
        );
        check("\"s3cr\\u0022t\\/a b\\u002b\\u00e9?Z\"", "\"<api.token>\"");
        check(&format!("https://x.test/?q={in_url}&r=1"), "https://x.test/?q=<api.token>&r=1");
        check(&format!("q={}", in_url.to_lowercase()), "q=<api.token>");
        check(&format!("q={}", in_url.replace("%20", "+")), "q=<api.token>");
        check(&format!("q={}", in_url.replace('%', "%25")), "q=<api.token>");
        check("<b title=\"s3cr&quot;t/a b&#43;&#xE9;?Z\">", "<b title=\"<api.token>\">");
        check(&TOKEN.bytes().map(|byte| format!("{byte:02X}")).collect::<String>(), "<api.token>");
    }

    #[test]
    fn base64_is_found_wherever_the_value_stands_in_it() {
        for before in ["", "u", "us", "user:"] {
            for after in ["", ":", ":x", "\n and more"] {
                for value in [TOKEN.to_owned(), json!(TOKEN).to_string()] {
                    let text = format!("{before}{value}{after}");
                    for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                        check(&format!("Basic {encoded} ok"), "Basic <api.token> ok");
                        let escaped = percent_encode(encoded.as_bytes(), NON_ALPHANUMERIC).to_string();
                        check(&format!("q={escaped}&r"), "q=<api.token>&r");
                    }
                }
            }
        }
    }

    #[test]
    fn short_values_count_where_they_stand_alone() {
        check("key=k9x&pack9xs=1", "key=<api.short>&pack9xs=1");
        check("K9X", "<api.short>");
    }

    #[test]
    fn all_values_are_found_whatever_they_lie_in_and_the_longest_names_what_overlaps() {
        let auth = json!({"pin": 123_456, "flag": true, "oauth": {"tokens": ["first-token", "first-token-longer"]}});
        let concealer = concealer(&auth);

        let concealed = concealer.conceal_text("{\"pin\":123456,\"flag\":true} first-token-longer first-token");

        assert_eq!(concealed, "{\"pin\":<api.pin>,\"flag\":true} <api.oauth.tokens.1> <api.oauth.tokens.0>");
        let revealed = concealer.reveal(&concealed);
        assert_eq!(revealed, "{\"pin\":123456,\"flag\":true} first-token-longer first-token");
        assert_eq!(concealer.conceal(b"\xff\xfefirst-token\x00"), b"\xff\xfe<api.oauth.tokens.0>\x00");
        assert_eq!(Concealer::default().conceal_text("first-token"), "first-token");
    }
}
