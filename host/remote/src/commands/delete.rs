//! `delete`: sources, for good.

use crate::ask::{self, Ask};
use crate::error::Error;
use crate::find;
use crate::models::Source;
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The ids, slugs or names of sources
    #[arg(required = true)]
    sources: Vec<String>,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
    /// Go on when the deactivate hook fails
    #[arg(long)]
    ignore_hook_errors: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

/// All are found before the first one is deleted: a typo deletes nothing.
pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let mut sources = Vec::new();
    for wanted in &arguments.sources {
        sources.push(find::source(&session.client, wanted).await?);
    }
    if !arguments.yes && !is_confirmed(&sources)? {
        return Err(Error::Interrupted);
    }
    for source in &sources {
        delete(&session, source, arguments.ignore_hook_errors).await?;
    }
    Ok(())
}

async fn delete(session: &Session, source: &Source, ignore_hook_errors: bool) -> Result<(), Error> {
    let query: &[(&str, &str)] = if ignore_hook_errors { &[("ignore_hook_errors", "true")] } else { &[] };
    session.client.delete(&format!("sources/{}", source.id), query).await?;
    match session.output.is_json {
        true => session.output.json_line(&serde_json::json!({"deleted": source.id})),
        false => {
            session.output.say(&format!("deleted {} ({})", source.name_slug, source.id));
            Ok(())
        }
    }
}

fn is_confirmed(sources: &[Source]) -> Result<bool, Error> {
    let person = ask::person().ok_or(Error::NotConfirmed { noun: "deleting" })?;
    let names: Vec<&str> = sources.iter().map(|source| source.name_slug.as_str()).collect();
    person.confirm(&format!("Delete {} with all events?", names.join(", ")), false)
}
