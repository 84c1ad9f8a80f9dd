//! Prints what the sources emit, throw and log, live.

use remote::tail::{Step, Tail};
use remote::{Client, Error, Output, print_event, print_log_event};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::deploys::Deployed;

/// Before the first event there can be.
const BEGINNING: &str = "0-0";

pub(super) struct Following {
    client: Client,
    stop: CancellationToken,
    /// Ended when this is dropped.
    tasks: JoinSet<()>,
}

// === impl Following ===

impl Following {
    pub(super) fn new(client: Client, stop: CancellationToken) -> Self {
        Self { client, stop, tasks: JoinSet::new() }
    }

    pub(super) fn follow(&mut self, source: &Deployed) {
        for stream in [None, Some("$errors"), Some("$logs")] {
            let last_id = source.is_new.then(|| BEGINNING.to_owned());
            let mut tail = Tail::new(&self.client, &source.id, stream, last_id);
            let stop = self.stop.clone();
            self.tasks.spawn(async move {
                let ended = stop.run_until_cancelled(show(&mut tail, stream)).await;
                if let Some(Err(error)) = ended {
                    let what = stream.unwrap_or("the source");
                    Output::of_process(false).warn(&format!("{what} is no longer followed: {error}"));
                }
            });
        }
    }
}

async fn show(tail: &mut Tail, stream: Option<&str>) -> Result<(), Error> {
    let output = Output::of_process(false);
    loop {
        match tail.next().await? {
            Step::Event(event) if stream == Some("$logs") => print_log_event(&output, &event)?,
            Step::Event(event) => print_event(&output, &event)?,
            Step::Gap { last_id } => output.warn(&format!("events that came after {last_id} are missing here")),
            Step::Lost { .. } => {}
        }
    }
}
