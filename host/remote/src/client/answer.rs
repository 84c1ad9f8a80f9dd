//! Turns a response that is no success into an error.

use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::error::Error;

/// Reads the error out of a response, from the server or from a proxy before it.
pub(super) async fn refusal(url: &str, response: Response) -> Error {
    let status = response.status();
    if status.is_redirection() {
        let location = response.headers().get("location").and_then(|location| location.to_str().ok());
        return Error::Moved { url: url.to_owned(), location: location.unwrap_or("an unknown place").to_owned() };
    }
    let body: Option<Value> = response.json().await.ok();
    of_body(url, status, body)
}

/// The same, of a body that came in another way.
pub(super) fn of_body(url: &str, status: StatusCode, body: Option<Value>) -> Error {
    let text = |name: &str| body.as_ref().and_then(|body| body.get(name)).and_then(Value::as_str).map(str::to_owned);
    let (Some(message), Some(code)) = (text("error"), text("code")) else {
        return Error::NotAServer { url: url.to_owned() };
    };
    if status == StatusCode::UNAUTHORIZED {
        return Error::WrongKey { url: url.to_owned() };
    }
    let details = body.and_then(|mut body| body.get_mut("details").map(Value::take)).unwrap_or_default();
    Error::Refused { status: status.as_u16(), code, message, details }
}

/// The innermost reason: `connection refused` says more than `error sending request`.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = cause.to_string();
    // Without the operating system's error number, which adds nothing to its text.
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
