//! `deliveries`: what waits, what was tried, what could not be delivered, and once more, also of what was delivered.

use serde_json::{Map, Value, json};

use super::{list, subscribe};
use crate::client::path_segment;
use crate::error::Error;
use crate::find;
use crate::models::{DeadLetter, Page};
use crate::output::table::{text, whole};
use crate::output::{Table, ago, clock_time};
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The last attempts to deliver to this webhook, by its id or name, also while they fail
    #[arg(long, value_name = "WEBHOOK")]
    webhook: Option<String>,
    /// What waits in the queue, the next first: new, tried again, or paused; with --webhook only what goes to it
    #[arg(long)]
    pending: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List deliveries that were given up (what `deliveries` alone does)
    List,
    /// Deliver again
    Replay {
        /// The ids of deliveries
        #[arg(required_unless_present = "all")]
        ids: Vec<String>,
        /// Everything that was given up
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
    /// Deliver an event that is kept again: to everything that listens to it, or to one listener
    Redeliver {
        /// The id, slug or name of the source that emitted it
        source: String,
        /// The id of the event, as `events --json` and the console show it
        event: String,
        /// This source, workflow or webhook alone, by its id or name, whether it listens or not
        #[arg(long, value_name = "LISTENER")]
        to: Option<String>,
        /// The stream that has it; all channels are looked through without it
        #[arg(long, value_name = "NAME")]
        stream: Option<String>,
    },
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    if arguments.pending {
        return show_pending(&session, arguments.webhook.as_deref()).await;
    }
    if let Some(webhook) = &arguments.webhook {
        return show_attempts(&session, webhook).await;
    }
    match &arguments.command {
        None | Some(Command::List) => show(&session).await,
        Some(Command::Replay { all: true, .. }) => {
            let letters: Vec<DeadLetter> = session.client.all("users/me/dead_letters").await?;
            for letter in &letters {
                replay(&session, &letter.id).await?;
            }
            session.output.say(&format!("under way again: {}", letters.len()));
            Ok(())
        }
        Some(Command::Replay { ids, .. }) => {
            for id in ids {
                let letter = find::delivery(&session.client, id).await?;
                replay(&session, &letter.id).await?;
                session.output.say(&format!("{} is under way again to {}", letter.id, letter.listener));
            }
            Ok(())
        }
        Some(Command::Redeliver { source, event, to, stream }) => {
            redeliver(&session, source, event, (to.as_deref(), stream.as_deref())).await
        }
    }
}

async fn redeliver(
    session: &Session,
    source: &str,
    event: &str,
    (to, stream): (Option<&str>, Option<&str>),
) -> Result<(), Error> {
    let source = find::source(&session.client, source).await?;
    let mut body = Map::new();
    if let Some(listener) = to {
        body.insert("listener_id".to_owned(), json!(subscribe::listener_id(&session.client, listener).await?));
    }
    if let Some(stream) = stream {
        body.insert("event_name".to_owned(), json!(stream));
    }
    let path = format!("sources/{}/events/{}/redeliver", source.id, path_segment(event)?);
    let redelivered: Value = session.client.post(&path, &Value::Object(body)).await?;
    if session.output.is_json {
        return session.output.json(&redelivered);
    }
    let listeners = redelivered.get("listeners").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if listeners.is_empty() {
        session.output.say("nothing listens to it");
        session.output.hint(&format!("wellspring subscribe {} LISTENER", source.name_slug));
        return Ok(());
    }
    let names: Vec<String> = listeners.iter().map(|listener| shown(Some(listener))).collect();
    session.output.say(&format!("{event} is under way again to {}", names.join(", ")));
    Ok(())
}

/// Of what waits in line the first is a row, which says how many are behind it.
async fn show_pending(session: &Session, webhook: Option<&str>) -> Result<(), Error> {
    let mut path = "users/me/pending_deliveries".to_owned();
    if let Some(webhook) = webhook {
        path = format!("{path}?listener_id={}", find::webhook(&session.client, webhook).await?.id);
    }
    let waiting: Vec<Value> = session.client.get(&path).await?;
    let mut table = Table::new([
        whole("NEXT"),
        whole("STATE"),
        whole("ATTEMPTS"),
        whole("BEHIND"),
        whole("LISTENER"),
        whole("EMITTER"),
        text("STREAM"),
        whole("EVENT"),
    ]);
    for delivery in &waiting {
        let field = |name: &str| shown(delivery.get(name));
        table.row([
            delivery.get("next_attempt_ms").and_then(Value::as_i64).map_or_else(String::new, clock_time),
            field("state"),
            field("attempts"),
            field("behind"),
            field("listener_id"),
            field("emitter_id"),
            field("event_name"),
            field("emit_id"),
        ]);
    }
    list::print(&session.output, &waiting, &table, "nothing waits")
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// What a receiver answered: its status and the beginning of what it said, or why there was no answer.
pub(super) fn answer(attempt: &Value) -> String {
    match (attempt.get("status"), attempt.get("excerpt")) {
        (None, _) => shown(attempt.get("error")),
        (status, None) => shown(status),
        (status, excerpt) => format!("{} {}", shown(status), shown(excerpt)),
    }
}

async fn show_attempts(session: &Session, webhook: &str) -> Result<(), Error> {
    const SHOWN: usize = 50;
    let webhook = find::webhook(&session.client, webhook).await?;
    let page: Page<Value> = session.client.page(&format!("webhooks/{}/deliveries", webhook.id), &[], SHOWN).await?;
    let mut table = Table::new([
        whole("TIME"),
        whole("STATE"),
        whole("ATTEMPT"),
        text("ANSWER"),
        whole("MS"),
        whole("EVENT"),
        whole("NEXT"),
    ]);
    for attempt in &page.data {
        let field = |name: &str| shown(attempt.get(name));
        let time = |name: &str| attempt.get(name).and_then(Value::as_i64).map_or_else(String::new, clock_time);
        table.row([
            time("at_ms"),
            field("state"),
            field("attempt"),
            answer(attempt),
            field("ms"),
            field("emit_id"),
            time("next_attempt_ms"),
        ]);
    }
    list::print(&session.output, &page.data, &table, "nothing was delivered yet")
}

async fn replay(session: &Session, id: &str) -> Result<(), Error> {
    let replayed: Value =
        session.client.post(&format!("dead_letters/{}/replay", path_segment(id)?), &json!({})).await?;
    if session.output.is_json {
        session.output.json_line(&replayed)?;
    }
    Ok(())
}

async fn show(session: &Session) -> Result<(), Error> {
    let letters: Vec<DeadLetter> = session.client.all("users/me/dead_letters").await?;
    let mut table = Table::new([
        whole("ID"),
        whole("LISTENER"),
        text("REASON"),
        whole("ATTEMPTS"),
        whole("SINCE"),
        whole("EMITTER"),
        text("STREAM"),
    ]);
    for letter in &letters {
        table.row([
            letter.id.clone(),
            letter.listener.clone(),
            letter.reason.clone(),
            letter.attempts.to_string(),
            ago(letter.created_at),
            letter.emitter.clone(),
            letter.event_name.clone(),
        ]);
    }
    list::print(&session.output, &letters, &table, "nothing was given up")
}
