//! Tests of console.

use http_body_util::BodyExt;
use hyper::{Method, Request, Response};

use super::*;

async fn ask(method: Method, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (head, body) = request.body(empty()).unwrap().into_parts();
    assert_eq!(Console.claims(&head), Some(Access::Public), "{path}");
    Console.handle(Request::from_parts(head, body), None).await
}

async fn bytes(response: Response<Body>) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

fn header(response: &Response<Body>, name: &str) -> String {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn every_deep_link_answers_the_page_and_the_root_leads_to_it() {
    for path in ["/", "/console"] {
        let response = ask(Method::GET, path, &[]).await;
        assert_eq!((response.status(), header(&response, "location").as_str()), (StatusCode::FOUND, "/console/"));
    }
    for path in ["/console/", "/console/sources/dc_Ab12Cd34Ef56/runs", "/console/e/x"] {
        let response = ask(Method::GET, path, &[]).await;
        assert_eq!(header(&response, "content-type"), "text/html; charset=utf-8", "{path}");
        assert_eq!(header(&response, "cache-control"), "no-cache");
        assert!(String::from_utf8(bytes(response).await).unwrap().starts_with("<!doctype html>"));
    }
}

#[tokio::test]
async fn what_is_not_the_consoles_is_not_claimed() {
    for path in ["/v1/sources", "/e/key/console/", "/consoles", "/healthz", "/docs", "/sources/dc_x/sse"] {
        let (head, ()) = Request::builder().uri(path).body(()).unwrap().into_parts();
        assert_eq!(Console.claims(&head), None, "{path}");
    }
}

#[tokio::test]
async fn the_page_runs_nothing_inline_and_nothing_from_elsewhere() {
    let response = ask(Method::GET, "/console/", &[]).await;
    let policy = header(&response, "content-security-policy");
    let page = String::from_utf8(bytes(response).await).unwrap();

    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for script in page.split("<script").skip(1) {
        assert!(script.contains("src=\"/console/assets/") && script.contains("></script>"), "{script}");
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<style"), "{page}");
}

#[tokio::test]
async fn files_are_kept_for_good_and_sent_compressed_where_that_is_understood() {
    let script = FILES.iter().find(|file| file.name.ends_with(".js")).unwrap();
    let path = format!("{ASSETS}{}", script.name);

    let packed = ask(Method::GET, &path, &[("accept-encoding", "br, gzip")]).await;
    let plain = ask(Method::GET, &path, &[("accept-encoding", "gzip;q=0, br")]).await;
    let known = ask(Method::GET, &path, &[("if-none-match", &header(&packed, "etag"))]).await;

    assert_eq!(header(&packed, "cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(
        (header(&packed, "content-encoding").as_str(), header(&plain, "content-encoding").as_str()),
        ("gzip", "")
    );
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    assert!(bytes(packed).await.len() < bytes(plain).await.len());
}

#[tokio::test]
async fn a_file_that_is_not_there_is_404_and_other_methods_are_refused() {
    assert_eq!(ask(Method::GET, "/console/assets/gone.js", &[]).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(ask(Method::POST, "/console/", &[]).await.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[test]
fn the_first_page_is_small_and_the_editor_is_not_part_of_it() {
    let page = FILES.iter().find(|file| file.name == PAGE).unwrap();
    let is_first = |file: &&File| file.name == PAGE || file.name.starts_with("main-");

    let first: usize = FILES.iter().filter(is_first).map(|file| file.gzip.len()).sum();

    assert!(page.gzip.len() < 2048);
    assert!(first < 150 << 10, "{first} bytes");
    assert!(FILES.iter().any(|file| file.name.starts_with("editor-")), "the editor is a file of its own");
}
