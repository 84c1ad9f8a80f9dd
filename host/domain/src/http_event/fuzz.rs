//! Made-up requests: pieces of the grammars that bodies have, in any order. `WELLSPRING_FUZZ` multiplies the cases.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

use super::{Request, STANDARD};
use base64::Engine as _;

/// What headers, forms, multipart bodies and JSON are made of, and what breaks them.
const PIECES: [&[u8]; 34] = [
    b"--B\r\n",
    b"--B--",
    b"--B--\r\n",
    b"--b\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"Content-Disposition: form-data; name=\"a\"",
    b"content-disposition: form-data; name=b; filename=\"x\\\"y.txt\"",
    b"content-disposition: x; filename*=utf-8''%e2%82%ac; name=c",
    b"Content-Type: application/json",
    b"Content-Transfer-Encoding: base64",
    b"\r\n\r\n",
    b"--",
    b"a=1",
    b"&",
    b"=",
    b"%",
    b"%zz",
    b"%00",
    b"+",
    b"a[b][]=c",
    b"__proto__=1",
    b"{\"a\":",
    b"[",
    b"]",
    b"}",
    b"\"\\ud83d\\ude00\"",
    b"\"\\ud800\"",
    b"1e400",
    b"-0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0",
];

const TYPES: [&[u8]; 12] = [
    b"application/json",
    b"application/json; charset=utf-16",
    b"application/x-www-form-urlencoded",
    b"text/plain",
    b"multipart/form-data; boundary=B",
    b"multipart/form-data; boundary=\"B\"",
    b"multipart/form-data; boundary=",
    b"multipart/form-data",
    b"multipart/mixed; boundary=B; boundary=C",
    b"application/x+json",
    b"\xff",
    b"",
];

/// The same cases each time, so that a failure is a change's own; `WELLSPRING_FUZZ_SEED` chooses others.
fn seed() -> RngSeed {
    RngSeed::Fixed(std::env::var("WELLSPRING_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2))
}

fn cases() -> ProptestConfig {
    let times = std::env::var("WELLSPRING_FUZZ").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    // A failure prints what it takes to repeat it; nothing is written beside the sources.
    ProptestConfig { cases: 256 * times, failure_persistence: None, rng_seed: seed(), ..ProptestConfig::default() }
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop_oneof![
            8 => prop::sample::select(&PIECES[..]).prop_map(<[u8]>::to_vec),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ],
        0..24,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn an_event_holds_the_body_and_never_guesses(
        body in bodies(),
        kinds in prop::collection::vec(prop::sample::select(&TYPES[..]), 0..3),
        name in prop::sample::select(vec!["content-type", "Content-Type", "CONTENT-TYPE"]),
        query in "[a-c=&%+\\[\\]\\x00-\\x7f]{0,20}",
    ) {
        let headers: Vec<(&str, &[u8])> = kinds.iter().map(|kind| (name, *kind)).collect();
        let (path, url, client_ip) = ("/", "http://h/", "::1");
        let request = Request { method: "POST", path, query: &query, headers: &headers, body: &body, url, client_ip, interface: "http" };

        let event = super::event(&request).to_value();

        let raw = event["bodyRaw"].as_str().unwrap();
        let bytes = if event["is_base64"] == true { STANDARD.decode(raw).unwrap() } else { raw.as_bytes().to_vec() };
        prop_assert_eq!(&bytes, &body);
        prop_assert!(event["headers"].as_object().unwrap().keys().all(|name| *name == name.to_lowercase()));
        prop_assert!(event["query"].is_object());
        let kind = event["headers"]["content-type"].as_str().unwrap_or_default();
        if event.get("body_error").is_some() || kind.is_empty() || kind == "text/plain" {
            prop_assert_eq!(&event["body"], &event["bodyRaw"]);
        }
        // What was parsed as JSON is what another parser makes of it.
        if kind == "application/json" && event.get("body_error").is_none() && !event["body"].is_string() {
            let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&body);
            prop_assert_eq!(&event["body"], &serde_json::from_slice::<Value>(text).unwrap());
        }
    }
}
