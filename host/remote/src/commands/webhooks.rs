//! `webhooks`: where events are delivered to.

use serde_json::json;

use super::{describe, list};
use crate::error::Error;
use crate::find;
use crate::models::Webhook;
use crate::output::get_field;
use crate::session::Connection;

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
        Some(Command::Delete { webhook }) => {
            let webhook = find::webhook(&session.client, webhook).await?;
            session.client.delete(&format!("webhooks/{}", webhook.id), &[]).await?;
            session.output.deleted(&webhook.id, &webhook.url)
        }
    }
}
