//! Signed requests to object stores: Signature Version 4 of Amazon S3, which the others understand as well.
//!
//! Pure: what is signed and when is passed in. Buckets are named in the path, which works with every store and every host.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::plan::iso_8601;

const SESSION_TOKEN: &str = "x-amz-security-token";

/// What signs.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Credentials {
    pub access_key_id: String,
    pub secret_access_key: String,
    /// Of keys that were lent for a while.
    pub session_token: Option<String>,
    pub region: String,
}

/// Where an object store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// With the port, unless it is the usual one.
    pub host: String,
    /// Before the bucket, without a slash at its end.
    pub path: String,
}

// === impl Endpoint ===

impl Endpoint {
    /// None for what is no plain address of http or https.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest, port) = match text.split_once("://")? {
            ("https", rest) => ("https", rest, ":443"),
            ("http", rest) => ("http", rest, ":80"),
            _ => return None,
        };
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_plain = |text: &str| text.chars().all(|letter| letter.is_ascii_graphic() && !"@?#\\%".contains(letter));
        let host = host.strip_suffix(port).unwrap_or(host).to_ascii_lowercase();
        let is_one = !host.is_empty() && is_plain(&host) && is_plain(path);
        is_one.then(|| Self { scheme, host, path: path.trim_end_matches('/').to_owned() })
    }
}

/// Why a store did not take an object, and whether that is for good; none when it did.
pub fn refusal(status: u16, body: &str) -> Option<(String, bool)> {
    if (200..300).contains(&status) {
        return None;
    }
    // `<Error><Code>NoSuchBucket</Code>…`
    let code = body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    let is_final = matches!(status, 400..=499) && !matches!(status, 403 | 408 | 429);
    Some((format!("the object store answered {status}{code}"), is_final))
}

/// A request that is to be signed.
pub struct Unsigned<'a> {
    pub method: &'a str,
    /// With the port, unless it is the usual one.
    pub host: &'a str,
    /// As it is sent: see [`object_path`].
    pub path: &'a str,
    /// Besides those that every request has, names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// The headers that prove it, beside `headers` of the request.
pub fn sign(request: &Unsigned<'_>, credentials: &S3Credentials, now_ms: i64) -> Vec<(String, String)> {
    let time = basic_time(now_ms);
    let day = time.get(..8).unwrap_or_default();
    let digest = hex::encode(Sha256::digest(request.body));
    let mut headers: Vec<(&str, &str)> = request.headers.to_vec();
    headers.extend(credentials.session_token.as_deref().map(|token| (SESSION_TOKEN, token)));
    headers.extend([("host", request.host), ("x-amz-content-sha256", digest.as_str()), ("x-amz-date", time.as_str())]);
    headers.sort_unstable();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let canonical = format!("{}\n{}\n\n{lines}\n{names}\n{digest}", request.method, request.path);
    let scope = format!("{day}/{}/s3/aws4_request", credentials.region);
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex::encode(Sha256::digest(canonical)));
    let first = format!("AWS4{}", credentials.secret_access_key).into_bytes();
    let key = [day, &credentials.region, "s3", "aws4_request"].iter().fold(first, |key, part| mac(&key, part));
    let signature = hex::encode(mac(&key, &text));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        credentials.access_key_id
    );
    let own = [("x-amz-content-sha256", digest), ("x-amz-date", time), ("authorization", authorization)];
    let lent = credentials.session_token.clone().map(|token| (SESSION_TOKEN, token));
    own.into_iter().chain(lent).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// `/bucket/key`, everything but letters, digits, `-._~` and the slashes of the key encoded.
pub fn object_path(bucket: &str, key: &str) -> String {
    let mut path = String::from("/");
    encode(bucket, "", &mut path);
    path.push('/');
    encode(key, "/", &mut path);
    path
}

fn encode(text: &str, kept: &str, into: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => into.push(char::from(byte)),
            other if kept.as_bytes().contains(&other) => into.push(char::from(other)),
            other => into.push_str(&format!("%{other:02X}")),
        }
    }
}

/// `20130524T000000Z`
fn basic_time(now_ms: i64) -> String {
    let iso = iso_8601(now_ms);
    let seconds = iso.split('.').next().unwrap_or_default();
    let digits: String = seconds.chars().filter(|letter| !matches!(letter, '-' | ':' | 'Z')).collect();
    format!("{digits}Z")
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> S3Credentials {
        S3Credentials {
            access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
            region: "us-east-1".to_owned(),
        }
    }

    /// The example of Amazon's documentation, "PUT Object".
    #[test]
    fn a_signature_is_the_one_of_the_documentation() {
        let request = Unsigned {
            method: "PUT",
            host: "examplebucket.s3.amazonaws.com",
            path: "/test%24file.text",
            headers: &[("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            body: b"Welcome to Amazon S3.",
        };

        let headers = sign(&request, &credentials(), 1_369_353_600_000);

        assert_eq!(headers[1].1, "20130524T000000Z");
        assert!(
            headers[2].1.ends_with("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            "{headers:?}"
        );
    }

    #[test]
    fn keys_that_were_lent_are_named_and_signed() {
        let request = Unsigned { method: "PUT", host: "h", path: "/b/k", headers: &[], body: b"" };
        let lent = S3Credentials { session_token: Some("t".to_owned()), ..credentials() };

        let headers = sign(&request, &lent, 0);

        assert_eq!(headers[3], ("x-amz-security-token".to_owned(), "t".to_owned()));
        assert!(headers[2].1.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"));
    }

    #[test]
    fn endpoints_are_plain_addresses() {
        let shown = |text: &str| Endpoint::parse(text).map(|at| format!("{} {} {}", at.scheme, at.host, at.path));

        assert_eq!(shown("https://S3.example.com:443/").as_deref(), Some("https s3.example.com "));
        assert_eq!(shown("http://127.0.0.1:9000/objects/").as_deref(), Some("http 127.0.0.1:9000 /objects"));
        for other in
            ["", "s3.example.com", "ftp://a", "https://", "https://a@b", "https://a?b", "https://a b", "https://a/%2e"]
        {
            assert_eq!(shown(other), None, "{other}");
        }
    }

    #[test]
    fn a_refusal_has_its_code_and_says_whether_it_is_for_good() {
        let body = "<?xml?><Error><Code>NoSuchBucket</Code></Error>";

        assert_eq!(refusal(200, ""), None);
        assert_eq!(refusal(404, body), Some(("the object store answered 404 (NoSuchBucket)".to_owned(), true)));
        assert_eq!(refusal(503, ""), Some(("the object store answered 503".to_owned(), false)));
        assert_eq!(refusal(403, "").map(|(_, is_final)| is_final), Some(false), "a clock may be wrong");
    }

    #[test]
    fn paths_are_encoded_byte_by_byte() {
        assert_eq!(object_path("b", "a b/ü+.txt"), "/b/a%20b/%C3%BC%2B.txt");
        assert_eq!(object_path("b/../c", "../x?y#z"), "/b%2F..%2Fc/../x%3Fy%23z");
    }
}
