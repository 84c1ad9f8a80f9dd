//! Tests of docs.

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
    for outside in ["src=", "<script", "<link", "@import", "url("] {
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
