//! Listens to the channel, and now and then does what no caller waits for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc};

use super::hearing::Heard;
use super::link::{Line, Place, Question, pause};
use super::lives::Lives;
use crate::neighbours::Said;
use crate::remembered::Remembered;
use crate::{Error, Pulse};

/// So often the connection is asked whether it is there.
const SECOND: Duration = Duration::from_secs(1);
/// Messages that wait to be heard, each of some dozen bytes and at most 8000.
const BEHIND_AT_MOST: usize = 4096;
/// Readers of emitters are renewed every so many seconds.
const RENEW_EVERY: u32 = 5;
const CLEAN_EVERY: u32 = 30;

/// Not what is being written: a commit does not wait for this.
const CLEAN: [&str; 4] = [
    "DELETE FROM counters WHERE ctid = ANY(ARRAY(SELECT ctid FROM counters \
     WHERE expires_ms < extract(epoch FROM clock_timestamp()) * 1000 LIMIT 10000 FOR UPDATE SKIP LOCKED))",
    "DELETE FROM news WHERE at < clock_timestamp() - interval '1 minute'",
    "DELETE FROM followed WHERE until < clock_timestamp()",
    "DELETE FROM lent WHERE until < clock_timestamp()",
];

pub(super) struct Ears {
    pub(super) place: Arc<Place>,
    pub(super) client: String,
    pub(super) pulse: Pulse,
    pub(super) remembered: Arc<Remembered>,
    pub(super) lives: Arc<Lives>,
    pub(super) heard: broadcast::Sender<Said>,
}

impl Ears {
    pub(super) async fn run(self, ready: tokio::sync::oneshot::Sender<()>) {
        let (mut ready, cleaning) = (Some(ready), Line::new(self.place.clone()));
        loop {
            // What broke the connection was told to the calls that were under way.
            let _ = self.listen(&mut ready, &cleaning).await;
            self.lives.was_deaf();
            self.remembered.forget_all();
            self.pulse.work_is_there();
            pause().await;
        }
    }

    /// Until the connection ends.
    async fn listen(&self, ready: &mut Option<tokio::sync::oneshot::Sender<()>>, cleaning: &Line) -> Result<(), Error> {
        let (told, mut messages) = mpsc::channel(BEHIND_AT_MOST);
        let connection = self.place.connect_and(Some(told)).await?;
        connection.run(&format!("LISTEN \"{}\"", self.place.schema)).await?;
        self.lives.listens();
        if let Some(ready) = ready.take() {
            let _ = ready.send(());
        }
        let (mut ticks, mut seconds) = (tokio::time::interval(SECOND), 0_u32);
        loop {
            // Either is enough; both are cancel-safe.
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => self.hear(&message).await,
                    None => return Ok(()),
                },
                _ = ticks.tick() => {
                    seconds = seconds.wrapping_add(1);
                    let question = Question::of("SELECT 1");
                    let asked = connection.ask(&question);
                    tokio::time::timeout(self.place.patience, asked).await.map_err(|_| Error::PostgresSilent)??;
                    self.tidy(seconds, cleaning).await;
                }
            }
        }
    }

    /// What fails is done the next time: readers are entered for longer than that.
    async fn tidy(&self, seconds: u32, cleaning: &Line) {
        if seconds.is_multiple_of(RENEW_EVERY) {
            let _ = self.lives.renew().await;
        }
        if seconds.is_multiple_of(CLEAN_EVERY) {
            for statement in CLEAN {
                let _ = cleaning.ask(Question::of(statement)).await;
            }
        }
    }

    async fn hear(&self, message: &str) {
        match Heard::parse(message, &self.client) {
            Some(Heard::Work(parts, origin)) => {
                parts.into_iter().for_each(|(partition, due_ms)| self.pulse.work_in(partition, due_ms, origin));
            }
            Some(Heard::Changed(names)) => self.remembered.forget(names.into_iter()),
            Some(Heard::News { name, first, last }) => self.lives.hear(name, first, last).await,
            Some(Heard::Said { host, text }) => {
                // Nothing may be listening.
                let _ = self.heard.send(Said { host: host.to_owned(), text: text.to_owned() });
            }
            None => {}
        }
    }
}
