//! Bodies that are larger inside than outside.

use std::task::Poll;

use async_compression::tokio::bufread::GzipEncoder;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{BytesStream, Error, decode_within};
use crate::client::tests::decoding::read;
use crate::decode::Coding;

const LIMIT_BYTES: u64 = 1 << 20;

async fn gzip(bytes: &[u8]) -> Vec<u8> {
    read(GzipEncoder::new(bytes)).await
}

fn decoded(encoded: Vec<u8>, codings: usize) -> BytesStream {
    let raw: BytesStream = Box::pin(stream::iter([Ok(Bytes::from(encoded))]));
    decode_within(raw, &vec![Coding::Gzip; codings], LIMIT_BYTES)
}

async fn length(mut body: BytesStream) -> Result<usize, Error> {
    let mut length = 0;
    while let Some(bytes) = body.next().await {
        length += bytes?.len();
    }
    Ok(length)
}

#[tokio::test]
async fn a_body_of_the_greatest_length_is_decoded_through_two_codings() {
    let whole = vec![7; LIMIT_BYTES as usize];

    assert_eq!(length(decoded(gzip(&gzip(&whole).await).await, 2)).await.unwrap(), whole.len());
}

#[tokio::test]
async fn what_inflates_in_between_and_comes_to_nothing_is_refused() {
    let nothing = gzip(b"").await.repeat(1_000_000);
    let bomb = gzip(&nothing).await;
    assert!(bomb.len() < 200_000, "{}", bomb.len());

    let refused = length(decoded(bomb, 2)).await;

    assert!(matches!(refused, Err(Error::ResponseTooLarge { limit_bytes: LIMIT_BYTES })), "{refused:?}");
}

#[tokio::test]
async fn decoding_gives_way_to_other_tasks() {
    let mut body = decoded(gzip(&vec![0; LIMIT_BYTES as usize]).await, 1);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());

    let (mut pieces, mut pauses) = (0, 0);
    loop {
        match body.poll_next_unpin(&mut context) {
            Poll::Ready(Some(piece)) => pieces += piece.unwrap().len(),
            Poll::Ready(None) => break,
            Poll::Pending => pauses += 1,
        }
    }

    assert_eq!(pieces as u64, LIMIT_BYTES);
    assert!(pauses >= 15, "{pauses}");
}
