//! Answers of hostile components, on one connection that stays open: each reaches its own request, whole and alone.

use rig::client::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::World;

/// Answers with what the query says.
const AS_TOLD: &str = "run(event) { this.http.respond(JSON.parse(event.query.answer)); }";

const HEADERS: [&str; 18] = [
    r#"{}"#,
    r#"{"content-length": "0"}"#,
    r#"{"Content-Length": "1"}"#,
    r#"{"CONTENT-LENGTH": ["1", "2"]}"#,
    r#"{"content-length": "99999"}"#,
    r#"{"content-length": "-1"}"#,
    r#"{"transfer-encoding": "chunked"}"#,
    r#"{"Transfer-Encoding": ["identity", "chunked"], "content-length": "3"}"#,
    r#"{"transfer-encoding": "gzip, chunked", "trailer": "x-end"}"#,
    r#"{"connection": "close"}"#,
    r#"{"connection": "upgrade", "upgrade": "websocket"}"#,
    r#"{"Connection": "content-type, content-length", "Keep-Alive": "timeout=0"}"#,
    r#"{"proxy-connection": "close", "proxy-authenticate": "Basic", "te": "trailers"}"#,
    r#"{"set-cookie": "a=1", "strict-transport-security": "max-age=1", "x-request-id": "mine"}"#,
    r#"{"x": "a\r\ncontent-length: 0"}"#,
    r#"{"x\r\ncontent-length": "0"}"#,
    r#"{"content-length ": "0"}"#,
    r#"{"x": "\u0000"}"#,
];

const STATUSES: [u16; 12] = [100, 101, 103, 199, 200, 204, 205, 206, 304, 407, 426, 599];

const BODIES: [&str; 3] = ["", "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled", "0\r\n\r\n"];

/// Headers that are the server's to say, or that count for its whole origin.
const NEVER_A_COMPONENTS: [&str; 11] = [
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "trailer",
    "te",
    "proxy-connection",
    "proxy-authenticate",
    "set-cookie",
    "strict-transport-security",
    "x",
];

/// A client that reads what an answer's head says and not a byte more.
struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

// === impl Connection ===

impl Connection {
    async fn open(client: &Client) -> Self {
        let address = client.at("").trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { stream: TcpStream::connect(address).await.unwrap(), unread: Vec::new() }
    }

    async fn ask(&mut self, method: &str, path: &str) -> Answer {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let end = loop {
            if let Some(end) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            self.more().await;
        };
        let head: Vec<u8> = self.unread.drain(..end + 4).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers: Vec<(String, String)> = lines.filter_map(pair).collect();
        let lengths: Vec<&(String, String)> = headers.iter().filter(|(name, _)| name == "content-length").collect();
        assert!(lengths.len() <= 1, "{head}");
        let has_body = method != "HEAD" && status != 204 && status != 304;
        let length = lengths.first().filter(|_| has_body).map_or(0, |(_, length)| length.parse().unwrap());
        while self.unread.len() < length {
            self.more().await;
        }
        let body = String::from_utf8(self.unread.drain(..length).collect()).unwrap();
        assert!(self.unread.is_empty(), "bytes after the answer: {:?}", String::from_utf8_lossy(&self.unread));
        Answer { status, headers, body }
    }

    async fn more(&mut self) {
        let read = self.stream.read_buf(&mut self.unread).await.unwrap();
        assert!(read > 0, "the connection stays open");
    }
}

fn encoded(answer: &Value) -> String {
    answer.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// What is wrong with an answer.
fn check(answer: &Answer, method: &str, status: u16, body: &str) {
    let has = |name: &str| answer.headers.iter().any(|(found, _)| found == name);
    for name in NEVER_A_COMPONENTS {
        assert!(!has(name), "{name} in {answer:?}");
    }
    let is_final = status >= 200;
    // A header that is none is the component's mistake: its run fails before it has answered.
    let is_refused = answer.status == 500 && (method == "HEAD" || answer.body.contains("no_response"));
    if !is_final || is_refused {
        assert_eq!(answer.status, 500, "{answer:?}");
        return;
    }
    let has_body = method != "HEAD" && ![204, 205, 304].contains(&status);
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.body, if has_body { body } else { "" }, "{answer:?}");
    assert!(answer.headers.contains(&("content-security-policy".to_owned(), "sandbox".to_owned())), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_answers_each_reach_their_own_request() {
    let world = World::on_sqlite().await;
    let source = world.deploy("http: {type: '$.interface.http', customResponse: true}", AS_TOLD).await;
    let path = &source.endpoint[source.endpoint.find("/e/").unwrap()..];
    let mut connection = Connection::open(&world.client).await;
    let mut asked = 0;

    for headers in HEADERS {
        for (status, body) in STATUSES.iter().flat_map(|status| BODIES.map(|body| (*status, body))) {
            asked += 1;
            let method = ["GET", "POST", "HEAD"][asked % 3];
            let headers: Value = serde_json::from_str(headers).unwrap();
            // The number tells answers apart.
            let body = if body.is_empty() { String::new() } else { format!("{body}{asked}") };
            let answer = json!({"status": status, "headers": headers, "body": body});

            let answer = connection.ask(method, &format!("{path}?answer={}", encoded(&answer))).await;

            check(&answer, method, status, &body);
        }
    }

    let healthy = json!({"status": 200, "body": "healthy"});
    let healthy = connection.ask("GET", &format!("{path}?answer={}", encoded(&healthy))).await;
    assert_eq!((healthy.status, healthy.body.as_str()), (200, "healthy"));
}
