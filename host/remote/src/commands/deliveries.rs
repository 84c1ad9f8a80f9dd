//! `deliveries`: what could not be delivered, and once more.

use serde_json::{Value, json};

use super::list;
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
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
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
        let field = |name: &str| match attempt.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let time = |name: &str| attempt.get(name).and_then(Value::as_i64).map_or_else(String::new, clock_time);
        let answer = if attempt.get("status").is_some() { field("status") } else { field("error") };
        table.row([
            time("at_ms"),
            field("state"),
            field("attempt"),
            answer,
            field("ms"),
            field("emit_id"),
            time("next_attempt_ms"),
        ]);
    }
    list::print(&session.output, &page.data, &table, "nothing was delivered yet")
}

async fn replay(session: &Session, id: &str) -> Result<(), Error> {
    let replayed: Value = session.client.post(&format!("dead_letters/{id}/replay"), &json!({})).await?;
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
