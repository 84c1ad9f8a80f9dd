//! A run's services as the worker has them: the host's, behind the socket. Clock and randomness are here.
//!
//! Frames are only added to the outbox; whatever polls the run sends them when the run waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::isolated::codec::{Decoder, Encoder, Malformed};
use crate::isolated::outbox::Outbox;
use crate::isolated::protocol::{
    Frame, RequestHead, ResponseHead, read_fetch_error, read_writes, to_host, to_worker, write_log, write_reply,
    write_writes,
};
use crate::outcome::{LogLine, Write};
use crate::services::{
    FetchBody, FetchError, FetchRequest, FetchRequestBody, FetchResponse, Reply, ServiceError, Services,
};

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Remote {
    shared: Arc<Shared>,
}

struct Shared {
    outbox: Outbox,
    run: u64,
    began: Instant,
    /// The host's time when the run began.
    began_ms: f64,
    waiting: Mutex<Waiting>,
}

type Head = Result<ResponseHead, FetchError>;
type Chunk = Option<Result<Bytes, FetchError>>;

/// What is waited for. The guest asks for one value at a time.
#[derive(Default)]
struct Waiting {
    value: Option<oneshot::Sender<Option<String>>>,
    kept: Option<oneshot::Sender<Vec<Write>>>,
    last_request: u32,
    heads: HashMap<u32, oneshot::Sender<Head>>,
    chunks: HashMap<u32, oneshot::Sender<Chunk>>,
    taken: HashMap<u32, oneshot::Sender<()>>,
}

/// Tells the host to stop a request that is dropped before its end.
struct Request {
    remote: Remote,
    number: u32,
    is_over: bool,
    /// Sends the body of the request, for as long as the request lives.
    _upload: Option<AbortOnDropHandle<()>>,
}

// === impl Remote ===

impl Remote {
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock of a worker process runs on from what the host sent; its tasks end with the connection"
    )]
    pub(super) fn new(outbox: Outbox, run: u64, began_ms: f64) -> Self {
        let shared = Shared { outbox, run, began: Instant::now(), began_ms, waiting: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Passes on what the host answered.
    pub(super) fn take(&self, frame: &Frame) -> Result<(), Malformed> {
        let mut from = frame.reader();
        let mut waiting = self.lock();
        // What does not wait any more has been dropped in the meantime, and its answer with it.
        match frame.kind {
            to_worker::VALUE => pass(waiting.value.take(), from.option(Decoder::text)?),
            to_worker::KEPT => pass(waiting.kept.take(), read_writes(&mut from)?),
            to_worker::HEAD => {
                let sender = waiting.heads.remove(&from.u32()?);
                let is_ok = from.flag()?;
                pass(
                    sender,
                    if is_ok { Ok(ResponseHead::read(&mut from)?) } else { Err(read_fetch_error(&mut from)?) },
                );
            }
            to_worker::CHUNK => {
                let sender = waiting.chunks.remove(&from.u32()?);
                let chunk =
                    from.option(|from| Ok(if from.flag()? { Ok(from.bytes()?) } else { Err(read_fetch_error(from)?) }));
                pass(sender, chunk?);
            }
            to_worker::TAKEN => pass(waiting.taken.remove(&from.u32()?), ()),
            _ => return Err(Malformed("an answer of an unknown kind")),
        }
        Ok(())
    }

    /// Waits for a value that `kind` asks for.
    async fn ask(&self, kind: u8, text: &str) -> Result<Option<String>, ServiceError> {
        let (sender, value) = oneshot::channel();
        self.lock().value = Some(sender);
        self.add(kind, |to| to.text(text));
        value.await.map_err(|gone| ServiceError(gone.into()))
    }

    /// Sends a body piece by piece, each when the last one was taken.
    async fn upload(self, request: u32, mut chunks: mpsc::Receiver<Bytes>) {
        while let Some(chunk) = chunks.recv().await {
            let (sender, taken) = oneshot::channel();
            self.lock().taken.insert(request, sender);
            self.add(to_host::UPLOAD, |to| {
                to.u32(request);
                to.bytes(&chunk);
            });
            self.shared.outbox.flush();
            if taken.await.is_err() {
                return;
            }
        }
        self.add(to_host::UPLOADED, |to| to.u32(request));
        self.shared.outbox.flush();
    }

    fn add(&self, kind: u8, write: impl FnOnce(&mut Encoder<'_>)) -> bool {
        self.shared.outbox.add(kind, self.shared.run, write)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pass<T>(to: Option<oneshot::Sender<T>>, value: T) {
    if let Some(to) = to {
        // As above.
        let _ = to.send(value);
    }
}

#[async_trait]
impl Services for Remote {
    fn now_ms(&self) -> f64 {
        self.shared.began_ms + self.shared.began.elapsed().as_secs_f64() * 1000.0
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            // Zeros would be taken for randomness. Without any there is nothing that this process can do.
            tracing::error!(%error, "the system has no randomness");
            std::process::abort();
        }
    }

    async fn db_get(&self, key: &str) -> Result<Option<String>, ServiceError> {
        self.ask(to_host::DB_GET, key).await
    }

    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        let (sender, kept) = oneshot::channel();
        self.lock().kept = Some(sender);
        self.add(to_host::BEFORE_REQUEST, |to| write_writes(to, writes.iter()));
        kept.await.map_err(|gone| ServiceError(gone.into()))
    }

    async fn credentials(&self, prop: &str) -> Option<String> {
        // Only a host that is gone does not answer, and then this process ends.
        self.ask(to_host::CREDENTIALS, prop).await.ok().flatten()
    }

    fn reply(&self, reply: Reply) {
        self.add(to_host::REPLY, |to| write_reply(to, &reply));
    }

    fn observe(&self, line: &LogLine) {
        self.add(to_host::LOG, |to| write_log(to, line));
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the clock of a worker process runs on from what the host sent; its tasks end with the connection"
    )]
    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let FetchRequest { method, url, headers, redirect, decompress, timeout_ms, body } = request;
        let (body, chunks) = match body {
            FetchRequestBody::Whole(body) => (Some(body), None),
            FetchRequestBody::Stream(chunks) => (None, Some(chunks)),
        };
        let (sender, head) = oneshot::channel();
        let number = {
            let mut waiting = self.lock();
            waiting.last_request += 1;
            let number = waiting.last_request;
            waiting.heads.insert(number, sender);
            number
        };
        let sent = RequestHead { request: number, method, url, headers, redirect, decompress, timeout_ms, body };
        if !self.add(to_host::FETCH, |to| sent.write(to)) {
            return Err(failed("the request is too large"));
        }
        let upload = chunks.map(|chunks| AbortOnDropHandle::new(tokio::spawn(self.clone().upload(number, chunks))));
        let request = Request { remote: self.clone(), number, is_over: false, _upload: upload };
        let head = head.await.map_err(|_| failed("the host is gone"))??;
        let ResponseHead { status, status_text, headers, url, redirected } = head;
        Ok(FetchResponse { status, status_text, headers, url, redirected, body: request.body() })
    }
}

fn failed(message: &str) -> FetchError {
    FetchError { code: "failed".into(), message: message.into() }
}

// === impl Request ===

impl Request {
    /// The response's body, asked for piece by piece.
    fn body(self) -> FetchBody {
        futures_util::stream::unfold(self, |mut request| async move {
            if request.is_over {
                return None;
            }
            let chunk = request.next().await;
            request.is_over = !matches!(chunk, Some(Ok(_)));
            Some((chunk?, request))
        })
        .boxed()
    }

    async fn next(&self) -> Chunk {
        let (sender, chunk) = oneshot::channel();
        self.remote.lock().chunks.insert(self.number, sender);
        self.remote.add(to_host::READ, |to| to.u32(self.number));
        chunk.await.unwrap_or_else(|_| Some(Err(failed("the host is gone"))))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut waiting = self.remote.lock();
        waiting.heads.remove(&self.number);
        waiting.chunks.remove(&self.number);
        drop(waiting);
        if !self.is_over {
            self.remote.add(to_host::STOP_FETCH, |to| to.u32(self.number));
        }
    }
}
