//! Tests of docs.

use sha2::Digest;

use super::render;
use crate::openapi::whole_document as document;

#[test]
fn the_page_shows_every_operation_and_needs_nothing_from_outside() {
    let document = document();

    let page = render(&document);

    for (path, methods) in document["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let anchor = format!("<section id=\"{}\">", operation["operationId"].as_str().unwrap());
            assert!(page.contains(&anchor), "{path}");
        }
    }
    for outside in ["src=", "<script", "<link", "@import", "url(", "style=", " onclick="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn what_the_document_says_is_escaped() {
    let document = serde_json::json!({"paths": {"/x": {"get": {
        "operationId": "x", "tags": ["A"], "summary": "<script>alert(1)</script> `a<b`", "responses": {},
    }}}});

    let page = render(&document);

    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; <code>a&lt;b</code>"));
}

#[test]
fn the_policy_allows_the_style_sheet_of_the_page_and_nothing_else() {
    let page = render(&document());
    let (_, rest) = page.split_once("<style>").unwrap();
    let (style, rest) = rest.split_once("</style>").unwrap();

    let policy = super::policy();

    let digest = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, sha2::Sha256::digest(style));
    let expected = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    assert_eq!(policy.to_str().unwrap(), expected);
    assert!(!rest.contains("<style"), "one style sheet");
}
