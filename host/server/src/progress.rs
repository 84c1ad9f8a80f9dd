//! A deploy that is followed: with `accept: text/event-stream`, a request that changes something is answered with what
//! happens meanwhile and, last, with the answer it would have got.
//!
//! ```text
//! event: progress
//! data: {"stage":"downloading","packages":12,"of":30,"bytes":481213}
//!
//! event: answer
//! data: {"status":200,"body":{"data":{…}}}
//! ```

use std::sync::Arc;

use bytes::Bytes;
use domain::fields::FieldSelection;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::HeaderName;
use hyper::{HeaderMap, Response};
use platform::Error;
use platform::ports::progress;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::api::Answer;
use crate::app::App;
use crate::body::{Body, BoxError};

/// Reports that wait for their reader; more are dropped, since the next one says all that they said.
const AHEAD: usize = 16;
const EVENT_STREAM: &str = "text/event-stream";

pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|kind| kind.split(';').next().unwrap_or_default().trim() == EVENT_STREAM)
}

/// The work goes on when its reader goes away, as it does without one.
pub(crate) fn follow(
    app: &Arc<App>,
    work: BoxFuture<'static, Result<Answer, Error>>,
    fields: FieldSelection,
) -> Response<Body> {
    let (sender, receiver) = mpsc::channel::<Bytes>(AHEAD);
    let reports = sender.clone();
    let listener: progress::Listener = Arc::new(move |found| {
        // Full or closed: see AHEAD.
        let _ = reports.try_send(event("progress", &json!(found)));
    });
    let answering = app.clone();
    app.tasks.spawn(async move {
        let response = match progress::listen(listener, work).await {
            Ok(answer) => answer.into_response(&fields),
            Err(error) => answering.refuse_error(error),
        };
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        // A reader that is gone wants no answer.
        let _ = sender.send(event("answer", &json!({"status": status, "body": body}))).await;
    });
    let chunks = stream::unfold(receiver, |mut receiver| async move {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, BoxError>(Frame::data(chunk)), receiver))
    });
    let mut response = Response::new(StreamBody::new(chunks).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
