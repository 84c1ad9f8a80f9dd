//! Addresses and signatures.

use super::*;

#[test]
fn a_url_has_protocol_and_hostname() {
    for good in [
        "http://example.com",
        "https://example.com:8443/hooks?a=b",
        "HTTPS://Example.com/",
        "http://127.0.0.1:3000/x",
        "https://[::1]/",
        "https://user:pass@example.com/",
    ] {
        assert_eq!(WebhookUrl::parse(good).unwrap().as_str(), good);
    }
    for no_protocol in [
        "",
        "example.com",
        "ftp://example.com",
        "http:example.com",
        "//example.com",
        " http://example.com",
        "mailto:a@b.c",
    ] {
        assert_eq!(WebhookUrl::parse(no_protocol), Err(UrlError::NoProtocol), "{no_protocol}");
    }
    for no_hostname in ["http://", "https:///path", "http://?x", "http://exa mple.com", "http://:80", "http://a:99999"]
    {
        assert_eq!(WebhookUrl::parse(no_hostname), Err(UrlError::NoHostname), "{no_hostname}");
    }
}

#[test]
fn a_url_is_bounded_in_length() {
    let url = |length: usize| format!("http://x/{}", "a".repeat(length - 9));

    assert!(WebhookUrl::parse(&url(URL_BYTES_MAXIMUM)).is_ok());
    assert_eq!(WebhookUrl::parse(&url(2049)), Err(UrlError::TooLong { size_bytes: 2049 }));
}

#[test]
fn a_signature_is_what_standard_webhooks_says() {
    // The example that the reference libraries of Standard Webhooks test themselves with.
    let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();

    let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);

    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn a_secret_is_revealed_on_purpose_only() {
    let secret = SigningSecret::from_random([7; 32]);

    assert_eq!(format!("{secret:?}"), "SigningSecret(…)");
    assert_eq!(SigningSecret::parse(&secret.reveal()), Ok(secret));
    for broken in ["", "whsec_", "whsec_!", "sec_AAAA"] {
        assert_eq!(SigningSecret::parse(broken), Err(SecretError), "{broken}");
    }
}
