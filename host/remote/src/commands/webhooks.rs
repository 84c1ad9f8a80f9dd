//! `webhooks`: where events are delivered to.

use serde_json::{Value, json};

use super::{describe, list};
use crate::error::Error;
use crate::find;
use crate::models::Webhook;
use crate::output::{Fields, get_field};
use crate::session::{Connection, Session};
use crate::spans::Span;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List your webhooks (what `webhooks` alone does)
    List,
    /// Create a webhook; its signing secret is shown this once
    Create {
        /// Where to deliver to
        #[arg(value_name = "URL")]
        address: String,
        /// For you to recognise it
        #[arg(long)]
        name: Option<String>,
        /// For you to remember
        #[arg(long)]
        description: Option<String>,
        /// Print one field and nothing else: `id`, `signing_secret`
        #[arg(long, value_name = "FIELD")]
        get: Option<String>,
    },
    /// Change a webhook, or activate it again after its receiver answered 410 (gone)
    Update {
        /// The id, name or address of a webhook
        webhook: String,
        /// Deliver to it
        #[arg(long, conflicts_with = "deactivate")]
        activate: bool,
        /// Deliver nothing to it
        #[arg(long)]
        deactivate: bool,
        /// Where to deliver to from now on; the signing secret stays
        #[arg(long, value_name = "URL")]
        address: Option<String>,
        /// For you to recognise it
        #[arg(long)]
        name: Option<String>,
        /// For you to remember
        #[arg(long)]
        description: Option<String>,
    },
    /// Post a signed test event now, and show what the receiver answers; it is not tried again
    Test {
        /// The id, name or address of a webhook
        webhook: String,
    },
    /// Let deliveries wait in the queue, in their order
    Pause {
        /// The id, name or address of a webhook
        webhook: String,
    },
    /// Go on with deliveries that wait
    Resume {
        /// The id, name or address of a webhook
        webhook: String,
    },
    /// Make a new signing secret and print it; it is shown this once
    RotateSecret {
        /// The id, name or address of a webhook
        webhook: String,
        /// How long deliveries are also signed with the secret before: `90s`, `12h`, `7d`, or 0 for not at all
        #[arg(long, value_name = "TIME", default_value = "24h")]
        overlap: Span,
    },
    /// Delete a webhook and its subscriptions
    Delete {
        /// The id, name or address of a webhook
        webhook: String,
    },
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    match &arguments.command {
        None | Some(Command::List) => list::webhooks(&session).await,
        Some(Command::Update { webhook, activate, deactivate, address, name, description }) => {
            let active = (*activate || *deactivate).then_some(*activate);
            let body = json!({"active": active, "url": address, "name": name, "description": description});
            update(&session, webhook, &body).await
        }
        Some(Command::Create { address, name, description, get }) => {
            let body = json!({"url": address, "name": name, "description": description});
            let webhook: Webhook = session.client.post("webhooks", &body).await?;
            if let Some(field) = get {
                return session.output.line(&get_field(&webhook, field)?);
            }
            if session.output.is_json {
                return session.output.json(&webhook);
            }
            describe::print_webhook(&session, &webhook)?;
            session.output.say("the secret is shown only now; deliveries are signed with it");
            session.output.hint(&format!("wellspring subscribe SOURCE {}", webhook.id));
            Ok(())
        }
        Some(Command::Test { webhook }) => test(&session, webhook).await,
        Some(Command::Pause { webhook }) => set_paused(&session, webhook, true).await,
        Some(Command::Resume { webhook }) => set_paused(&session, webhook, false).await,
        Some(Command::RotateSecret { webhook, overlap }) => rotate_secret(&session, webhook, *overlap).await,
        Some(Command::Delete { webhook }) => {
            let webhook = find::webhook(&session.client, webhook).await?;
            session.client.delete(&format!("webhooks/{}", webhook.id), &[]).await?;
            session.output.deleted(&webhook.id, &webhook.url)
        }
    }
}

async fn test(session: &Session, wanted: &str) -> Result<(), Error> {
    let webhook = find::webhook(&session.client, wanted).await?;
    let attempt: Value = session.client.post(&format!("webhooks/{}/test", webhook.id), &json!({})).await?;
    let given = |name: &str| attempt.get(name).filter(|value| !value.is_null());
    let text = |name: &str| given(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let cause = match (text("state").as_deref(), text("error"), text("status")) {
        (Some("delivered"), _, _) => None,
        (_, Some(error), _) => Some(error),
        (_, None, Some(status)) => Some(format!("the receiver answered {status}")),
        (_, None, None) => Some("the server does not say why".to_owned()),
    };
    let done = cause.map_or(Ok(()), |cause| Err(Error::TestNotDelivered { cause }));
    if session.output.is_json {
        session.output.json(&attempt)?;
        return done;
    }
    Fields::default()
        .field("to", &webhook.url)
        .field("state", text("state").unwrap_or_default())
        .field_if("status", text("status"))
        .field_if("answer", text("excerpt"))
        .field_if("error", text("error"))
        .field("ms", text("ms").unwrap_or_default())
        .field("event", text("emit_id").unwrap_or_default())
        .print(&session.output)?;
    done
}

async fn set_paused(session: &Session, wanted: &str, is_paused: bool) -> Result<(), Error> {
    let webhook = find::webhook(&session.client, wanted).await?;
    let verb = if is_paused { "pause" } else { "resume" };
    let changed: Webhook = session.client.post(&format!("webhooks/{}/{verb}", webhook.id), &json!({})).await?;
    if session.output.is_json {
        return session.output.json(&changed);
    }
    session.output.say(match is_paused {
        true => "paused: deliveries wait in the queue until `webhooks resume`",
        false => "resumed: what waits is delivered within seconds",
    });
    Ok(())
}

/// The secret alone is data, as with a new key.
async fn rotate_secret(session: &Session, wanted: &str, overlap: Span) -> Result<(), Error> {
    let webhook = find::webhook(&session.client, wanted).await?;
    let body = json!({"overlap_seconds": overlap.seconds()});
    let rotated: Webhook = session.client.post(&format!("webhooks/{}/rotate_secret", webhook.id), &body).await?;
    if session.output.is_json {
        return session.output.json(&rotated);
    }
    session.output.say(match overlap.seconds() {
        0 => "the secret is shown only now; the one before is no longer used",
        _ => "the secret is shown only now; until the overlap ends deliveries are signed with the one before as well",
    });
    session.output.line(rotated.signing_secret.as_deref().unwrap_or_default())
}

/// What is null in the body stays as it is.
async fn update(session: &Session, wanted: &str, body: &Value) -> Result<(), Error> {
    if body.as_object().is_some_and(|fields| fields.values().all(Value::is_null)) {
        return Err(Error::NothingToDo { hint: "give --activate, --deactivate, --address, --name or --description" });
    }
    let webhook = find::webhook(&session.client, wanted).await?;
    let webhook: Webhook = session.client.put(&format!("webhooks/{}", webhook.id), body).await?;
    if session.output.is_json {
        return session.output.json(&webhook);
    }
    session.output.say("updated");
    describe::print_webhook(session, &webhook)
}
