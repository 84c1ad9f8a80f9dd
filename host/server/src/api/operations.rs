//! Health, metrics, and the API's own description.

use hyper::StatusCode;
use platform::Error;

use super::{Answer, Context};
use crate::metrics::CONTENT_TYPE;

/// The process is alive.
pub(crate) async fn healthz(_context: Context) -> Result<Answer, Error> {
    Ok(Answer::text("text/plain; charset=utf-8", "ok\n"))
}

/// The process can be sent work: its store answers, and it is not about to go.
pub(crate) async fn readyz(context: Context) -> Result<Answer, Error> {
    let (status, text) = match context.app.why_unready().await {
        None => (StatusCode::OK, "ready\n".to_owned()),
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")),
    };
    Ok(Answer::Text { status, content_type: "text/plain; charset=utf-8", text: text.into() })
}

pub(crate) async fn metrics(context: Context) -> Result<Answer, Error> {
    let of_the_platform = context.app.platform().families().await;
    Ok(Answer::text(CONTENT_TYPE, context.app.metrics().render(of_the_platform)))
}

pub(crate) async fn openapi(context: Context) -> Result<Answer, Error> {
    Ok(Answer::text("application/json", context.app.openapi.clone()))
}

pub(crate) async fn docs(context: Context) -> Result<Answer, Error> {
    Ok(Answer::text("text/html; charset=utf-8", context.app.docs.clone()))
}
