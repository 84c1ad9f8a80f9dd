//! `publish` and `unpublish`: code that others, or you later, can deploy by its key.

use super::deploy;
use crate::client::path_segment;
use crate::error::Error;
use crate::session::Connection;

#[derive(Debug, clap::Args)]
pub struct PublishArguments {
    /// A file, an address of one, or `example:NAME`
    component: String,
    /// Publish it to all users of the server, under its key. Needs the key of an admin
    #[arg(long)]
    registry: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Args)]
pub struct UnpublishArguments {
    /// The key of a component of the registry
    key: String,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn publish(arguments: &PublishArguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let no_code = || Error::NotFound { noun: "file", wanted: arguments.component.clone(), suggestions: Vec::new() };
    let body = deploy::code_body(&arguments.component)?.ok_or_else(no_code)?;
    let path = if arguments.registry { "admin/registry" } else { "components" };
    let component = deploy::save(&session, path, &body).await?;
    if session.output.is_json {
        return session.output.json(&component);
    }
    session.output.line(&component.id)?;
    let name = component.key.as_deref().unwrap_or(&component.id);
    match component.kind.as_str() {
        "action" => session.output.hint(&format!("wellspring run {name}")),
        _ => session.output.hint(&format!("wellspring deploy {name}")),
    }
    Ok(())
}

pub(super) async fn unpublish(arguments: &UnpublishArguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    session.client.delete(&format!("admin/registry/{}", path_segment(&arguments.key)?), &[]).await?;
    session.output.say(&format!("unpublished {}; sources made from it go on", arguments.key));
    Ok(())
}
