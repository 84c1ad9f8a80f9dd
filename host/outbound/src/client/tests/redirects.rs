//! Redirects over the wire; the rules themselves are tested in `redirect`.

use crate::{
    Body, Redirect, Request,
    testing::{Answer, Asked, Server, code, echo, reply, text},
};

/// `/count/N` redirects N times; `/to/STATUS/TARGET` once; everything else echoes.
async fn route(asked: Asked) -> Answer {
    let path = asked.uri().path().to_owned();
    if let Some(count) = path.strip_prefix("/count/").and_then(|text| text.parse::<u32>().ok()) {
        let next = if count == 1 { "/end".to_owned() } else { format!("/count/{}", count - 1) };
        return reply(302, &[("location", &next)], "moved");
    }
    if let Some((status, target)) = path.strip_prefix("/to/").and_then(|rest| rest.split_once('/')) {
        return reply(status.parse().unwrap(), &[("location", target)], "moved");
    }
    echo(asked).await
}

#[tokio::test]
async fn the_answer_tells_where_it_came_from() {
    let server = Server::start(route).await;

    let direct = server.get("http://a.example/x#part").await.unwrap();
    let moved = server.get("http://a.example/count/2#part").await.unwrap();

    assert_eq!((direct.is_redirected, direct.url.as_str()), (false, "http://a.example/x#part"));
    assert_eq!((moved.is_redirected, moved.url.as_str()), (true, "http://a.example/end#part"));
    assert_eq!(moved.status, 200);
}

#[tokio::test]
async fn twenty_redirects_are_followed_and_no_more() {
    let server = Server::start(route).await;

    assert_eq!(code(server.get("http://a.example/count/20").await), "ok");
    assert_eq!(code(server.get("http://a.example/count/21").await), "too_many_redirects");
}

#[tokio::test]
async fn manual_hands_the_redirect_over_and_error_refuses_it() {
    let server = Server::start(route).await;
    let mut request = Request::get("http://a.example/count/1").unwrap();
    request.redirect = Redirect::Manual;

    let response = server.outbound().send(request).await.unwrap();

    assert_eq!((response.status.as_u16(), response.is_redirected), (302, false));
    assert_eq!(text(response).await, "moved");
    let mut request = Request::get("http://a.example/count/1").unwrap();
    request.redirect = Redirect::Error;
    assert_eq!(code(server.outbound().send(request).await), "redirect_refused");
}

#[tokio::test]
async fn a_post_is_repeated_or_becomes_a_get() {
    let server = Server::start(route).await;
    for (status, first_line, end) in [
        (302, "GET /end\n", "\n\n"),
        (303, "GET /end\n", "\n\n"),
        (307, "POST /end\n", "\n\nhello"),
        (308, "POST /end\n", "\n\nhello"),
    ] {
        let mut request = Request::new("POST", &format!("http://a.example/to/{status}//end")).unwrap();
        request.body = Body::from("hello");
        request = request.header("content-type", "text/plain");

        let echoed = text(server.outbound().send(request).await.unwrap()).await;

        assert!(echoed.starts_with(first_line), "{status}: {echoed}");
        assert!(echoed.ends_with(end), "{status}: {echoed}");
        assert_eq!(echoed.contains("content-type"), status > 303, "{status}: {echoed}");
        assert_eq!(echoed.contains("content-length: 5"), status > 303, "{status}: {echoed}");
    }
}

#[tokio::test]
async fn credentials_do_not_travel_to_another_host() {
    let server = Server::start(route).await;
    let send = async |target: &str| {
        let request = Request::get(&format!("http://user:pw@a.example/to/302/{target}")).unwrap();
        text(server.outbound().send(request.header("cookie", "c=1").header("x-own", "1")).await.unwrap()).await
    };

    let same = send("/end").await;
    let other = send("http://b.example/end").await;

    assert!(same.contains("authorization: Basic") && same.contains("cookie: c=1"), "{same}");
    assert!(!other.contains("authorization") && !other.contains("cookie"), "{other}");
    assert!(other.contains("x-own: 1") && other.contains("host: b.example"), "{other}");
}

#[tokio::test]
async fn a_redirect_to_another_scheme_is_an_invalid_url() {
    let server = Server::start(route).await;

    assert_eq!(code(server.get("http://a.example/to/302/ftp://b.example/").await), "invalid_url");
}
