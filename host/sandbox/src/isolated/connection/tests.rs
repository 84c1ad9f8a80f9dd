//! The host's end against a worker that is played by the test, which can send what no worker would.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Connection, ConnectionBounds, Conversation, Ended, RunStart};
use crate::isolated::codec::{Encoder, Malformed};
use crate::isolated::protocol::{Frame, Written, to_host, to_worker};
use crate::isolated::serve::serve;
use crate::isolated::wire::{self, Inbox};
use crate::limits::Limits;
use crate::measure::offline_services;
use crate::outcome::{Outcome, Usage};
use crate::program::{Program, Sources};
use crate::sandbox::{Error, Image};
use crate::snapshot::Snapshot;

struct Played {
    connection: Arc<Connection>,
    socket: OwnedFd,
    inbox: Inbox,
    image: Image,
}

impl Played {
    fn new() -> Self {
        let (host, socket) = wire::pair().unwrap();
        let bounds = ConnectionBounds { margin: Duration::from_secs(1), image_bytes: 100 << 10 };
        let image = Image {
            snapshot: Snapshot::unnamed(&vec![1; 64 << 10]).unwrap(),
            sources: Sources::Whole(Arc::new(Program::single("a.js", ""))),
        };
        let connection = Connection::open(host, None, bounds).unwrap();
        Self { connection, socket, inbox: Inbox::default(), image }
    }

    fn begin(&self) -> Conversation {
        let (image, limits) = (&self.image, &Limits::default());
        let program = Some(Arc::new(Program::single("a.js", "")));
        let begun = self.connection.begin(&RunStart { image, program, now_ms: 0.0, limits, call: "{}", replay: None });
        begun.unwrap_or_else(|_| panic!("it begins"))
    }

    /// What the host has sent by now.
    fn kinds(&mut self) -> Vec<u8> {
        while self.inbox.receive(self.socket.as_raw_fd(), true).is_ok() {}
        std::iter::from_fn(|| self.inbox.next_frame().unwrap()).map(|frame| frame.kind).collect()
    }

    fn say(&self, kind: u8, run: u64, write: impl FnOnce(&mut Encoder<'_>)) {
        let mut bytes = Vec::new();
        write(&mut Encoder::frame(&mut bytes, kind, run));
        wire::send(self.socket.as_raw_fd(), &bytes, &[]).unwrap();
    }

    fn done(&self, run: u64) {
        let outcome = Outcome {
            returned: None,
            emits: Vec::new(),
            writes: Vec::new(),
            logs: Vec::new(),
            effects: Vec::new(),
            has_replied: true,
            recording: None,
            usage: Usage::default(),
            fault: None,
        };
        self.say(to_host::DONE, run, |to| Written(&outcome).write(to));
    }
}

async fn outcome_of(conversation: Conversation) -> Result<Outcome, Error> {
    serve(conversation, Limits::default(), offline_services()).await
}

fn malformed(result: Result<impl Sized, Error>) -> &'static str {
    match result {
        Err(Error::Worker(Ended::Malformed(Malformed(what)))) => what,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[tokio::test]
async fn an_image_is_sent_once_and_a_run_ends_with_its_outcome() {
    let mut played = Played::new();
    for expected in [&[to_worker::INSTALL, to_worker::START][..], &[to_worker::START]] {
        let run = played.begin();
        assert_eq!(played.kinds(), expected);
        played.done(run.run);

        let outcome = outcome_of(run).await.unwrap();

        assert!(!outcome.has_replied, "the host knows of no reply");
        assert_eq!(played.kinds(), [0; 0], "nothing is cancelled");
    }
}

#[tokio::test]
async fn a_run_that_is_dropped_is_cancelled() {
    let mut played = Played::new();
    let run = played.begin();
    let number = run.run;

    drop(run);

    assert_eq!(played.kinds(), [to_worker::INSTALL, to_worker::START, to_worker::CANCEL]);
    // What was on its way ends no worker.
    played.done(number);
    let next = played.begin();
    played.done(next.run);
    assert!(outcome_of(next).await.is_ok());
}

#[tokio::test]
async fn a_worker_that_breaks_the_protocol_ends_with_all_of_its_runs() {
    type Breach = fn(&Played, u64);
    let breaches: [(Breach, &str); 6] = [
        (|played, run| played.say(99, run, |_| ()), "a frame of an unknown kind"),
        (|played, run| played.say(to_host::DB_GET, run, |_| ()), "a frame that ends too early"),
        (|played, run| played.say(to_host::READ, run, |to| to.u64(1)), "a frame with something after its end"),
        (|played, run| played.done(run + 2), "a frame of a run that was never started"),
        (
            |played, run| {
                played.say(to_host::DB_GET, run, |to| to.text("a"));
                played.say(to_host::DB_GET, run, |to| to.text("b"));
            },
            "a question before the last was answered",
        ),
        (|played, run| played.say(to_host::DB_GET, run, |to| to.text(&"k".repeat(2000))), "a key that is too long"),
    ];
    for (breach, what) in breaches {
        let played = Played::new();
        let (first, second) = (played.begin(), played.begin());

        breach(&played, first.run);

        assert_eq!(malformed(outcome_of(first).await), what);
        assert_eq!(malformed(outcome_of(second).await), what, "the other run of the same worker");
        assert!(played.connection.has_ended());
    }
}

#[tokio::test]
async fn a_worker_that_went_away_ends_its_runs() {
    let played = Played::new();
    let run = played.begin();

    drop(played.socket);

    assert!(matches!(outcome_of(run).await, Err(Error::Worker(Ended::Closed))));
}

#[tokio::test]
async fn a_run_that_is_overdue_ends_its_worker() {
    let played = Played::new();
    let run = played.begin();
    let deadline = Instant::now() + Limits::default().wall_clock;

    assert!(played.connection.look(deadline), "the margin is not over");
    assert!(!played.connection.look(deadline + Duration::from_secs(2)));

    assert!(matches!(outcome_of(run).await, Err(Error::Worker(Ended::Overdue))));
}

#[tokio::test]
async fn what_a_run_said_and_does_not_look_at_is_bounded() {
    let played = Played::new();
    let run = played.begin();
    let large = Frame { kind: to_host::LOG, run: run.run, body: vec![0; 200 << 20].into() };
    let again = Frame { kind: to_host::LOG, run: run.run, body: large.body.clone() };

    assert!(played.connection.dispatch(large).is_ok());
    assert!(played.connection.dispatch(again).is_err());
}

#[tokio::test]
async fn a_worker_forgets_images_that_do_not_fit_beside_the_one_it_gets() {
    let mut played = Played::new();
    let first = played.begin();
    played.image.snapshot = Snapshot::unnamed(&vec![2; 64 << 10]).unwrap();

    let second = played.begin();

    let (install, start, forget) = (to_worker::INSTALL, to_worker::START, to_worker::FORGET);
    assert_eq!(played.kinds(), [install, start, install, forget, start]);
    drop((first, second));
}
