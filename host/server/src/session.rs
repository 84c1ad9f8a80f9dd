//! The cookie of a session of the console, and when it counts.
//!
//! A browser sends a cookie with every request, also with those that a page of another origin makes. So a cookie lets a
//! request in only when the browser says that it comes from this origin, and a change only with [`HEADER`], which a page
//! of another origin cannot send: the API answers no preflight. Components never see the cookie, see `ingress`.

use hyper::header::{COOKIE, HeaderMap, HeaderValue};
use hyper::http::{HeaderName, request};
use platform::{Platform, Secret};

use crate::connect;

/// What a change needs beside the cookie; the value does not matter.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("wellspring-console");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Over HTTPS: a browser takes it from this host alone, not from one beside it.
const SECURE: &str = "__Host-wellspring";
/// Over plain HTTP, where a browser keeps no secure cookies.
const PLAIN: &str = "wellspring";
/// Between tokens, which are letters, digits and `_`.
const SEPARATOR: &str = ".";
/// Accounts that one browser is signed in to: five tokens are well below what a header may hold.
const ACCOUNTS_MAXIMUM: usize = 5;
/// As long as a session lives at most; the server ends it when it lies idle.
const MAX_AGE_SECONDS: u64 = 7 * 86_400;

/// The token of a request's cookie, when the request may be made with it.
pub(crate) fn presented(head: &request::Parts, platform: &Platform) -> Option<Secret<String>> {
    let is_ours = match head.headers.get(SEC_FETCH_SITE) {
        // `none` is a user who typed the address.
        Some(site) => site == "same-origin" || site == "none",
        // Browsers say it over HTTPS and to the local host only.
        None => true,
    };
    let is_allowed = is_ours && (head.method.is_safe() || head.headers.contains_key(HEADER));
    tokens(&head.headers, platform).into_iter().next().filter(|_| is_allowed)
}

/// The sessions of a browser, one for each account that it is signed in to; the first is in use.
pub(crate) fn tokens(headers: &HeaderMap, platform: &Platform) -> Vec<Secret<String>> {
    let value = pairs(headers).find(|(name, _)| *name == cookie_name(platform)).map_or("", |(_, value)| value);
    let tokens = value.split(SEPARATOR).filter(|token| !token.is_empty());
    tokens.take(ACCOUNTS_MAXIMUM).map(|token| Secret::new(token.to_owned())).collect()
}

/// For an answer that begins, changes or ends a session; without any, the cookie goes.
pub(crate) fn cookie(platform: &Platform, tokens: &[Secret<String>]) -> Option<HeaderValue> {
    let tokens: Vec<&str> = tokens.iter().take(ACCOUNTS_MAXIMUM).map(|token| token.expose().as_str()).collect();
    header(platform, &tokens.join(SEPARATOR), if tokens.is_empty() { 0 } else { MAX_AGE_SECONDS })
}

/// A `cookie` header without the session, or what binds a visit to a provider to the browser; none when nothing else is in it.
pub(crate) fn without_session(value: &[u8]) -> Option<Vec<u8>> {
    let is_session = |pair: &[u8]| {
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
        [SECURE, PLAIN, connect::SECURE_COOKIE, connect::PLAIN_COOKIE].iter().any(|ours| name == ours.as_bytes())
    };
    let pairs = || value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    if !pairs().any(is_session) {
        return Some(value.to_vec());
    }
    let kept: Vec<&[u8]> = pairs().filter(|pair| !pair.is_empty() && !is_session(pair)).collect();
    (!kept.is_empty()).then(|| kept.join(&b"; "[..]))
}

fn header(platform: &Platform, value: &str, max_age_seconds: u64) -> Option<HeaderValue> {
    let secure = if is_secure(platform) { "; Secure" } else { "" };
    let name = cookie_name(platform);
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age_seconds}{secure}");
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn cookie_name(platform: &Platform) -> &'static str {
    if is_secure(platform) { SECURE } else { PLAIN }
}

pub(crate) fn is_secure(platform: &Platform) -> bool {
    platform.config().public_url.starts_with("https://")
}

pub(crate) fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_session_is_taken_out_of_a_cookie_header() {
        for (given, kept) in [
            ("a=1; b=2", Some("a=1; b=2")),
            ("a=1;b=2", Some("a=1;b=2")),
            ("wellspring=t", None),
            ("a=1; wellspring-connect=t; __Host-wellspring-connect=u", Some("a=1")),
            ("a=1; __Host-wellspring=t; b=2", Some("a=1; b=2")),
            ("wellspring=t; wellspring=u;c", Some("c")),
            ("not-wellspring=1", Some("not-wellspring=1")),
            (" wellspring =t", None),
        ] {
            let found = without_session(given.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), kept, "{given}");
        }
    }
}
