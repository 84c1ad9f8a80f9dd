//! Buffers frames that are to be sent, so that they need few system calls.
//!
//! Sending never waits. While one thread is sending, frames of others gather and are sent together after it. What the socket
//! does not take is sent by a task when there is room again. The buffer is bounded by what is asked for: every answer belongs
//! to a question, and a run asks for the next piece of a body when it has the last.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use super::codec::{Encoder, MAX_FRAME_BYTES};
use super::wire;

/// A buffer that was larger is given back.
const KEPT_BYTES: usize = 256 << 10;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Outbox {
    shared: Arc<Shared>,
}

struct Shared {
    socket: Arc<AsyncFd<OwnedFd>>,
    queue: Mutex<Queue>,
    /// Told when the socket was full.
    blocked: Notify,
}

#[derive(Default)]
struct Queue {
    next: Batch,
    /// Room for the batch after the one that is being sent.
    spare: Vec<u8>,
    /// A batch was taken out to be sent, and is not through.
    is_sending: bool,
    /// What the socket did not take.
    unsent: Option<Batch>,
    is_closed: bool,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    sent: usize,
    /// Where in the buffer the frames begin that files go with.
    files: VecDeque<(usize, Vec<OwnedFd>)>,
}

// === impl Outbox ===

impl Outbox {
    pub(super) fn new(socket: Arc<AsyncFd<OwnedFd>>) -> Self {
        Self { shared: Arc::new(Shared { socket, queue: Mutex::default(), blocked: Notify::new() }) }
    }

    /// Adds a frame. `false` if it is larger than the other side takes; then it is not sent.
    pub(super) fn add(&self, kind: u8, run: u64, write: impl FnOnce(&mut Encoder<'_>)) -> bool {
        self.add_with_files(kind, run, Vec::new(), write)
    }

    pub(super) fn add_with_files(
        &self,
        kind: u8,
        run: u64,
        files: Vec<OwnedFd>,
        write: impl FnOnce(&mut Encoder<'_>),
    ) -> bool {
        let mut queue = self.lock();
        if queue.is_closed {
            return true;
        }
        let batch = &mut queue.next;
        let start = batch.bytes.len();
        write(&mut Encoder::frame(&mut batch.bytes, kind, run));
        if batch.bytes.len() - start > MAX_FRAME_BYTES {
            batch.bytes.truncate(start);
            return false;
        }
        if !files.is_empty() {
            batch.files.push_back((start, files));
        }
        true
    }

    /// Sends what the socket takes. An error shows on the reading side as well, where it ends the connection.
    pub(super) fn flush(&self) {
        loop {
            let batch = self.lock().take();
            let Some(mut batch) = batch else { return };
            let sent = batch.send(self.shared.socket.as_raw_fd());
            let mut queue = self.lock();
            match sent {
                Ok(true) => queue.give_back(batch),
                Ok(false) => {
                    queue.unsent = Some(batch);
                    drop(queue);
                    return self.shared.blocked.notify_one();
                }
                Err(_) => return queue.close(),
            }
        }
    }

    pub(super) fn close(&self) {
        self.lock().close();
        self.shared.blocked.notify_one();
    }

    /// Sends what the socket did not take, for as long as the connection lives.
    pub(super) async fn drain(self) {
        loop {
            self.shared.blocked.notified().await;
            let (batch, is_closed) = {
                let mut queue = self.lock();
                (queue.unsent.take(), queue.is_closed)
            };
            if is_closed {
                return;
            }
            let Some(mut batch) = batch else { continue };
            loop {
                let Ok(mut ready) = self.shared.socket.writable().await else { return };
                match batch.send(self.shared.socket.as_raw_fd()) {
                    Ok(true) => break,
                    Ok(false) => ready.clear_ready(),
                    Err(_) => return self.lock().close(),
                }
            }
            self.lock().give_back(batch);
            self.flush();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Queue ===

impl Queue {
    fn take(&mut self) -> Option<Batch> {
        if self.is_sending || self.next.bytes.is_empty() {
            return None;
        }
        self.is_sending = true;
        let room = Batch { bytes: std::mem::take(&mut self.spare), ..Batch::default() };
        Some(std::mem::replace(&mut self.next, room))
    }

    fn give_back(&mut self, batch: Batch) {
        self.is_sending = false;
        self.spare = batch.bytes;
        self.spare.clear();
        self.spare.shrink_to(KEPT_BYTES);
    }

    fn close(&mut self) {
        *self = Self { is_closed: true, ..Self::default() };
    }
}

// === impl Batch ===

impl Batch {
    /// Whether all was sent.
    fn send(&mut self, socket: i32) -> io::Result<bool> {
        while self.sent < self.bytes.len() {
            let files = self.files.front().filter(|(start, _)| *start == self.sent).map(|(_, files)| &**files);
            // Files go with the first byte of their frame, so what is sent before them ends there.
            let next = self.files.iter().map(|(start, _)| *start).find(|start| *start > self.sent);
            let part = self.bytes.get(self.sent..next.unwrap_or(self.bytes.len())).unwrap_or_default();
            match wire::send(socket, part, files.unwrap_or_default()) {
                Ok(sent) => {
                    if files.is_some() {
                        self.files.pop_front();
                    }
                    self.sent += sent;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
