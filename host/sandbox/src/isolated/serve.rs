//! One run in a worker, as the host sees it: answers what the run asks for, until it is over.
//!
//! Everything is done by the task that waits for the run: dropped, it takes all requests under way with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;

use super::codec::Malformed;
use super::connection::Conversation;
use super::outbox::Outbox;
use super::protocol::{RequestHead, ResponseHead, WorkerMessage, to_worker, write_fetch_error, write_writes};
use super::tally::Tally;
use crate::limits::Limits;
use crate::outcome::{LogLine, Outcome, Write};
use crate::sandbox::Error;
use crate::services::{FetchBody, FetchError, FetchRequest, FetchRequestBody, FetchResponse, ServiceError, Services};

/// Waits for the outcome of a run that has begun.
pub(super) async fn serve(
    mut conversation: Conversation,
    limits: Limits,
    services: Arc<dyn Services>,
) -> Result<Outcome, Error> {
    let mut run = Served::new(&conversation, limits, services);
    loop {
        // Both are cancel-safe: a frame is taken when it is returned, and a stream of futures keeps what it has not given.
        let next = tokio::select! {
            biased;
            frame = conversation.next() => frame.map_err(Error::Worker)?,
            Some(event) = run.pending.next() => {
                run.tell(event)?;
                continue;
            }
        };
        let taken = next.said(&limits).and_then(|said| run.take(said));
        match taken {
            Ok(Taken::Asked) => {}
            Ok(Taken::Over(over)) => {
                conversation.finish();
                return *over;
            }
            Err(malformed) => {
                let why = super::connection::Ended::Malformed(malformed);
                conversation.connection.end(&why);
                return Err(Error::Worker(why));
            }
        }
    }
}

struct Served {
    services: Arc<dyn Services>,
    tally: Tally,
    outbox: Outbox,
    run: u64,
    began: Instant,
    began_ms: u64,
    logs: Vec<LogLine>,
    /// The guest waits for an answer, so it cannot ask again.
    is_asking: bool,
    last_request: u32,
    fetches: HashMap<u32, Fetch>,
    pending: FuturesUnordered<BoxFuture<'static, Event>>,
}

/// A request under way. One that is forgotten here is not told of any more.
#[derive(Default)]
struct Fetch {
    upload: Option<mpsc::Sender<Bytes>>,
    body: Option<FetchBody>,
    /// Of what is waited for.
    abort: Option<AbortHandle>,
}

enum Event {
    Value(Result<Option<String>, ServiceError>),
    Kept(Result<Vec<Write>, ServiceError>),
    Head(u32, Result<FetchResponse, FetchError>),
    Chunk(u32, Option<Result<Bytes, FetchError>>, FetchBody),
    Taken(u32),
    Stopped,
}

enum Taken {
    Asked,
    Over(Box<Result<Outcome, Error>>),
}

// === impl Served ===

impl Served {
    #[expect(clippy::disallowed_methods, reason = "measures the run")]
    fn new(conversation: &Conversation, limits: Limits, services: Arc<dyn Services>) -> Self {
        let began_ms = services.now_ms() as u64;
        Self {
            services,
            tally: Tally::new(limits),
            outbox: conversation.connection.outbox.clone(),
            run: conversation.run,
            began: Instant::now(),
            began_ms,
            logs: Vec::new(),
            is_asking: false,
            last_request: 0,
            fetches: HashMap::new(),
            pending: FuturesUnordered::new(),
        }
    }

    fn take(&mut self, said: WorkerMessage) -> Result<Taken, Malformed> {
        match said {
            WorkerMessage::DbGet { key } => {
                self.tally.key(&key)?;
                let services = self.services.clone();
                self.ask(async move { Event::Value(services.db_get(&key).await) }.boxed())?;
            }
            WorkerMessage::BeforeRequest { writes } => {
                self.tally.writes(&writes)?;
                let services = self.services.clone();
                self.ask(async move { Event::Kept(services.before_request(writes).await) }.boxed())?;
            }
            WorkerMessage::Credentials { prop } => {
                let services = self.services.clone();
                self.ask(async move { Event::Value(Ok(services.credentials(&prop).await)) }.boxed())?;
            }
            WorkerMessage::Reply(reply) => {
                self.tally.reply(&reply)?;
                self.services.reply(reply);
            }
            WorkerMessage::Log(line) => self.log(line)?,
            WorkerMessage::Fetch(head) => self.fetch(*head)?,
            WorkerMessage::Upload { request, chunk } => self.upload(request, chunk)?,
            WorkerMessage::Uploaded { request } => {
                if let Some(fetch) = self.fetches.get_mut(&request) {
                    fetch.upload = None;
                }
            }
            WorkerMessage::Read { request } => self.read(request),
            WorkerMessage::StopFetch { request } => {
                if let Some(abort) = self.fetches.remove(&request).and_then(|fetch| fetch.abort) {
                    abort.abort();
                }
            }
            WorkerMessage::Done(outcome) => {
                return self.done(*outcome).map(|outcome| Taken::Over(Box::new(Ok(outcome))));
            }
            WorkerMessage::Failed { reason } => return Ok(Taken::Over(Box::new(Err(Error::InWorker { reason })))),
        }
        Ok(Taken::Asked)
    }

    fn ask(&mut self, answer: BoxFuture<'static, Event>) -> Result<(), Malformed> {
        if std::mem::replace(&mut self.is_asking, true) {
            return Err(Malformed("a question before the last was answered"));
        }
        self.pending.push(answer);
        Ok(())
    }

    fn log(&mut self, mut line: LogLine) -> Result<(), Malformed> {
        self.tally.log(&line)?;
        line.at_ms = line.at_ms.clamp(self.began_ms, self.began_ms.max(self.services.now_ms() as u64));
        self.services.observe(&line);
        self.logs.push(line);
        Ok(())
    }

    fn fetch(&mut self, head: RequestHead) -> Result<(), Malformed> {
        let RequestHead { request, method, url, headers, redirect, decompress, timeout_ms, body } = head;
        self.tally.request(body.as_ref().map_or(0, Bytes::len))?;
        if request <= self.last_request {
            return Err(Malformed("a request with the number of another"));
        }
        self.last_request = request;
        let (upload, body) = match body {
            Some(body) => (None, FetchRequestBody::Whole(body)),
            None => {
                let (sender, receiver) = mpsc::channel(1);
                (Some(sender), FetchRequestBody::Stream(receiver))
            }
        };
        self.fetches.insert(request, Fetch { upload, ..Fetch::default() });
        let services = self.services.clone();
        let sent = FetchRequest { method, url, headers, redirect, decompress, timeout_ms, body };
        self.wait_for(request, async move { Event::Head(request, services.fetch(sent).await) });
        Ok(())
    }

    fn upload(&mut self, request: u32, chunk: Bytes) -> Result<(), Malformed> {
        self.tally.sent(chunk.len())?;
        let upload = self.fetches.get_mut(&request).and_then(|fetch| fetch.upload.clone());
        let sending = async move {
            if let Some(upload) = upload {
                // A receiver that is gone stopped reading; the response says why.
                let _ = upload.send(chunk).await;
            }
            Event::Taken(request)
        };
        self.pending.push(sending.boxed());
        Ok(())
    }

    fn read(&mut self, request: u32) {
        if !self.tally.may_receive() {
            return;
        }
        let Some(mut body) = self.fetches.get_mut(&request).and_then(|fetch| fetch.body.take()) else { return };
        self.wait_for(request, async move { Event::Chunk(request, body.next().await, body) });
    }

    /// Waits for the next of a request, unless it is stopped.
    fn wait_for(&mut self, request: u32, event: impl Future<Output = Event> + Send + 'static) {
        let (abort, registration) = AbortHandle::new_pair();
        if let Some(fetch) = self.fetches.get_mut(&request) {
            fetch.abort = Some(abort);
        }
        let event = Abortable::new(event, registration).map(|event| event.unwrap_or(Event::Stopped));
        self.pending.push(event.boxed());
    }

    fn done(&mut self, mut outcome: Outcome) -> Result<Outcome, Malformed> {
        self.tally.outcome(&outcome)?;
        outcome.usage = self.tally.usage(outcome.usage, self.began.elapsed());
        outcome.logs = std::mem::take(&mut self.logs);
        outcome.has_replied = self.tally.has_replied();
        Ok(outcome)
    }

    /// Tells the worker what happened. The host's own failure ends the run.
    fn tell(&mut self, event: Event) -> Result<(), Error> {
        let (outbox, run) = (&self.outbox, self.run);
        match event {
            Event::Value(value) => {
                self.is_asking = false;
                let value = value.map_err(Error::Service)?;
                outbox.add(to_worker::VALUE, run, |to| to.option(value.as_deref(), super::codec::Encoder::text));
            }
            Event::Kept(kept) => {
                self.is_asking = false;
                let kept = kept.map_err(Error::Service)?;
                self.tally.kept(&kept);
                outbox.add(to_worker::KEPT, run, |to| write_writes(to, kept.iter()));
            }
            Event::Head(request, head) => self.tell_head(request, head),
            Event::Chunk(request, chunk, body) => self.tell_chunk(request, chunk, body),
            Event::Stopped => return Ok(()),
            Event::Taken(request) => {
                outbox.add(to_worker::TAKEN, run, |to| to.u32(request));
            }
        }
        self.outbox.flush();
        Ok(())
    }

    fn tell_head(&mut self, request: u32, head: Result<FetchResponse, FetchError>) {
        let Some(fetch) = self.fetches.get_mut(&request) else { return };
        let head = head.map(|FetchResponse { status, status_text, headers, url, redirected, body }| {
            fetch.body = Some(body);
            ResponseHead { status, status_text, headers, url, redirected }
        });
        self.outbox.add(to_worker::HEAD, self.run, |to| {
            to.u32(request);
            to.flag(head.is_ok());
            match &head {
                Ok(head) => head.write(to),
                Err(error) => write_fetch_error(to, error),
            }
        });
    }

    fn tell_chunk(&mut self, request: u32, chunk: Option<Result<Bytes, FetchError>>, body: FetchBody) {
        let Some(fetch) = self.fetches.get_mut(&request) else { return };
        if let Some(Ok(bytes)) = &chunk {
            self.tally.received(bytes.len());
            fetch.body = Some(body);
        }
        self.outbox.add(to_worker::CHUNK, self.run, |to| {
            to.u32(request);
            to.option(chunk, |to, chunk| {
                to.flag(chunk.is_ok());
                match &chunk {
                    Ok(bytes) => to.bytes(bytes),
                    Err(error) => write_fetch_error(to, error),
                }
            });
        });
    }
}
