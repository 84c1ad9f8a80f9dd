//! Addresses that are all that protects what they lead to: of endpoints, and those that resume or cancel a run.
//!
//! A sender, a proxy and a component repeat them in many places: paths, headers, messages, stacks. So they are told by
//! their shape, wherever they occur: their key has a length of its own, and stands at the end of a known path or before the
//! domain of endpoints. Text that only looks like one is hidden, too.

use serde_json::Value;

use crate::ids::EndpointKey;
use crate::redact::REDACTED;

/// What stands where a text was cut.
const CUT: char = '…';
/// More than the path of any address has before its key, however it is escaped.
const PATH_BYTES: usize = 256;

/// How addresses look on one server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses<'a> {
    /// Endpoints are also at `<key>.<domain>`.
    pub domain: Option<&'a str>,
}

// === impl Addresses ===

impl Addresses<'_> {
    /// Hides the keys of all addresses within a value, also in names of fields.
    pub fn hide(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(fields) => {
                let hidden = std::mem::take(fields).into_iter().map(|(mut name, mut field)| {
                    self.hide_in(&mut name);
                    self.hide(&mut field);
                    (name, field)
                });
                *fields = hidden.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub fn hide_in(&self, text: &mut String) {
        let (mut hidden, mut copied, mut start) = (String::new(), 0, 0);
        for piece in text.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
            let run = piece.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
            let begin = start + escaped_bytes(text.get(..start).unwrap_or_default(), run);
            let end = start + run.len();
            start += piece.len();
            let parts = (text.get(..begin), text.get(begin..end), text.get(end..));
            let (Some(before), Some(key), Some(after)) = parts else { continue };
            if self.is_key(before, key, after) {
                hidden.push_str(text.get(copied..begin).unwrap_or_default());
                hidden.push_str(REDACTED);
                copied = end;
            }
        }
        if copied > 0 {
            hidden.push_str(text.get(copied..).unwrap_or_default());
            *text = hidden;
        }
    }

    fn is_key(&self, before: &str, run: &str, after: &str) -> bool {
        let is_whole = EndpointKey::parse(run).is_ok();
        let is_cut = !run.is_empty() && run.len() < EndpointKey::CHARACTERS && after.starts_with(CUT);
        match (is_whole, is_cut) {
            (true, _) => is_path(before) || self.is_domain(after),
            (false, true) => is_path(before),
            (false, false) => false,
        }
    }

    /// Whether a text goes on with the domain, or was cut within it.
    fn is_domain(&self, after: &str) -> bool {
        let (Some(domain), Some(after)) = (self.domain, after.strip_prefix('.')) else { return false };
        let shown = after.split(CUT).next().unwrap_or_default();
        let bytes = if shown.len() < after.len() { domain.len().min(shown.len()) } else { domain.len() };
        let parts = (shown.get(..bytes), domain.get(..bytes));
        matches!(parts, (Some(shown), Some(domain)) if shown.eq_ignore_ascii_case(domain))
    }
}

/// What of a run of letters and digits is the end of an escaped slash: all of `2F` after a percent sign.
fn escaped_bytes(before: &str, run: &str) -> usize {
    if !before.ends_with('%') {
        return 0;
    }
    let rest = run.trim_start_matches("25");
    let rest = rest.strip_prefix("2F").or_else(|| rest.strip_prefix("2f")).unwrap_or(run);
    run.len() - rest.len()
}

/// Whether a text ends with the path to a key: `/e/`, or `/resume/` or `/cancel/` with an account and a run.
fn is_path(before: &str) -> bool {
    let from = before.floor_char_boundary(before.len().saturating_sub(PATH_BYTES));
    let path = before.get(from..).unwrap_or_default();
    // As JSON within a text and parameters of another address spell it.
    let path = path.replace('\\', "").replace("%25", "%").replace("%25", "%").replace("%2F", "/").replace("%2f", "/");
    let mut segments = path.rsplit('/');
    if segments.next() != Some("") {
        return false;
    }
    match segments.next() {
        Some("e") => segments.next().is_some(),
        Some(_) => segments.nth(1).is_some_and(|verb| ["resume", "cancel"].contains(&verb)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "0123456789abcdefghijAB";
    const SERVER: Addresses<'_> = Addresses { domain: Some("hooks.example.com") };

    fn shown(text: &str) -> String {
        let mut text = text.replace("KEY", KEY);
        SERVER.hide_in(&mut text);
        text.replace(KEY, "KEY").replace(REDACTED, "*")
    }

    #[test]
    fn keys_are_hidden_however_an_address_is_written() {
        let table = [
            ("/e/KEY", "/e/*"),
            ("/e/KEY/orders?a=1", "/e/*/orders?a=1"),
            ("https://a.test/e/KEY", "https://a.test/e/*"),
            ("https://a.test/base/e/KEY", "https://a.test/base/e/*"),
            ("at run (https://a.test/e/KEY:3:5) and /e/KEY.", "at run (https://a.test/e/*:3:5) and /e/*."),
            ("back=https%3A%2F%2Fa.test%2Fe%2FKEY%2Fx", "back=https%3A%2F%2Fa.test%2Fe%2F*%2Fx"),
            ("a.test%2fe%2fKEY", "a.test%2fe%2f*"),
            ("a.test%252Fe%252FKEY&x", "a.test%252Fe%252F*&x"),
            (r#"{"url":"https:\/\/a.test\/e\/KEY"}"#, r#"{"url":"https:\/\/a.test\/e\/*"}"#),
            ("https://a.test/v1/resume/u_1/r_-2/KEY", "https://a.test/v1/resume/u_1/r_-2/*"),
            ("https://a.test/v1/cancel/u_1/r_-2/KEY?x", "https://a.test/v1/cancel/u_1/r_-2/*?x"),
            ("KEY.hooks.example.com", "*.hooks.example.com"),
            ("https://KEY.Hooks.Example.com:8443/e", "https://*.Hooks.Example.com:8443/e"),
            ("https://KEY.hooks.exa…", "https://*.hooks.exa…"),
            ("日本 /e/KEY 日本", "日本 /e/* 日本"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_cut_within_a_key_is_hidden_as_well() {
        for bytes in [1, 10, 21, 22] {
            let text = format!("POST /e/{}…", &KEY[..bytes]);
            assert_eq!(shown(&text), "POST /e/*…", "{text}");
        }
    }

    #[test]
    fn other_text_is_left_alone() {
        let texts = [
            "",
            "KEY",
            "KEY.example.com",
            "KEY.hooks.example",
            "/f/KEY",
            "e/KEY",
            "/e/KEYx",
            "/e/short",
            "/e/",
            "/e/…",
            "/resume/KEY",
            "/v1/runs/u_1/r_2/KEY",
            "%2F",
            "100%25",
        ];
        for text in texts {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn without_a_domain_a_name_of_a_host_is_text() {
        let mut text = format!("{KEY}.hooks.example.com");
        let before = text.clone();
        Addresses::default().hide_in(&mut text);

        assert_eq!(text, before);
    }

    #[test]
    fn keys_are_hidden_in_all_of_a_value() {
        let url = format!("https://a.test/e/{KEY}");
        let mut value = json!({"a": [{"b": url, "n": 1}, null], url.clone(): true});
        SERVER.hide(&mut value);

        assert_eq!(
            value,
            json!({"a": [{"b": "https://a.test/e/********", "n": 1}, null], "https://a.test/e/********": true})
        );
    }
}
