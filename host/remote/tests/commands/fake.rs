//! A server that answers from a table and remembers what it was asked.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(crate) const KEY: &str = "ws_test_0123456789abcdef";

/// Listens until the test ends.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// By `METHOD /path`; a list is used up from its front, and its last answer stays.
    answers: HashMap<String, Vec<Answer>>,
    seen: Vec<Seen>,
}

#[derive(Clone)]
enum Answer {
    Json(u16, Value),
    Text(u16, &'static str, String),
    /// Server-sent events; the stream then ends, or stays open.
    Events {
        events: Vec<Value>,
        is_open: bool,
    },
    Redirect(&'static str),
}

/// What a client sent.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) query: String,
    pub(crate) body: Value,
    pub(crate) last_event_id: Option<String>,
}

// === impl Fake ===

impl Fake {
    /// With nothing but the API's description and the user.
    pub(crate) fn empty() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (sender, receiver) = std::sync::mpsc::channel();
        let served = state.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(&sender, served));
        });
        let fake = Self { address: receiver.recv().unwrap(), state };
        let version = env!("CARGO_PKG_VERSION");
        let document = json!({"info": {"title": "Wellspring", "version": version}});
        fake.push("GET /v1/openapi.json", Answer::Json(200, document));
        fake.data("GET /v1/users/me", json!({"id": "u_Ab12Cd34Ef56", "username": "ada", "email": "ada@example.com"}));
        fake
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn data(&self, line: &str, data: Value) {
        self.push(line, Answer::Json(200, json!({"data": data})));
    }

    pub(crate) fn page(&self, line: &str, items: &[Value]) {
        let info = json!({"total_count": items.len(), "count": items.len(), "start_cursor": null, "end_cursor": null});
        self.push(line, Answer::Json(200, json!({"page_info": info, "data": items})));
    }

    pub(crate) fn json(&self, line: &str, status: u16, body: Value) {
        self.push(line, Answer::Json(status, body));
    }

    pub(crate) fn refuse(&self, line: &str, status: u16, code: &str, message: &str) {
        self.push(line, Answer::Json(status, json!({"error": message, "code": code})));
    }

    pub(crate) fn text(&self, line: &str, status: u16, content_type: &'static str, text: &str) {
        self.push(line, Answer::Text(status, content_type, text.to_owned()));
    }

    /// Events of a source, or `{named, data}` for others.
    pub(crate) fn events(&self, line: &str, events: Vec<Value>, is_open: bool) {
        self.push(line, Answer::Events { events, is_open });
    }

    pub(crate) fn redirect(&self, line: &str, location: &'static str) {
        self.push(line, Answer::Redirect(location));
    }

    /// Forgets what was to be answered.
    pub(crate) fn forget(&self, line: &str) {
        self.state.lock().unwrap().answers.remove(line);
    }

    pub(crate) fn seen(&self, line: &str) -> Vec<Seen> {
        let state = self.state.lock().unwrap();
        state.seen.iter().filter(|seen| seen.line == line).cloned().collect()
    }

    pub(crate) fn changes(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.seen.iter().filter(|seen| !seen.line.starts_with("GET")).map(|seen| seen.line.clone()).collect()
    }

    fn push(&self, line: &str, answer: Answer) {
        self.state.lock().unwrap().answers.entry(line.to_owned()).or_default().push(answer);
    }
}

async fn serve(sender: &std::sync::mpsc::Sender<SocketAddr>, state: Arc<Mutex<State>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    sender.send(listener.local_addr().unwrap()).unwrap();
    loop {
        let (connection, _) = listener.accept().await.unwrap();
        let state = state.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, state.clone()));
            // The client may hang up whenever it likes.
            let _ =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}

async fn answer(request: Request<Incoming>, state: Arc<Mutex<State>>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let line = format!("{} {}", head.method, head.uri.path());
    let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let bytes = body.collect().await.unwrap().to_bytes();
    let seen = Seen {
        line: line.clone(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
        last_event_id: header("last-event-id"),
    };
    let is_known = header("authorization").as_deref() == Some(&format!("Bearer {KEY}"));
    let mut state = state.lock().unwrap();
    state.seen.push(seen);
    if !is_known && line != "GET /v1/openapi.json" {
        return Ok(json_answer(401, &json!({"error": "this needs a valid API key", "code": "unauthenticated"})));
    }
    let chosen = match state.answers.get_mut(&line) {
        Some(answers) if answers.len() > 1 => Some(answers.remove(0)),
        Some(answers) => answers.first().cloned(),
        None => None,
    };
    Ok(match chosen {
        Some(Answer::Json(status, body)) => json_answer(status, &body),
        Some(Answer::Text(status, content_type, text)) => text_answer(status, content_type, text),
        Some(Answer::Events { events, is_open }) => stream_answer(&events, is_open),
        Some(Answer::Redirect(location)) => {
            let mut response = text_answer(308, "text/plain", String::new());
            response.headers_mut().insert("location", location.parse().unwrap());
            response
        }
        None => json_answer(404, &json!({"error": "there is nothing at this path", "code": "thing_not_found"})),
    })
}

fn json_answer(status: u16, body: &Value) -> Response<Body> {
    text_answer(status, "application/json", body.to_string())
}

fn text_answer(status: u16, content_type: &str, text: String) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(Full::new(Bytes::from(text)).boxed_unsync()).unwrap()
}

fn stream_answer(events: &[Value], is_open: bool) -> Response<Body> {
    let text = events.iter().map(|event| match (event["named"].as_str(), event["begins_at"].as_str()) {
        (Some(name), _) => format!("event: {name}\ndata: {}\n\n", event["data"]),
        (_, Some(id)) => format!(":sse-handshake\nid: {id}\n\n"),
        _ => format!("id: {}\ndata: {event}\n\n", event["id"].as_str().unwrap()),
    });
    let text = format!(":sse-handshake\n\n{}", text.collect::<String>());
    let first = stream::iter([Ok(Frame::data(Bytes::from(text)))]);
    let body = match is_open {
        true => StreamBody::new(first.chain(stream::pending()).boxed()).boxed_unsync(),
        false => StreamBody::new(first.boxed()).boxed_unsync(),
    };
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}
