//! `components`: saved code.

use super::{delete, list};
use crate::error::Error;
use crate::find;
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
    /// List your components (what `components` alone does)
    List,
    /// Delete components that no source and no workflow uses
    Delete {
        /// The ids, keys or names of components
        #[arg(required = true)]
        components: Vec<String>,
        /// Do not ask
        #[arg(long, short = 'y')]
        yes: bool,
    },
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let Some(Command::Delete { components, yes }) = &arguments.command else {
        return list::components(&session).await;
    };
    let mut found = Vec::new();
    for wanted in components {
        found.push(delete::Target::Component(find::own_component(&session.client, wanted).await?));
    }
    delete::delete_all(&session, &found, delete::DeleteOptions { yes: *yes, ignore_hook_errors: false }).await
}
