//! Paths of the API, built from what people type.
//!
//! A parser of URLs drops a segment `.` and takes `..` for the folder above, also when they are escaped, and a path without its
//! last name is that of the whole list. A request for one thing would then meet another, so such a path is never sent.

use url::Url;

use crate::error::Error;

/// One segment of a path: everything but letters, digits and `-._~` is escaped. Refuses what no segment can be.
pub fn path_segment(text: &str) -> Result<String, Error> {
    if is_lost(text) {
        return Err(Error::NoAddress { given: text.to_owned() });
    }
    let escaped = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    Ok(escaped.collect())
}

/// Where a key is: below `keys`, or, when no segment can be this key, at `single` with the key as its parameter.
pub(crate) fn path_of_key(keys: &str, single: &str, key: &str) -> String {
    // What is no segment is nothing or dots, which need no escape in a query string.
    path_segment(key).map_or_else(|_| format!("{single}?key={key}"), |segment| format!("{keys}/{segment}"))
}

/// The address of a path below `/v1`. Refused when it is not exactly what was written: a segment was lost, or an id is not escaped.
pub(super) fn join(base: &Url, path: &str) -> Result<Url, Error> {
    let invalid = || Error::InvalidUrl { given: path.to_owned() };
    let path = path.trim_start_matches('/');
    let base = base.join("v1/").map_err(|_| invalid())?;
    let url = base.join(path).map_err(|_| invalid())?;
    let bare = path.split('?').next().unwrap_or_default();
    let is_whole = url.path().strip_prefix(base.path()) == Some(bare);
    if is_whole && !bare.split('/').any(is_lost) { Ok(url) } else { Err(invalid()) }
}

fn is_lost(segment: &str) -> bool {
    matches!(segment, "" | "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_escaped_and_what_would_be_lost_is_refused() {
        assert_eq!(path_segment("a/b?c#d%2e\\é").unwrap(), "a%2Fb%3Fc%23d%252e%5C%C3%A9");
        assert_eq!(path_segment("...").unwrap(), "...");
        for lost in ["", ".", ".."] {
            assert!(matches!(path_segment(lost), Err(Error::NoAddress { given }) if given == lost));
        }
    }

    #[test]
    fn a_key_that_no_segment_can_be_is_a_parameter() {
        assert_eq!(path_of_key("a/db", "a/db_value", "x y"), "a/db/x%20y");
        assert_eq!(path_of_key("a/db", "a/db_value", ".."), "a/db_value?key=..");
        assert_eq!(path_of_key("a/db", "a/db_value", ""), "a/db_value?key=");
    }

    #[test]
    fn a_path_that_an_url_would_change_is_not_sent() {
        let base = Url::parse("https://h/wells/").unwrap();

        let sent = |path: &str| join(&base, path).map(String::from);
        assert_eq!(sent("sources/dc_1/db_value?key=..").unwrap(), "https://h/wells/v1/sources/dc_1/db_value?key=..");
        assert_eq!(sent("/workflows/p_1/$errors/sse").unwrap(), "https://h/wells/v1/workflows/p_1/$errors/sse");
        for lost in [
            "sources/dc_1/db/..",
            "sources/dc_1/db/.",
            "sources/dc_1/db/",
            "sources//db",
            "sources/dc_1/db/%2e%2E",
            "sources/dc_1/db/.%2e/x",
            "sources/dc_1\\..\\x",
            "sources/.\t./x",
            "sources/dc_1#x",
            "sources/ü",
            "",
        ] {
            assert!(sent(lost).is_err(), "{lost}");
        }
    }
}
