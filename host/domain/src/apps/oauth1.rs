//! Signatures of OAuth 1.0a (RFC 5849) with HMAC-SHA1.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use url::Url;
use url::form_urlencoded;

/// Who signs: the client, and the token of an account when there is one.
#[derive(Clone, Copy)]
pub struct Signer<'a> {
    pub consumer_key: &'a str,
    pub consumer_secret: &'a str,
    pub token: &'a str,
    pub token_secret: &'a str,
}

/// What is signed.
pub struct Signed<'a> {
    pub method: &'a str,
    pub url: &'a Url,
    /// Parameters of a body that is a form; those of any other body are not signed.
    pub form: &'a [(String, String)],
    /// Further parameters of the header: `oauth_callback`, `oauth_verifier`.
    pub more: &'a [(&'a str, &'a str)],
    pub timestamp_seconds: u64,
    pub nonce: &'a str,
}

/// The value of the header `Authorization`.
pub fn authorization(signer: Signer<'_>, signed: &Signed<'_>) -> String {
    let timestamp = signed.timestamp_seconds.to_string();
    let mut oauth: Vec<(&str, &str)> = vec![
        ("oauth_consumer_key", signer.consumer_key),
        ("oauth_nonce", signed.nonce),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", &timestamp),
        ("oauth_version", "1.0"),
    ];
    if !signer.token.is_empty() {
        oauth.push(("oauth_token", signer.token));
    }
    oauth.extend_from_slice(signed.more);
    let signature = signature(signer, signed, &oauth);
    oauth.push(("oauth_signature", &signature));
    oauth.sort_unstable();
    let parts: Vec<String> = oauth.iter().map(|(name, value)| format!("{name}=\"{}\"", encode(value))).collect();
    format!("OAuth {}", parts.join(", "))
}

fn signature(signer: Signer<'_>, signed: &Signed<'_>, oauth: &[(&str, &str)]) -> String {
    let text = base_string(signed, oauth);
    let key = format!("{}&{}", encode(signer.consumer_secret), encode(signer.token_secret));
    // A key of HMAC may have any length.
    Hmac::<Sha1>::new_from_slice(key.as_bytes()).map_or_else(
        |_| String::new(),
        |mut mac| {
            mac.update(text.as_bytes());
            STANDARD.encode(mac.finalize().into_bytes())
        },
    )
}

/// Section 3.4.1.
fn base_string(signed: &Signed<'_>, oauth: &[(&str, &str)]) -> String {
    let mut pairs: Vec<(String, String)> =
        signed.url.query_pairs().map(|(name, value)| (encode(&name), encode(&value))).collect();
    pairs.extend(signed.form.iter().map(|(name, value)| (encode(name), encode(value))));
    pairs.extend(oauth.iter().map(|(name, value)| (encode(name), encode(value))));
    pairs.sort();
    let parameters: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut address = signed.url.clone();
    address.set_query(None);
    address.set_fragment(None);
    let method = signed.method.to_ascii_uppercase();
    format!("{method}&{}&{}", encode(address.as_str()), encode(&parameters.join("&")))
}

/// The parameters of a body that is a form.
pub fn form_of(content_type: &str, body: &[u8]) -> Vec<(String, String)> {
    let is_form = content_type.trim().to_ascii_lowercase().starts_with("application/x-www-form-urlencoded");
    if !is_form {
        return Vec::new();
    }
    form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

/// Section 3.6: everything but letters, digits and `-._~`.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 5849, section 3.4.1.1.
    #[test]
    fn the_base_string_is_that_of_the_standard() {
        let url = Url::parse("http://EXAMPLE.COM:80/r%20v/X?b5=%3D%253D&a3=a&c%40=&a2=r%20b").unwrap();
        let form = form_of("application/x-www-form-urlencoded", b"c2&a3=2+q");
        let signed =
            Signed { method: "post", url: &url, form: &form, more: &[], timestamp_seconds: 137_131_201, nonce: "n" };
        let oauth = [
            ("oauth_consumer_key", "9djdj82h48djs9d2"),
            ("oauth_token", "kkk9d7dh3k39sjv7"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "137131201"),
            ("oauth_nonce", "7d8f3e4a"),
        ];

        let text = base_string(&signed, &oauth);

        assert_eq!(
            text,
            "POST&http%3A%2F%2Fexample.com%2Fr%2520v%2FX&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c\
             %2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_\
             method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
        );
    }

    /// The example of RFC 5849, section 1.2, whose signature is given there.
    #[test]
    fn a_signature_is_that_of_the_standard() {
        let url = Url::parse("http://photos.example.net/photos?file=vacation.jpg&size=original").unwrap();
        let signer = Signer {
            consumer_key: "dpf43f3p2l4k3l03",
            consumer_secret: "kd94hf93k423kf44",
            token: "nnch734d00sl2jdk",
            token_secret: "pfkkdhi9sl3r4s00",
        };
        let signed =
            Signed { method: "GET", url: &url, form: &[], more: &[], timestamp_seconds: 137_131_202, nonce: "chapoH" };
        let oauth = [
            ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
            ("oauth_token", "nnch734d00sl2jdk"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "137131202"),
            ("oauth_nonce", "chapoH"),
        ];

        assert_eq!(signature(signer, &signed, &oauth), "MdpQcU8iPSUjWoN/UDMsK2sui9I=");
    }
}
