//! `multipart/form-data` as an object: text fields are strings, files say their name and type and hold their content.
//!
//! The known crates for this read from asynchronous streams; a body we hold in full needs only a search for its
//! boundary. A body that breaks the format is not an object: none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{add, as_text};

/// A form has tens of fields; this keeps a hostile body from becoming hundreds of thousands of objects.
const PARTS_MAXIMUM: usize = 1000;

pub(super) fn parse(content_type: &str, body: &[u8]) -> Option<Value> {
    let boundary = parameter(content_type, "boundary").filter(|text| !text.is_empty() && text.len() <= 70)?;
    // With a line break before the body, every boundary, the first included, starts a line.
    let delimiter = format!("\r\n--{boundary}");
    let body = [b"\r\n", body].concat();
    let mut rest = split_once(&body, delimiter.as_bytes())?.1;
    let mut fields = Map::new();
    for _ in 0..=PARTS_MAXIMUM {
        if rest.starts_with(b"--") {
            return Some(Value::Object(fields));
        }
        let (part, after) = split_once(rest, delimiter.as_bytes())?;
        // What stands on the boundary's own line is padding.
        let (_padding, part) = split_once(part, b"\r\n")?;
        let (name, value) = parse_part(part)?;
        add(&mut fields, name, value);
        rest = after;
    }
    None
}

fn parse_part(part: &[u8]) -> Option<(String, Value)> {
    // A part without any header line starts with the empty line itself, and then has no name either.
    let (head, content) = split_once(part, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(head);
    let header = |wanted: &str| {
        head.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))
    };
    let (_, disposition) = header("content-disposition")?;
    let name = parameter(disposition, "name")?;
    let text = as_text(content);
    let Some(filename) = parameter(disposition, "filename") else {
        let value = text.map_or_else(|| STANDARD.encode(content), str::to_owned);
        return Some((name, Value::String(value)));
    };
    let content_type = header("content-type").map_or("application/octet-stream", |(_, value)| value.trim());
    let file = match text {
        Some(text) => json!({"filename": filename, "content_type": content_type, "content": text}),
        None => json!({
            "filename": filename, "content_type": content_type, "content": STANDARD.encode(content), "is_base64": true,
        }),
    };
    Some((name, file))
}

/// A parameter of a header, quoted or not. Within quotes only a quote itself is escaped: browsers send the
/// backslashes of Windows paths as they are.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, remaining) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let (value, remaining) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), remaining)
            }
        };
        if name.trim().trim_start_matches(';').trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = remaining;
    }
}

fn unquote(quoted: &str) -> Option<(String, &str)> {
    let is_end = |(place, _): &(usize, &str)| !quoted.get(..*place).is_some_and(|before| before.ends_with('\\'));
    let (end, _) = quoted.match_indices('"').find(is_end)?;
    let value = quoted.get(..end)?.replace("\\\"", "\"");
    Some((value, quoted.get(end + 1..)?))
}

fn split_once<'a>(bytes: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = bytes.windows(separator.len()).position(|window| window == separator)?;
    Some((bytes.get(..place)?, bytes.get(place + separator.len()..)?))
}
