//! `wit/fetch.wit`
//!
//! Requests make progress while their run waits in `park`, and nowhere else: no task outlives its run.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::abi::{self, ReturnArea, Slice};
use super::{Caller, Linker, Stop, within};
use crate::limits::LimitKind;
use crate::outcome::Write;
use crate::run::Run;
use crate::services::{FetchBody, FetchError, FetchRequest, FetchRequestBody, FetchResponse};
use crate::tape::{Kind, Loose, read_completion, write_completion};

const INTERFACE: &str = "wellspring:wall/fetch@0.1.0";

/// The requests of one run.
#[derive(Default)]
pub(crate) struct Fetches {
    started: u32,
    sent_bytes: usize,
    received_bytes: usize,
    open: HashMap<u32, Open>,
    pub(crate) pending: FuturesUnordered<BoxFuture<'static, (u32, Event)>>,
    /// What happened and was not yet told to the guest.
    pub(crate) ready: VecDeque<(u32, Event)>,
}

struct Open {
    upload: Option<mpsc::Sender<Bytes>>,
    body: Option<FetchBody>,
    abort: AbortHandle,
}

/// Progress of one request.
pub(crate) enum Event {
    Head(Result<FetchResponse, FetchError>),
    Chunk(Option<Result<Bytes, FetchError>>, FetchBody),
    Written,
    Cancelled,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    redirect: String,
    #[serde(default)]
    decompress: bool,
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResponseHead<'a> {
    status: u16,
    status_text: &'a str,
    headers: &'a [(String, String)],
    url: &'a str,
    redirected: bool,
}

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    type Start = (u32, u32, u32, u32, u32);
    linker.func_wrap_async(INTERFACE, "start", |caller, (head, head_len, body, body_len, streaming): Start| {
        Box::new(start(caller, Slice::new(head, head_len), Slice::new(body, body_len), streaming != 0))
    })?;
    linker.func_wrap(INTERFACE, "write", write)?;
    linker.func_wrap(INTERFACE, "finish", |mut caller: Caller<'_>, request: u32| {
        if let Some(open) = caller.data_mut().fetches.open.get_mut(&request) {
            open.upload = None;
        }
    })?;
    linker.func_wrap(INTERFACE, "read", |mut caller: Caller<'_>, request: u32| {
        let run = caller.data_mut();
        if !run.tape.loose().is_some_and(|loose| loose.read(request)) {
            run.fetches.read(request);
        }
    })?;
    linker.func_wrap(INTERFACE, "cancel", |mut caller: Caller<'_>, request: u32| {
        if let Some(open) = caller.data_mut().fetches.open.remove(&request) {
            open.abort.abort();
        }
    })?;
    linker.func_wrap_async(INTERFACE, "next", |caller, (area,): (u32,)| Box::new(next(caller, ReturnArea(area))))?;
    Ok(())
}

async fn start(mut caller: Caller<'_>, head: Slice, body: Slice, is_streaming: bool) -> wasmtime::Result<u32> {
    let (memory, run) = abi::split(&mut caller)?;
    let head: Head = head.json(memory, "fetch.start")?;
    let body = Bytes::copy_from_slice(body.bytes(memory, "fetch.start")?);
    within(run.fetches.started as usize + 1, run.limits.requests, LimitKind::Requests)?;
    run.count_sent(body.len())?;
    if let Some(request) = run.replay_fetch(&head, &body)? {
        return Ok(request);
    }
    let has_flushed = before_request(&mut caller).await?;
    let run = caller.data_mut();
    run.tape.record_request(&asked(&head, &body), has_flushed);
    Ok(run.start_fetch(head, body, is_streaming))
}

/// What identifies a request in a recording: its method and address, and a digest of the rest.
fn asked(head: &Head, body: &[u8]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    for (name, value) in &head.headers {
        hasher.update(name.as_bytes()).update(b"\0").update(value.as_bytes()).update(b"\0");
    }
    let digest = hasher.update(body).finalize();
    let digest = digest.to_hex();
    format!("{} {}\n{}", head.method, head.url, digest.get(..16).unwrap_or_default()).into_bytes()
}

/// Output commit: the other side may call back, and must find what was written before. Whether anything became durable.
async fn before_request(caller: &mut Caller<'_>) -> Result<bool, Stop> {
    let run = caller.data_mut();
    let (writes, services) = (run.take_writes(), run.services.clone());
    let has_written = !writes.is_empty();
    let kept = services.before_request(writes).await?;
    let has_flushed = has_written && kept.is_empty();
    let kept = kept.into_iter().map(|Write { key, value }| (key, value));
    caller.data_mut().writes.extend(kept);
    Ok(has_flushed)
}

fn write(mut caller: Caller<'_>, request: u32, chunk: u32, length: u32) -> wasmtime::Result<()> {
    let (memory, run) = abi::split(&mut caller)?;
    let chunk = Bytes::copy_from_slice(Slice::new(chunk, length).bytes(memory, "fetch.write")?);
    run.count_sent(chunk.len())?;
    if run.tape.is_exact() || run.tape.loose().is_some_and(|loose| loose.write(request)) {
        return Ok(());
    }
    let upload = run.fetches.open.get(&request).and_then(|open| open.upload.clone());
    run.fetches.pending.push(
        async move {
            if let Some(upload) = upload {
                // A receiver that is gone stopped reading; the response says why.
                let _ = upload.send(chunk).await;
            }
            (request, Event::Written)
        }
        .boxed(),
    );
    Ok(())
}

async fn next(mut caller: Caller<'_>, area: ReturnArea) -> wasmtime::Result<()> {
    let told = caller.data_mut().next_completion()?;
    let Some((case, request, payload)) = told else {
        let (memory, _) = abi::split(&mut caller)?;
        return Ok(abi::write_words(memory, area, &[0])?);
    };
    let Slice { pointer, length } = match &payload {
        Some(bytes) => abi::allocate(&mut caller, bytes).await?,
        None => Slice::new(0, 0),
    };
    let (memory, _) = abi::split(&mut caller)?;
    Ok(abi::write_words(memory, area, &[1, u32::from(case), request, pointer, length])?)
}

/// What the guest is told: the case, which request it is about, and what comes with it.
type Told = (u8, u32, Option<Bytes>);

/// The cases of `completion`, in its order.
#[derive(Clone, Copy)]
enum Case {
    Head,
    Chunk,
    End,
    Written,
    Failed,
}

// === impl Run ===

impl Run {
    fn count_sent(&mut self, bytes: usize) -> Result<(), Stop> {
        self.fetches.sent_bytes += bytes;
        within(self.fetches.sent_bytes, self.limits.sent_bytes, LimitKind::SentBytes)
    }

    fn start_fetch(&mut self, head: Head, first: Bytes, is_streaming: bool) -> u32 {
        self.fetches.started += 1;
        let request = self.fetches.started;
        let (upload, body) = if is_streaming {
            let (sender, receiver) = mpsc::channel(1);
            // The channel is empty, so its first place is free.
            let _ = sender.try_send(first);
            (Some(sender), FetchRequestBody::Stream(receiver))
        } else {
            (None, FetchRequestBody::Whole(first))
        };
        let (abort, registration) = AbortHandle::new_pair();
        self.fetches.open.insert(request, Open { upload, body: None, abort });
        let services = self.services.clone();
        let fetch = async move {
            let Head { method, url, headers, redirect, decompress, timeout_ms } = head;
            services.fetch(FetchRequest { method, url, headers, redirect, decompress, timeout_ms, body }).await
        };
        let fetch =
            Abortable::new(fetch, registration).map(move |done| (request, done.map_or(Event::Cancelled, Event::Head)));
        self.fetches.pending.push(fetch.boxed());
        request
    }

    /// A request that a recording answers; none when it has to be made.
    fn replay_fetch(&mut self, head: &Head, body: &[u8]) -> Result<Option<u32>, Stop> {
        let request = self.fetches.started + 1;
        let is_replayed =
            self.tape.is_replaying() && self.tape.replay_request(request, &asked(head, body), &mut self.writes)?;
        if is_replayed {
            self.fetches.started = request;
        }
        Ok(is_replayed.then_some(request))
    }

    /// The next completion: of a recording, or of what is under way.
    fn next_completion(&mut self) -> Result<Option<Told>, Stop> {
        if self.tape.is_exact() {
            let answer = self.tape.replayed(Kind::Completion, &[])?.unwrap_or_default();
            let told = read_completion(&answer);
            return told.map(|told| self.count_received(replayed(told))).transpose();
        }
        if let Some((request, (case, payload))) = self.tape.loose().and_then(Loose::next) {
            return self.count_received(replayed((case, request, payload))).map(Some);
        }
        // Whatever is there already is taken without waiting.
        while let Some(Some(event)) = self.fetches.pending.next().now_or_never() {
            self.fetches.take(event);
        }
        let Some((request, event)) = self.fetches.ready.pop_front() else {
            self.tape.record(Kind::Completion, &[], &[]);
            return Ok(None);
        };
        let (case, payload) = self.describe(request, event);
        let case = case as u8;
        let recorded = write_completion(case, request, payload.as_deref().unwrap_or_default());
        self.tape.record(Kind::Completion, &[], &recorded);
        self.count_received((case, request, payload.map(Bytes::from))).map(Some)
    }

    fn count_received(&mut self, told: Told) -> Result<Told, Stop> {
        if let (true, Some(chunk)) = (told.0 == Case::Chunk as u8, &told.2) {
            self.fetches.received_bytes += chunk.len();
            within(self.fetches.received_bytes, self.limits.received_bytes, LimitKind::ReceivedBytes)?;
        }
        Ok(told)
    }

    /// What the guest is told of an event; a response's body stays here until it is asked for.
    fn describe(&mut self, request: u32, event: Event) -> (Case, Option<Vec<u8>>) {
        match event {
            Event::Head(Ok(response)) => (Case::Head, Some(self.fetches.open_body(request, response))),
            Event::Head(Err(error)) | Event::Chunk(Some(Err(error)), _) => (Case::Failed, Some(json(&error))),
            Event::Chunk(Some(Ok(bytes)), body) => {
                if let Some(open) = self.fetches.open.get_mut(&request) {
                    open.body = Some(body);
                }
                (Case::Chunk, Some(bytes.to_vec()))
            }
            Event::Chunk(None, _) => {
                self.fetches.open.remove(&request);
                (Case::End, None)
            }
            Event::Written | Event::Cancelled => (Case::Written, None),
        }
    }
}

/// With nothing where nothing came, and not with nothing's text: to allocate it would cost fuel.
fn replayed((case, request, payload): (u8, u32, Bytes)) -> Told {
    let has_payload = case != Case::End as u8 && case != Case::Written as u8;
    (case, request, has_payload.then_some(payload))
}

// === impl Fetches ===

impl Fetches {
    /// Queues an event for the guest, unless it has forgotten the request.
    pub(crate) fn take(&mut self, (request, event): (u32, Event)) {
        if !matches!(event, Event::Cancelled) && self.open.contains_key(&request) {
            self.ready.push_back((request, event));
        }
    }

    fn open_body(&mut self, request: u32, response: FetchResponse) -> Vec<u8> {
        let FetchResponse { status, status_text, headers, url, redirected, body } = response;
        if let Some(open) = self.open.get_mut(&request) {
            open.body = Some(body);
        }
        json(&ResponseHead { status, status_text: &status_text, headers: &headers, url: &url, redirected })
    }

    fn read(&mut self, request: u32) {
        let Some(mut body) = self.open.get_mut(&request).and_then(|open| open.body.take()) else { return };
        self.pending.push(
            async move {
                let chunk = body.next().await;
                (request, Event::Chunk(chunk, body))
            }
            .boxed(),
        );
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Plain structs of texts and numbers always have a JSON form.
    serde_json::to_vec(value).unwrap_or_default()
}
