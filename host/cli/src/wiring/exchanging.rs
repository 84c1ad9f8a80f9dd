//! Images between hosts: what one has built, the others need not build again.
//!
//! A host that misses an image says `want` to all. One that has it lends it through the store and says `here`. One that is building it
//! says `building`, and `here` when it is done, or `none` when it could not. When several want an image that is nowhere, the one with the
//! least id builds it: it says `wait` to the others, and only those with greater ids do.
//!
//! All of this saves time and nothing else: a host that hears nothing builds the image itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{Asked, Peers, Sandbox};
use store::{Neighbours, Said};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout_at};

/// How long an answer is waited for. Hosts answer within milliseconds, and few images are on no host.
const PATIENCE: Duration = Duration::from_millis(150);
/// How long a host is waited for that builds the image: one that is gone by then says nothing.
const PATIENCE_WITH_BUILDER: Duration = Duration::from_secs(10);
/// Hosts that wait for it take it at once. Until it is gone it takes memory of Redis.
const LENT_FOR_MS: u64 = 2000;
/// Of hosts that have an image, the first lends it: each waits for another time below this.
const SPREAD_MS: u64 = 8;
/// Images that are lent at once; what is wanted beyond that is built.
const LENT_AT_ONCE: usize = 4;

/// Asks other hosts for images.
struct Exchange {
    neighbours: Arc<dyn Neighbours>,
    missing: Missing,
    settled: mpsc::UnboundedSender<String>,
}

/// Images that this host asks for or builds.
type Missing = Arc<Mutex<HashMap<String, Progress>>>;

#[derive(Default)]
struct Progress {
    is_building: bool,
    /// Another host waits for it.
    is_wanted: bool,
}

/// An image is asked for or built until this is dropped.
struct Claimed {
    image: String,
    settled: mpsc::UnboundedSender<String>,
}

/// Answers other hosts.
struct Answering<Lender> {
    neighbours: Arc<dyn Neighbours>,
    missing: Missing,
    lender: Lender,
    lending: Arc<Semaphore>,
}

/// Where images are that are lent.
#[async_trait]
trait Lends: Clone + Send + Sync + 'static {
    async fn lend(&self, image: &str) -> Option<Bytes>;
}

#[async_trait]
impl Lends for Sandbox {
    async fn lend(&self, image: &str) -> Option<Bytes> {
        Self::lend(self, image).await
    }
}

/// Has a sandbox ask other hosts, and answers them, for as long as the process runs.
pub(super) fn begin(sandbox: &Sandbox, neighbours: Arc<dyn Neighbours>) {
    sandbox.meet(exchange(sandbox.clone(), neighbours));
}

#[expect(clippy::disallowed_methods, reason = "ends with the runtime")]
fn exchange(lender: impl Lends, neighbours: Arc<dyn Neighbours>) -> Arc<Exchange> {
    let (settled, was_settled) = mpsc::unbounded_channel();
    let missing = Missing::default();
    let lending = Arc::new(Semaphore::new(LENT_AT_ONCE));
    let answering = Answering { neighbours: neighbours.clone(), missing: missing.clone(), lender, lending };
    let heard = neighbours.listen();
    tokio::spawn(Arc::new(answering).answer(heard, was_settled));
    Arc::new(Exchange { neighbours, missing, settled })
}

// === impl Exchange ===

#[async_trait]
impl Peers for Exchange {
    async fn ask(&self, image: &str) -> Asked {
        lock(&self.missing).insert(image.to_owned(), Progress::default());
        let claim = Claimed { image: image.to_owned(), settled: self.settled.clone() };
        let lent = self.find(image).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "other hosts could not be asked for an image");
            None
        });
        if let Some(progress) = lock(&self.missing).get_mut(image) {
            progress.is_building = lent.is_none();
        }
        Asked { lent, claim: Box::new(claim) }
    }
}

impl Exchange {
    #[expect(clippy::disallowed_methods, reason = "other hosts answer in real time")]
    async fn find(&self, image: &str) -> Result<Option<Bytes>, store::Error> {
        if !self.neighbours.are_any().await? {
            return Ok(None);
        }
        let mut heard = self.neighbours.listen();
        self.neighbours.say(&format!("want {image}")).await?;
        let begun = Instant::now();
        let mut until = begun + PATIENCE;
        loop {
            let said = match timeout_at(until, heard.recv()).await {
                Ok(Ok(said)) => said,
                Ok(Err(RecvError::Lagged(_))) => continue,
                Ok(Err(RecvError::Closed)) | Err(_) => return Ok(None),
            };
            match said.text.split_once(' ') {
                Some(("here", name)) if name == image => return self.neighbours.borrow(image).await,
                Some(("building", name)) if name == image => until = begun + PATIENCE_WITH_BUILDER,
                Some(("wait", name)) if name == image && *said.host < *self.neighbours.own() => {
                    until = begun + PATIENCE_WITH_BUILDER;
                }
                Some(("none", name)) if name == image => return Ok(None),
                _ => {}
            }
        }
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        // At the end of the process nothing is there to hear it.
        let _ = self.settled.send(std::mem::take(&mut self.image));
    }
}

// === impl Answering ===

impl<Lender: Lends> Answering<Lender> {
    #[expect(clippy::disallowed_methods, reason = "as many at once as may be lent, and each ends by itself")]
    async fn answer(
        self: Arc<Self>,
        mut heard: tokio::sync::broadcast::Receiver<Said>,
        mut settled: mpsc::UnboundedReceiver<String>,
    ) {
        loop {
            let said = tokio::select! {
                Some(image) = settled.recv() => {
                    let progress = lock(&self.missing).remove(&image);
                    if progress.is_some_and(|progress| progress.is_wanted) {
                        tokio::spawn(self.clone().give(image));
                    }
                    continue;
                }
                heard = heard.recv() => match heard {
                    Ok(said) => said,
                    Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => return,
                },
            };
            let Some(("want", image)) = said.text.split_once(' ') else { continue };
            match self.reply_to(&said.host, image) {
                Some(reply) => self.say(&format!("{reply} {image}")).await,
                None => {
                    if let Ok(place) = self.lending.clone().try_acquire_owned() {
                        let (answering, image) = (self.clone(), image.to_owned());
                        tokio::spawn(async move {
                            answering.offer(&image).await;
                            drop(place);
                        });
                    }
                }
            }
        }
    }

    /// What is said at once to a host that wants an image which this one misses as well.
    fn reply_to(&self, host: &str, image: &str) -> Option<&'static str> {
        let mut missing = lock(&self.missing);
        let progress = missing.get_mut(image)?;
        let is_before = self.neighbours.own() < host;
        progress.is_wanted |= progress.is_building || is_before;
        Some(match (progress.is_building, is_before) {
            (true, _) => "building",
            (false, true) => "wait",
            // The other one is to build it, and may not have wanted it yet when this host said so.
            (false, false) => "want",
        })
    }

    /// For a host that wants an image, if it is here.
    #[expect(clippy::disallowed_methods, reason = "hosts give way to each other in real time")]
    async fn offer(&self, image: &str) {
        let Some(lent) = self.lender.lend(image).await else { return };
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((self.neighbours.own(), image));
        tokio::time::sleep(Duration::from_millis(hash % SPREAD_MS)).await;
        self.lend(image, lent).await;
    }

    /// For hosts that waited until it was built.
    async fn give(self: Arc<Self>, image: String) {
        match self.lender.lend(&image).await {
            Some(lent) => self.lend(&image, lent).await,
            None => self.say(&format!("none {image}")).await,
        }
    }

    /// Unless another host was faster, or it is still there from before.
    async fn lend(&self, image: &str, lent: Bytes) {
        let lending = async {
            if !self.neighbours.is_lent(image).await? {
                self.neighbours.lend(image, lent, LENT_FOR_MS).await?;
            }
            self.neighbours.say(&format!("here {image}")).await
        };
        if let Err(error) = lending.await {
            tracing::debug!(%error, "an image could not be lent");
        }
    }

    async fn say(&self, text: &str) {
        if let Err(error) = self.neighbours.say(text).await {
            tracing::debug!(%error, "other hosts could not be told");
        }
    }
}

fn lock(missing: &Mutex<HashMap<String, Progress>>) -> MutexGuard<'_, HashMap<String, Progress>> {
    missing.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
