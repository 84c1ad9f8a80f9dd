//! Codings of request bodies.

use async_compression::tokio::write::{BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder};
use hyper::header::HeaderValue;
use tokio::io::AsyncWriteExt;

use super::*;

macro_rules! encoded {
    ($encoder:ident, $content:expr) => {{
        let mut encoder = $encoder::new(Vec::new());
        encoder.write_all($content).await.unwrap();
        encoder.shutdown().await.unwrap();
        encoder.into_inner()
    }};
}

/// A content in every way it may be sent.
async fn codings(content: &[u8]) -> [(Coding, Vec<u8>); 4] {
    [
        (Coding::Gzip, encoded!(GzipEncoder, content)),
        (Coding::Deflate, encoded!(ZlibEncoder, content)),
        (Coding::Deflate, encoded!(DeflateEncoder, content)),
        (Coding::Brotli, encoded!(BrotliEncoder, content)),
    ]
}

fn named(values: &[&'static str]) -> Result<Option<Coding>, Refusal> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
    }
    coding(&headers)
}

#[test]
fn a_body_has_one_coding_that_is_known() {
    for (values, expected) in [
        (&[] as &[_], None),
        (&["identity"], None),
        (&["gzip"], Some(Coding::Gzip)),
        (&["X-GZIP"], Some(Coding::Gzip)),
        (&["identity, br"], Some(Coding::Brotli)),
        (&["deflate", ""], Some(Coding::Deflate)),
    ] {
        assert_eq!(named(values).unwrap(), expected, "{values:?}");
    }
    assert!(matches!(named(&["zstd"]), Err(Refusal::UnknownCoding)));
    assert!(matches!(named(&["gzip, gzip"]), Err(Refusal::StackedCodings)));
    assert!(matches!(named(&["gzip", "br"]), Err(Refusal::StackedCodings)));
}

#[tokio::test]
async fn every_coding_is_undone_up_to_the_limit_and_not_beyond() {
    let content = vec![b'x'; 3 * PIECE_BYTES];

    for (coding, encoded) in codings(&content).await {
        assert!(encoded.len() < 20_000, "{coding:?}");
        assert!(undo(coding, &encoded, content.len()).await.unwrap() == content, "{coding:?}");
        let beyond = undo(coding, &encoded, content.len() - 1).await;
        assert!(matches!(beyond, Err(Refusal::TooLarge { .. })), "{coding:?}: {beyond:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_or_goes_on_after_its_end_or_is_something_else_is_malformed() {
    let content: Vec<u8> = (0..9999_u32).flat_map(u32::to_le_bytes).collect();

    for (coding, encoded) in codings(&content).await {
        let cut = &encoded[..encoded.len() - 1];
        let longer = [&encoded[..], b"more"].concat();
        let other = b"\xff\xff{\"plain\": true}";
        for (case, bytes) in [("cut", cut), ("longer", &longer), ("other", other)] {
            let decoded = undo(coding, bytes, 1 << 20).await;
            assert!(matches!(decoded, Err(Refusal::MalformedCoding { .. })), "{coding:?} {case}: {decoded:?}");
        }
    }
}

#[tokio::test]
async fn nothing_stays_nothing() {
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
        assert_eq!(undo(coding, b"", 9).await.unwrap(), b"");
    }
}
