//! `events`: the last ones, oldest first, and then whatever comes.

use console::Style;

use super::list;
use crate::client::Query;
use crate::error::Error;
use crate::find;
use crate::models::{EventSummary, Page, Source};
use crate::output::{Output, clock_time, plain};
use crate::session::{Connection, Session};
use crate::tail::{Step, Tail};

/// Before the first event of all. Where none was listed, one that comes between listing and following is not missed.
pub(super) const BEGINNING: &str = "0-0";
/// As many as the API gives at once.
const EVENTS_MAXIMUM: u64 = 100;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id, slug or name of a source
    source: String,
    /// How many of those that are there to show [default: 10, or what `--until` says]
    #[arg(short = 'n', long, value_name = "COUNT")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=EVENTS_MAXIMUM))]
    number: Option<u64>,
    /// Go on showing events as they come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Show so many events and end: the last ones that are there, and then those that come
    #[arg(long, value_name = "COUNT", conflicts_with = "follow", value_parser = clap::value_parser!(u64).range(1..))]
    until: Option<u64>,
    /// This stream alone: `default`, a channel of the source, `$errors` or `$logs`. Without it all channels are shown
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let source = find::source(&session.client, &arguments.source).await?;
    let number = arguments.number_of_last();
    let stream = arguments.stream.as_deref();
    let events = last(&session, &source, stream, number).await?;
    for event in events.iter().rev() {
        print_event(&session.output, event)?;
    }
    let shown = u64::try_from(events.len()).unwrap_or(u64::MAX);
    let missing = arguments.until.map(|until| until.saturating_sub(shown));
    if arguments.follow || missing.is_some() {
        let last_id = events.into_iter().next().map(|event| event.id);
        let last_id = last_id.or_else(|| (number > 0).then(|| BEGINNING.to_owned()));
        let following = Following { stream, last_id, missing };
        return follow(&session, &source, following, print_event).await;
    }
    if events.is_empty() && number > 0 {
        explain_silence(&session, &source, stream).await?;
    }
    Ok(())
}

// === impl Arguments ===

impl Arguments {
    /// How many of those that are there are shown: never more than are asked for in all.
    fn number_of_last(&self) -> u64 {
        const USUAL: u64 = 10;
        let in_all = self.until.unwrap_or(u64::MAX);
        let usual = if self.until.is_some() { EVENTS_MAXIMUM } else { USUAL };
        self.number.unwrap_or(usual).min(in_all)
    }
}

/// Newest first.
async fn last(
    session: &Session,
    source: &Source,
    stream: Option<&str>,
    number: u64,
) -> Result<Vec<EventSummary>, Error> {
    if number == 0 {
        return Ok(Vec::new());
    }
    let path = format!("sources/{}/event_summaries", source.id);
    let query: Vec<Query<'_>> =
        [("expand", "event")].into_iter().chain(stream.map(|name| ("event_name", name))).collect();
    let page: Page<EventSummary> =
        session.client.page(&path, &query, usize::try_from(number).unwrap_or(usize::MAX)).await?;
    Ok(page.data)
}

/// What to follow, from where, and until when.
pub(super) struct Following<'a> {
    /// All channels when absent.
    pub(super) stream: Option<&'a str>,
    pub(super) last_id: Option<String>,
    /// How many more to show; without end when absent.
    pub(super) missing: Option<u64>,
}

/// Prints a stream as it goes on, until it has shown enough; without that only Ctrl-C or the end of the source ends it.
pub(super) async fn follow(
    session: &Session,
    source: &Source,
    following: Following<'_>,
    print: impl Fn(&Output, &EventSummary) -> Result<(), Error>,
) -> Result<(), Error> {
    let Following { stream, last_id, missing } = following;
    if missing == Some(0) {
        return Ok(());
    }
    let mut tail = Tail::new(&session.client, &source.id, stream, last_id);
    tail.connect().await?;
    go_on(session, source, (tail, stream, missing), print).await
}

/// The same with a stream that is connected, after what was shown of it.
pub(super) async fn go_on(
    session: &Session,
    source: &Source,
    (mut tail, stream, mut missing): (Tail, Option<&str>, Option<u64>),
    print: impl Fn(&Output, &EventSummary) -> Result<(), Error>,
) -> Result<(), Error> {
    let what = stream.map_or_else(String::new, |stream| format!("{stream} of "));
    session.output.say(&format!("following {what}{}; Ctrl-C ends it", source.name_slug));
    loop {
        match tail.next().await? {
            Step::Event(event) => {
                print(&session.output, &event)?;
                missing = missing.map(|missing| missing.saturating_sub(1));
                if missing == Some(0) {
                    return Ok(());
                }
            }
            Step::Gap { last_id } => {
                session.output.warn(&format!("events that came after {last_id} are missing"));
                session.output.hint("this reader was too slow for them; what the server has kept follows");
            }
            Step::NotKept { last_id } => {
                session.output.warn(&format!("events that came after {last_id} may be missing: not all are kept"));
            }
            Step::Lost { cause, pause } => {
                session.output.say(&format!("{cause}; trying again in {} s", pause.as_secs()));
            }
        }
    }
}

/// `14:03:27  channel  summary  {…}`, cut where the terminal ends.
pub fn print_event(output: &Output, event: &EventSummary) -> Result<(), Error> {
    if output.is_json {
        return output.json_line(event);
    }
    let time = output.paint(&Style::new().dim(), &clock_time(event.indexed_at_ms));
    let summary = event.metadata.summary.as_deref().map(|summary| {
        let summary = plain(&summary.replace(['\n', '\r', '\t'], " "));
        format!("{}  ", output.paint(&Style::new().bold(), &summary))
    });
    let channel = Some(&event.metadata.name).filter(|name| !name.is_empty() && !name.starts_with('$'));
    let channel = channel.map(|name| format!("{}  ", output.paint(&Style::new().cyan(), &plain(name))));
    let (channel, summary) = (channel.unwrap_or_default(), summary.unwrap_or_default());
    output.cut_line(&format!("{time}  {channel}{summary}{}", plain(&event.event.to_string())))
}

/// A source that emits elsewhere looks like one that does not emit at all.
async fn explain_silence(session: &Session, source: &Source, stream: Option<&str>) -> Result<(), Error> {
    session
        .output
        .say(&stream.map_or("there are no events".to_owned(), |name| format!("there are no events in {name}")));
    let others = list::streams_of(session, source).await?;
    let others = others.into_iter().filter(|other| other.events > 0 && Some(other.name.as_str()) != stream);
    let others: Vec<String> = others.map(|other| format!("`--stream '{}'` has {}", other.name, other.events)).collect();
    if !others.is_empty() {
        session.output.hint(&others.join(", "));
    }
    Ok(())
}
