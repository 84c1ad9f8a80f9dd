//! `delete`: sources and components, for good.

use crate::ask;
use crate::error::Error;
use crate::find;
use crate::models::{Component, Source};
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The ids, slugs or names of sources, or the ids of components
    #[arg(required = true, value_name = "SOURCE|COMPONENT")]
    targets: Vec<String>,
    #[command(flatten)]
    manner: DeleteOptions,
    #[command(flatten)]
    pub(super) connection: Connection,
}

/// Options of a deletion.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct DeleteOptions {
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(super) yes: bool,
    /// Go on when the deactivate hook of a source fails
    #[arg(long)]
    pub(super) ignore_hook_errors: bool,
}

/// What is deleted.
pub(super) enum Target {
    Source(Source),
    Component(Component),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let mut targets = Vec::new();
    for wanted in &arguments.targets {
        // Sources go by their names. A component may have the name of a source, so it goes by its id.
        targets.push(match find::is_id(wanted, "sc_") {
            true => Target::Component(find::own_component(&session.client, wanted).await?),
            false => Target::Source(find::source(&session.client, wanted).await?),
        });
    }
    delete_all(&session, &targets, arguments.manner).await
}

/// All were found before the first one is deleted: a typo deletes nothing. Sources go first, they hold components.
pub(super) async fn delete_all(session: &Session, targets: &[Target], manner: DeleteOptions) -> Result<(), Error> {
    if !manner.yes {
        let names: Vec<String> = targets.iter().map(Target::described).collect();
        ask::confirm(&format!("Delete {}?", names.join(", ")))?;
    }
    let (sources, components): (Vec<_>, Vec<_>) =
        targets.iter().partition(|target| matches!(target, Target::Source(_)));
    for target in sources.into_iter().chain(components) {
        match target {
            Target::Source(source) => {
                let query: &[(&str, &str)] =
                    if manner.ignore_hook_errors { &[("ignore_hook_errors", "true")] } else { &[] };
                session.client.delete(&format!("sources/{}", source.id), query).await?;
                session.output.deleted(&source.id, &source.name_slug)?;
            }
            Target::Component(component) => {
                session.client.delete(&format!("components/{}", component.id), &[]).await?;
                session.output.deleted(&component.id, &component.name)?;
            }
        }
    }
    Ok(())
}

// === impl Target ===

impl Target {
    fn described(&self) -> String {
        match self {
            Self::Source(source) => format!("{} with all events", source.name_slug),
            Self::Component(component) => format!("the component {} ({})", component.name, component.id),
        }
    }
}
