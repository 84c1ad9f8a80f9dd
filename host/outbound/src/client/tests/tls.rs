//! HTTPS with an authority of our own: names are checked, HTTP/2 is spoken where it is offered.

use std::{io, sync::Arc};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio::io::AsyncWriteExt;

use crate::{
    Body, Config, Error, Outbound, Request, Response, parse_pem_roots,
    testing::{Answer, Answers, Asked, Recorder, Server, code, reply, text},
};

async fn tell_version(asked: Asked) -> Answer {
    if asked.uri().path() == "/drain" {
        let _ = asked.into_body().collect().await;
        return reply(200, &[], "");
    }
    let host = asked.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
    reply(200, &[], format!("{:?} host={host:?} authority={:?}", asked.version(), asked.uri().authority()))
}

/// A server for `api.example.com`, and the PEM of the authority that vouches for it.
async fn serve(protocols: &[&[u8]]) -> (Server, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(params, authority_key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["api.example.com".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();

    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (Server::start_tls(config, tell_version).await, authority.pem())
}

fn outbound(server: &Server, pem: &str) -> Outbound {
    let config = Config {
        resolver: Answers::new(&[&["93.184.216.34"]]),
        extra_roots: parse_pem_roots(pem.as_bytes()).unwrap(),
        ..Config::default()
    };
    Outbound::with_dial(config, Recorder::new(server.address)).unwrap()
}

async fn get(outbound: &Outbound, url: &str) -> Result<Response, Error> {
    outbound.send(Request::get(url).unwrap()).await
}

#[tokio::test]
async fn http2_is_spoken_when_the_server_offers_it() {
    let (server, pem) = serve(&[b"h2", b"http/1.1"]).await;
    let outbound = outbound(&server, &pem);

    let response = get(&outbound, "https://api.example.com/").await.unwrap();

    assert_eq!(response.status_text, "");
    assert_eq!(text(response).await, "HTTP/2.0 host=None authority=Some(api.example.com)");
    get(&outbound, "https://api.example.com/").await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_streamed_body_over_the_limit_is_too_large_over_http2_as_well() {
    let (server, pem) = serve(&[b"h2"]).await;
    let send = async |size| {
        let mut request = Request::new("POST", "https://api.example.com/drain").unwrap();
        let piece = |_| Ok::<_, io::Error>(Bytes::from_static(b"x"));
        request.body = Body::stream(stream::iter((0..size).map(piece)));
        request.max_request_bytes = Some(10);
        outbound(&server, &pem).send(request).await
    };

    assert_eq!(code(send(10).await), "ok");
    assert_eq!(code(send(11).await), "too_large");
}

#[tokio::test]
async fn http1_is_spoken_otherwise() {
    for protocols in [&[][..], &[&b"http/1.1"[..]]] {
        let (server, pem) = serve(protocols).await;

        let response = get(&outbound(&server, &pem), "https://api.example.com/").await.unwrap();

        assert_eq!(response.status_text, "OK");
        assert_eq!(text(response).await, "HTTP/1.1 host=Some(\"api.example.com\") authority=None");
    }
}

#[tokio::test]
async fn a_trailing_dot_does_not_change_the_certificate() {
    let (server, pem) = serve(&[b"http/1.1"]).await;

    assert_eq!(code(get(&outbound(&server, &pem), "https://api.example.com./").await), "ok");
}

#[tokio::test]
async fn unknown_authorities_and_wrong_names_are_tls_failures() {
    let (server, pem) = serve(&[b"h2"]).await;

    let unknown = get(&outbound(&server, ""), "https://api.example.com/").await.err().unwrap();
    let wrong_name = get(&outbound(&server, &pem), "https://www.example.com/").await;

    assert_eq!(unknown.code(), "tls_failed");
    assert!(unknown.to_string().contains("UnknownIssuer"), "{unknown}");
    assert!(unknown.to_string().contains("SSL_CERT_FILE"), "{unknown}");
    assert_eq!(code(wrong_name), "tls_failed");
    assert_eq!(code(get(&outbound(&server, &pem), "https://93.184.216.34/").await), "tls_failed");
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_failure() {
    let server = Server::listen(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;

    assert_eq!(code(get(&outbound(&server, ""), "https://api.example.com/").await), "tls_failed");
}

#[test]
fn roots_that_are_no_certificates_are_refused() {
    assert_eq!(
        code(parse_pem_roots(b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n")),
        "invalid_configuration"
    );
    let config = Config { extra_roots: vec![b"junk".to_vec().into()], ..Config::default() };
    assert_eq!(code(Outbound::new(config)), "invalid_configuration");
}
