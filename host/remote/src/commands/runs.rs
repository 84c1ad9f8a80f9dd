//! `runs`: what ran, what it did and how it ended; one of them in full; and whatever comes.

use std::collections::HashSet;

use console::{Color, Style};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::run::outcome;
use super::{events, list};
use crate::client::{Query, path_segment};
use crate::error::Error;
use crate::find;
use crate::models::{EventSummary, Page, Run, RunRecord, Source};
use crate::output::table::{text, whole};
use crate::output::{Fields, Output, Table, clock_time, get_field, plain};
use crate::session::{Connection, Session};
use crate::spans::Span;
use crate::tail::Tail;

/// As many as the API gives at once.
const RUNS_MAXIMUM: u64 = 100;
const STREAM: &str = "$runs";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show everything that is known of a run
    Show {
        /// The id of a run: in `runs`, in the metadata of an event, in the `x-wellspring-run` of an answer
        id: String,
    },
    /// Run a source once more on the event of a recorded run, for real
    Retry {
        /// The id of a recorded run
        id: String,
    },
}

#[derive(Debug, clap::Args)]
struct Wanted {
    /// The id, slug or name of a source; without it the runs of everything
    source: Option<String>,
    /// How many to show
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=RUNS_MAXIMUM))]
    number: u64,
    /// Only those that ended like this
    #[arg(long, value_parser = ["success", "error"])]
    state: Option<String>,
    /// Only what one trigger from outside caused, across sources and workflows
    #[arg(long, value_name = "TRACE_ID")]
    trace: Option<String>,
    /// Only what is not older: `90s`, `15m`, `12h`, `30d`
    #[arg(long, value_name = "TIME")]
    since: Option<Span>,
    /// Print one field of each and nothing else: `id`, `state`, `error.message`. The line of a run without it is empty
    #[arg(long, value_name = "FIELD")]
    get: Option<String>,
    /// Go on showing the runs of the source as they end, until Ctrl-C
    #[arg(short, long, requires = "source")]
    follow: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    match &arguments.command {
        Some(Command::Show { id }) => show(&session, id).await,
        Some(Command::Retry { id }) => {
            let ran: Run = session.client.post(&format!("runs/{}/retry", path_segment(id)?), &json!({})).await?;
            if session.output.is_json {
                session.output.json(&ran)?;
                return outcome(&ran);
            }
            let run_id = ran.rest.get("run_id").and_then(Value::as_str).unwrap_or_default();
            session.output.say(&format!("ran again as {run_id}"));
            show(&session, run_id).await?;
            outcome(&ran)
        }
        None => list_runs(&session, &arguments.wanted).await,
    }
}

async fn list_runs(session: &Session, wanted: &Wanted) -> Result<(), Error> {
    let source = match &wanted.source {
        Some(name) => Some(find::source(&session.client, name).await?),
        None => None,
    };
    if let (Some(source), true) = (&source, wanted.follow) {
        return follow_runs(session, source, wanted).await;
    }
    let runs = wanted.read(session, source.as_ref()).await?;
    match &wanted.get {
        Some(field) => print_fields(&session.output, &runs, field),
        None => print_table(&session.output, &runs),
    }
}

/// The stream is connected before runs are listed, because a list names no place in it: a run that ends in between is in both,
/// and is shown once.
async fn follow_runs(session: &Session, source: &Source, wanted: &Wanted) -> Result<(), Error> {
    let mut tail = Tail::new(&session.client, &source.id, Some(STREAM), None);
    tail.connect().await?;
    let listed = wanted.read(session, Some(source)).await?;
    listed.iter().rev().try_for_each(|run| wanted.print(&session.output, run))?;
    let listed: HashSet<String> = listed.into_iter().map(|run| run.id).collect();
    let print = |output: &Output, event: &EventSummary| wanted.print_event(output, event, &listed);
    events::go_on(session, source, (tail, Some(STREAM), None), print).await
}

/// A line for each run, empty for one that has no such field.
fn print_fields(output: &Output, runs: &[RunRecord], field: &str) -> Result<(), Error> {
    let found: Vec<Result<String, Error>> = runs.iter().map(|run| get_field(run, field)).collect();
    if let (true, Some(Err(error))) = (found.iter().all(Result::is_err), found.first())
        && let Some(hint) = error.hint()
    {
        output.warn(&format!("no run that is shown has a field `{field}`; {hint}"));
    }
    found.into_iter().try_for_each(|value| output.line(&value.unwrap_or_default()))
}

fn print_table(output: &Output, runs: &[RunRecord]) -> Result<(), Error> {
    let mut table = Table::new([
        whole("ID"),
        whole("TIME"),
        whole("STATE"),
        text("TRIGGER"),
        whole("EMITTER"),
        whole("MS"),
        whole("EMITS"),
        text("ERROR"),
    ]);
    for run in runs {
        table.row([
            run.id.clone(),
            clock_time(run.started_at_ms),
            run.state.clone(),
            run.trigger.shown(),
            run.emitter_id.clone(),
            run.duration_ms().to_string(),
            run.emits.count.to_string(),
            run.error.as_ref().map(|error| error.message.clone()).unwrap_or_default(),
        ]);
    }
    list::print(output, runs, &table, "nothing ran, or nothing is kept")
}

/// `14:03:27  success  http  12 ms  1 event  <id>`
fn print_line(output: &Output, run: &RunRecord) -> Result<(), Error> {
    if output.is_json {
        return output.json_line(run);
    }
    let style = if run.state == "error" { Style::new().fg(Color::Red) } else { Style::new().fg(Color::Green) };
    let time = output.paint(&Style::new().dim(), &clock_time(run.started_at_ms));
    let state = output.paint(&style, &format!("{:7}", run.state));
    let what = run
        .error
        .as_ref()
        .map_or_else(|| format!("{} emitted", run.emits.count), |error| format!("{}: {}", error.name, error.message));
    let (trigger, ms, id) = (run.trigger.shown(), run.duration_ms(), &run.id);
    output.line(&format!("{time}  {state}  {trigger}  {ms} ms  {}  {id}", plain(&what)))
}

async fn show(session: &Session, id: &str) -> Result<(), Error> {
    let run: RunRecord = session.client.get(&format!("runs/{}", path_segment(id)?)).await?;
    if session.output.is_json {
        return session.output.json(&run);
    }
    let time = |at_ms: i64| Timestamp::from_millisecond(at_ms).map_or_else(|_| at_ms.to_string(), |at| at.to_string());
    let error = run.error.as_ref();
    let traffic =
        (run.requests.count > 0).then(|| format!("{} B sent, {} B received", run.sent_bytes, run.received_bytes));
    let mut fields = Fields::default()
        .field("id", &run.id)
        .field("state", &run.state)
        .field("emitter", &run.emitter_id)
        .field("version", &run.version)
        .field("trigger", run.trigger.shown())
        .field_if("trace", run.trace_id.clone())
        .field("started", time(run.started_at_ms))
        .field("waited", format!("{} ms", run.started_at_ms.saturating_sub(run.queued_at_ms)))
        .field("took", format!("{} ms, {} µs of CPU, {} fuel", run.duration_ms(), run.cpu_us, run.fuel))
        .field("memory", format!("{} KiB at most", run.peak_memory_bytes / 1024))
        .field_if("answered", run.reply_status.map(|status| status.to_string()))
        .field_if("traffic", traffic);
    for request in &run.requests.first {
        let ended =
            request.status.map_or_else(|| request.error.clone().unwrap_or_default(), |status| status.to_string());
        let line = format!("{} {}{} → {ended}, {} ms", request.method, request.host, request.path, request.ms);
        fields = fields.field("request", line);
    }
    for emit in &run.emits.first {
        fields = fields.field("emitted", emit);
    }
    for key in &run.writes.first {
        fields = fields.field("wrote", key);
    }
    fields = fields.field_if("error", error.map(|error| format!("{}: {}", error.name, error.message)));
    let causes = std::iter::successors(error.and_then(|error| error.cause.as_deref()), |cause| cause.cause.as_deref());
    for cause in causes {
        fields = fields.field("caused by", format!("{}: {}", cause.name, cause.message));
    }
    let input = run.rest.get("input").map(ToString::to_string);
    fields.field_if("recording", run.recording.clone()).field_if("input", input).print(&session.output)
}

// === impl Wanted ===

impl Wanted {
    /// One that comes, when it is one of those that are wanted, and was not listed.
    fn print_event(&self, output: &Output, event: &EventSummary, listed: &HashSet<String>) -> Result<(), Error> {
        match serde_json::from_value::<RunRecord>(event.event.clone()) {
            Ok(run) if listed.contains(&run.id) => Ok(()),
            Ok(run) if self.is_wanted(&run) => self.print(output, &run),
            Ok(_) => Ok(()),
            Err(_) => events::print_event(output, event),
        }
    }

    fn is_wanted(&self, run: &RunRecord) -> bool {
        let is_state = self.state.as_ref().is_none_or(|state| run.state == *state);
        is_state && self.trace.as_ref().is_none_or(|trace| run.trace_id.as_ref() == Some(trace))
    }

    /// On a line of its own.
    fn print(&self, output: &Output, run: &RunRecord) -> Result<(), Error> {
        match &self.get {
            Some(field) => output.line(&get_field(run, field).unwrap_or_default()),
            None => print_line(output, run),
        }
    }

    /// Newest first.
    async fn read(&self, session: &Session, source: Option<&Source>) -> Result<Vec<RunRecord>, Error> {
        if self.number == 0 {
            return Ok(Vec::new());
        }
        let path = source.map_or_else(|| "runs".to_owned(), |source| format!("sources/{}/runs", source.id));
        let since = self.since.map(|since| {
            let seconds = Timestamp::now().as_second().saturating_sub(since.seconds());
            seconds.saturating_mul(1000).to_string()
        });
        let state = self.state.as_deref().map(|state| ("state", state));
        let trace = self.trace.as_deref().map(|trace| ("trace_id", trace));
        let since = since.as_deref().map(|since| ("since_ms", since));
        let query: Vec<Query<'_>> = [state, trace, since].into_iter().flatten().collect();
        let number = usize::try_from(self.number).unwrap_or(usize::MAX);
        let page: Page<RunRecord> = session.client.page(&path, &query, number).await?;
        Ok(page.data)
    }
}
