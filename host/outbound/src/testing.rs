//! Servers, resolvers and dialers for tests: an internet of one loopback socket.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use admission::Permit;
use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::{Config, Error, Outbound, Request, Resolve, Response, connect::Dial};

pub(crate) type Asked = http::Request<Incoming>;
pub(crate) type Answer = http::Response<BoxBody<Bytes, io::Error>>;

/// Stops when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

/// Gives one answer after the other, then the last one for ever.
pub(crate) struct Answers(Mutex<VecDeque<Vec<IpAddr>>>);

/// Connects to one address whatever is asked for, and remembers what was.
pub(crate) struct Recorder {
    pub(crate) dialled: Mutex<Vec<SocketAddr>>,
    target: SocketAddr,
}

// === impl Server ===

impl Server {
    pub(crate) async fn start<H, F>(handler: H) -> Self
    where
        H: Fn(Asked) -> F + Clone + Send + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        Self::listen(move |stream| serve_http1(TokioIo::new(stream), handler.clone())).await
    }

    /// HTTPS. Speaks HTTP/2 when that is what ALPN chose.
    pub(crate) async fn start_tls<H, F>(config: rustls::ServerConfig, handler: H) -> Self
    where
        H: Fn(Asked) -> F + Clone + Send + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::listen(move |stream| {
            let (acceptor, handler) = (acceptor.clone(), handler.clone());
            async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let has_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let stream = TokioIo::new(stream);
                if !has_http2 {
                    return serve_http1(stream, handler).await;
                }
                let service = service_fn(move |asked| answer(handler(asked)));
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(stream, service).await;
            }
        })
        .await
    }

    /// Answers each connection with these bytes, once the head of a request is there, and closes.
    pub(crate) async fn start_raw(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::listen(move |mut stream| {
            let bytes = bytes.clone();
            async move {
                read_head(&mut stream).await;
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
            }
        })
        .await
    }

    pub(crate) async fn listen<H, F>(handler: H) -> Self
    where
        H: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counter.fetch_add(1, Ordering::SeqCst);
                open.spawn(handler(stream));
            }
        });
        Self { address, connections, _tasks: tasks }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Every host of the internet is this server.
    pub(crate) fn config(&self) -> Config {
        Config { dangerous_host_overrides: vec![format!("*={}", self.address).parse().unwrap()], ..Config::default() }
    }

    pub(crate) fn outbound(&self) -> Outbound {
        Outbound::new(self.config()).unwrap()
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Response, Error> {
        self.outbound().send(Request::get(url).unwrap()).await
    }
}

// === impl Answers ===

impl Answers {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect())))
    }
}

#[async_trait]
impl Resolve for Answers {
    async fn resolve(&self, _: &str, _: Permit) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.lock().unwrap();
        let answer = answers.pop_front().ok_or(io::ErrorKind::NotFound)?;
        if answers.is_empty() {
            answers.push_back(answer.clone());
        }
        Ok(answer)
    }
}

// === impl Recorder ===

impl Recorder {
    pub(crate) fn new(target: SocketAddr) -> Arc<Self> {
        Arc::new(Self { dialled: Mutex::default(), target })
    }

    pub(crate) fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

#[async_trait]
impl Dial for Recorder {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.dialled.lock().unwrap().push(address);
        TcpStream::connect(self.target).await
    }
}

pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let mut answer = http::Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    answer.body(Full::new(body.into()).map_err(|never| match never {}).boxed()).unwrap()
}

/// The request as text: `METHOD target`, the headers, an empty line and the body.
pub(crate) async fn echo(asked: Asked) -> Answer {
    let target = asked.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{} {target}\n", asked.method());
    for (name, value) in asked.headers() {
        text += &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()));
    }
    let body = asked.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    text += &format!("\n{}", String::from_utf8_lossy(&body));
    reply(200, &[], text)
}

pub(crate) async fn text(response: Response) -> String {
    String::from_utf8(response.body.collect(1 << 20).await.unwrap().to_vec()).unwrap()
}

pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

pub(crate) fn code<T>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => error.code(),
    }
}

async fn serve_http1<S, H, F>(stream: S, handler: H)
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    H: Fn(Asked) -> F + Send + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let service = service_fn(move |asked| answer(handler(asked)));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await;
}

async fn answer(answer: impl Future<Output = Answer>) -> Result<Answer, Infallible> {
    Ok(answer.await)
}
