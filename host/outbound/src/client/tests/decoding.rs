//! Content codings over the wire.

use async_compression::tokio::bufread::{BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{
    Error, Request,
    testing::{Server, code, reply, text},
};

const TEXT: &[u8] = b"the quick brown fox jumps over the lazy dog, again and again and again";

pub(crate) async fn read(mut reader: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.unwrap();
    bytes
}

async fn serve(coding: &'static str, body: Vec<u8>) -> Server {
    Server::start(move |_| {
        let body = body.clone();
        async move { reply(200, &[("content-encoding", coding)], body) }
    })
    .await
}

async fn decode(coding: &'static str, body: Vec<u8>) -> Result<Vec<u8>, Error> {
    let response = serve(coding, body).await.get("http://a.example/").await?;
    Ok(response.body.collect(1 << 20).await?.to_vec())
}

#[tokio::test]
async fn each_coding_is_decoded() {
    let gzip = read(GzipEncoder::new(TEXT)).await;
    let twice = [gzip.clone(), gzip.clone()].concat();
    for (coding, body, decoded) in [
        ("gzip", gzip.clone(), TEXT.to_vec()),
        ("X-GZip", gzip.clone(), TEXT.to_vec()),
        ("gzip", twice, TEXT.repeat(2)),
        ("deflate", read(ZlibEncoder::new(TEXT)).await, TEXT.to_vec()),
        ("deflate", read(DeflateEncoder::new(TEXT)).await, TEXT.to_vec()),
        ("br", read(BrotliEncoder::new(TEXT)).await, TEXT.to_vec()),
        ("gzip, br", read(BrotliEncoder::new(&gzip[..])).await, TEXT.to_vec()),
        ("identity", TEXT.to_vec(), TEXT.to_vec()),
        ("gzip", Vec::new(), Vec::new()),
    ] {
        assert_eq!(decode(coding, body).await.unwrap(), decoded, "{coding}");
    }
}

#[tokio::test]
async fn what_is_unknown_or_unwanted_is_passed_on_as_it_is() {
    let gzip = read(GzipEncoder::new(TEXT)).await;

    assert_eq!(decode("zstd", TEXT.to_vec()).await.unwrap(), TEXT);
    assert_eq!(decode("gzip, unknown", gzip.clone()).await.unwrap(), gzip);
    let server = serve("gzip", gzip.clone()).await;
    let mut request = Request::get("http://a.example/").unwrap();
    request.decompress = false;
    let response = server.outbound().send(request).await.unwrap();
    assert!(!response.is_decoded);
    assert_eq!(response.body.collect(1 << 20).await.unwrap(), gzip);
}

#[tokio::test]
async fn two_codings_are_undone_and_more_are_not() {
    let once = read(GzipEncoder::new(TEXT)).await;
    let twice = read(GzipEncoder::new(&once[..])).await;
    let thrice = read(GzipEncoder::new(&twice[..])).await;

    assert_eq!(decode("gzip, gzip", twice).await.unwrap(), TEXT);
    assert_eq!(decode("gzip, gzip, gzip", thrice.clone()).await.unwrap(), thrice);
}

#[tokio::test]
async fn broken_data_is_an_error_and_no_short_body() {
    let gzip = read(GzipEncoder::new(TEXT)).await;
    let brotli = read(BrotliEncoder::new(TEXT)).await;

    assert_eq!(code(decode("gzip", gzip[..gzip.len() - 9].to_vec()).await), "decode_failed");
    assert_eq!(code(decode("gzip", TEXT.to_vec()).await), "decode_failed");
    assert_eq!(code(decode("br", brotli[..brotli.len() / 2].to_vec()).await), "decode_failed");
}

#[tokio::test]
async fn an_answer_to_head_names_a_coding_and_has_no_body() {
    let server = serve("gzip", read(GzipEncoder::new(TEXT)).await).await;

    let response = server.outbound().send(Request::new("HEAD", "http://a.example/").unwrap()).await.unwrap();

    assert!(response.headers.iter().any(|(name, value)| name == "content-encoding" && value == "gzip"));
    assert_eq!(text(response).await, "");
}
