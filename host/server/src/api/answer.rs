//! Envelopes: `{data}`, `{page_info, data}`, `{data, unreadable}`, or nothing.

use bytes::Bytes;
use domain::addresses::Addresses;
use domain::fields::FieldSelection;
use hyper::header::{CONTENT_TYPE, HeaderValue, SET_COOKIE};
use hyper::{Response, StatusCode};
use platform::paging::{Listed, PageOf};
use serde::Serialize;
use serde_json::{Value, json};

use crate::body::{Body, empty, full};

/// What a use case answers with.
pub(crate) enum Answer {
    Data {
        status: StatusCode,
        data: Value,
    },
    Page {
        page_info: Value,
        data: Value,
    },
    /// All at once.
    List {
        data: Value,
        unreadable: Vec<String>,
    },
    Empty(StatusCode),
    /// With a cookie to keep, or to forget.
    Cookie {
        cookie: HeaderValue,
        answer: Box<Answer>,
    },
    /// Something that is not JSON of ours: a page, metrics, the OpenAPI document.
    Text {
        status: StatusCode,
        content_type: &'static str,
        text: Bytes,
    },
}

// === impl Answer ===

impl Answer {
    pub(crate) fn data(data: impl Serialize) -> Self {
        Self::Data { status: StatusCode::OK, data: json!(data) }
    }

    pub(crate) fn page<Item: Serialize>(page: &PageOf<Item>) -> Self {
        Self::Page { page_info: json!(page.info), data: json!(page.items) }
    }

    pub(crate) fn list<Item: Serialize>(listed: Listed<Item>) -> Self {
        Self::List { data: json!(listed.items), unreadable: listed.unreadable }
    }

    pub(crate) fn accepted() -> Self {
        Self::Empty(StatusCode::ACCEPTED)
    }

    pub(crate) fn no_content() -> Self {
        Self::Empty(StatusCode::NO_CONTENT)
    }

    pub(crate) fn text(content_type: &'static str, text: impl Into<Bytes>) -> Self {
        Self::Text { status: StatusCode::OK, content_type, text: text.into() }
    }

    pub(crate) fn with_cookie(self, cookie: Option<HeaderValue>) -> Self {
        match cookie {
            Some(cookie) => Self::Cookie { cookie, answer: Box::new(self) },
            None => self,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Data { status, .. } | Self::Empty(status) | Self::Text { status, .. } => *status,
            Self::Page { .. } | Self::List { .. } => StatusCode::OK,
            Self::Cookie { answer, .. } => answer.status(),
        }
    }

    /// The id of the resource in the answer, for the audit log.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Self::Data { data, .. } => data.get("id").and_then(Value::as_str),
            Self::Cookie { answer, .. } => answer.id(),
            _ => None,
        }
    }

    /// For a caller who sees no addresses of endpoints.
    pub(crate) fn without(self, addresses: &Addresses<'_>) -> Self {
        let hide = |mut value: Value| {
            addresses.hide(&mut value);
            value
        };
        match self {
            Self::Data { status, data } => Self::Data { status, data: hide(data) },
            Self::Page { page_info, data } => {
                let page_info = without_cursors_that_differ(hide(page_info.clone()), &page_info);
                Self::Page { page_info, data: hide(data) }
            }
            Self::List { data, unreadable } => Self::List { data: hide(data), unreadable },
            Self::Cookie { cookie, answer } => Self::Cookie { cookie, answer: Box::new(answer.without(addresses)) },
            other @ (Self::Empty(_) | Self::Text { .. }) => other,
        }
    }

    /// `include` and `exclude` select fields of `data`.
    pub(crate) fn into_response(self, fields: &FieldSelection) -> Response<Body> {
        match self {
            Self::Data { status, mut data } => {
                fields.apply(&mut data);
                json_response(status, &json!({"data": data}))
            }
            Self::Page { page_info, mut data } => {
                fields.apply(&mut data);
                json_response(StatusCode::OK, &json!({"page_info": page_info, "data": data}))
            }
            Self::List { mut data, unreadable } => {
                fields.apply(&mut data);
                let mut envelope = json!({"data": data});
                if let (false, Some(envelope)) = (unreadable.is_empty(), envelope.as_object_mut()) {
                    envelope.insert("unreadable".to_owned(), json!(unreadable));
                }
                json_response(StatusCode::OK, &envelope)
            }
            Self::Cookie { cookie, answer } => {
                let mut response = answer.into_response(fields);
                response.headers_mut().append(SET_COOKIE, cookie);
                response
            }
            Self::Empty(status) => {
                let mut response = Response::new(empty());
                *response.status_mut() = status;
                response
            }
            Self::Text { status, content_type, text } => {
                let mut response = Response::new(full(text));
                *response.status_mut() = status;
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                response
            }
        }
    }
}

/// A cursor may be a key that a component chose. One that is not whole would lead to the wrong page: the list ends here.
fn without_cursors_that_differ(mut shown: Value, page_info: &Value) -> Value {
    for name in ["start_cursor", "end_cursor"] {
        if let Some(cursor) = shown.get_mut(name).filter(|cursor| Some(&**cursor) != page_info.get(name)) {
            *cursor = Value::Null;
        }
    }
    shown
}

pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(full(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
