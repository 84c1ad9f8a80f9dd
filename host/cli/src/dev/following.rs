//! Prints what sources and workflows emit, throw and log, and one line for each run and step, live. Every line names its
//! source or workflow.

use std::collections::HashMap;

use remote::models::{EventSummary, RunRecord};
use remote::tail::{Step, Tail, log_line};
use remote::{Client, Error, Output};
use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::known::Deployed;

/// Before the first event there can be.
const BEGINNING: &str = "0-0";
const STREAMS: [Option<&str>; 4] = [None, Some("$errors"), Some("$logs"), Some("$runs")];
/// Names are padded to this, so that lines stand below each other.
const NAME_WIDTH: usize = 14;

pub(super) struct Following {
    client: Client,
    stop: CancellationToken,
    /// Ended when this is dropped.
    tasks: JoinSet<()>,
    /// By path of the API.
    followed: HashMap<String, Vec<AbortHandle>>,
}

// === impl Following ===

impl Following {
    pub(super) fn new(client: Client, stop: CancellationToken) -> Self {
        Self { client, stop, tasks: JoinSet::new(), followed: HashMap::new() }
    }

    pub(super) fn follow(&mut self, source: &Deployed) {
        for stream in STREAMS {
            let last_id = source.is_new.then(|| BEGINNING.to_owned());
            let mut tail = Tail::of(&self.client, &source.path, stream, last_id);
            let (stop, source) = (self.stop.clone(), source.clone());
            let path = source.path.clone();
            let handle = self.tasks.spawn(async move {
                let ended = stop.run_until_cancelled(show(&mut tail, stream, &source)).await;
                if let Some(Err(error)) = ended {
                    let what = stream.unwrap_or("its events");
                    Output::of_process(false).warn(&format!("{}: {what} are no longer followed: {error}", source.name));
                }
            });
            self.followed.entry(path).or_default().push(handle);
        }
    }

    /// Of a source or workflow that was deleted.
    pub(super) fn forget(&mut self, path: &str) {
        for handle in self.followed.remove(path).into_iter().flatten() {
            handle.abort();
        }
    }
}

async fn show(tail: &mut Tail, stream: Option<&str>, source: &Deployed) -> Result<(), Error> {
    let output = Output::of_process(false);
    loop {
        match tail.next().await? {
            Step::Event(event) => print(&output, stream, source, &event)?,
            Step::Gap { last_id } | Step::NotKept { last_id } => {
                output.warn(&format!("{}: events that came after {last_id} are missing here", source.name));
            }
            Step::Lost { .. } => {}
        }
    }
}

#[expect(clippy::result_large_err, reason = "the error of the client, once for each stream that ends")]
fn print(output: &Output, stream: Option<&str>, source: &Deployed, event: &EventSummary) -> Result<(), Error> {
    let name = format!("{:NAME_WIDTH$}", source.name);
    let text = match stream {
        Some("$logs") => match log_line(event) {
            Some(line) => format!("{:5}  {}", line.level, line.message.trim_end()),
            None => event.event.to_string(),
        },
        Some("$runs") => match serde_json::from_value::<RunRecord>(event.event.clone()) {
            Ok(run) => run_line(&run),
            Err(_) => return Ok(()),
        },
        Some(_) => format!("error  {}", thrown(&event.event)),
        None => {
            let summary = event.metadata.summary.as_deref().map(|summary| format!("{summary}  ")).unwrap_or_default();
            let channel = Some(&event.metadata.name).filter(|name| !name.is_empty());
            let channel = channel.map(|name| format!("{name}  ")).unwrap_or_default();
            return output.cut_line(&plain(&format!("{name}  event  {channel}{summary}{}", event.event)));
        }
    };
    output.line(&plain(&format!("{name}  {}", source.places.real(&text))))
}

/// `run    http  200  12 ms  1 emitted`, or `step   shape  3 ms` for a step of a workflow.
fn run_line(run: &RunRecord) -> String {
    let status = run.reply_status.map(|status| format!("  {status}")).unwrap_or_default();
    let ended = match &run.error {
        Some(error) => format!("{}: {}", error.name, error.message),
        None => format!("{} emitted", run.emits.count),
    };
    let step = run.trigger.id.as_deref().filter(|_| run.trigger.kind == "step").and_then(|id| id.split_once('/'));
    match (step, &run.error) {
        (Some((_, step)), None) => format!("step   {step}  {} ms", run.duration_ms()),
        (Some((_, step)), Some(_)) => format!("step   {step}  {} ms  {ended}", run.duration_ms()),
        (None, _) => format!("run    {}{status}  {} ms  {ended}", run.trigger.shown(), run.duration_ms()),
    }
}

/// The stack of an error, which names files and lines; or what is said instead.
fn thrown(event: &Value) -> String {
    let text = |name: &str| event.pointer(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let stack = text("/error/stack").or_else(|| text("/stack"));
    let message = text("/error/message").or_else(|| text("/message"));
    stack.or(message).map_or_else(|| event.to_string(), |text| text.trim_end().to_owned())
}

/// Without what moves the cursor or rings a bell.
fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() && letter != '\n' && letter != '\t' { '\u{fffd}' } else { letter })
        .collect()
}
