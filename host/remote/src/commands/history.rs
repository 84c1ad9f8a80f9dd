//! `history`: the versions of a source.

use crate::error::Error;
use crate::find;
use crate::models::SourceVersion;
use crate::output::{Table, ago, table};
use crate::session::Connection;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id, slug or name of a source
    source: String,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let source = find::source(&session.client, &arguments.source).await?;
    let versions: Vec<SourceVersion> = session.client.get(&format!("sources/{}/versions", source.id)).await?;
    let heads = [
        table::whole("VERSION"),
        table::text("COMPONENT"),
        table::whole("CODE"),
        table::text("CHANGED"),
        table::whole("SINCE"),
    ];
    let mut table = Table::new(heads);
    for (place, version) in versions.iter().enumerate() {
        let number = if version.current { format!("{} *", version.version) } else { version.version.to_string() };
        let component = format!("{} {}", version.component_name, version.component_version);
        let before = versions.get(place + 1);
        let digest = version.digest.chars().take(12).collect();
        table.row([number, component, digest, changed(version, before), ago(version.created_at)]);
    }
    super::list::print(&session.output, &versions, &table, "no versions")?;
    if versions.len() > 1 {
        session.output.hint(&format!("wellspring rollback {}", source.name_slug));
    }
    Ok(())
}

/// What is different from the version before; nothing is known of what came before the first that is kept.
fn changed(version: &SourceVersion, before: Option<&SourceVersion>) -> String {
    let Some(before) = before else { return String::new() };
    let mut changed: Vec<&str> = Vec::new();
    if version.digest != before.digest {
        changed.push("code");
    }
    let (has, had) = (&version.configured_props, &before.configured_props);
    let names = has.keys().chain(had.keys().filter(|name| !has.contains_key(*name)));
    changed.extend(names.filter(|name| has.get(*name) != had.get(*name)).map(String::as_str));
    // Secret values are not shown, so a change of them cannot be seen here.
    if changed.is_empty() { "a secret value".to_owned() } else { changed.join(", ") }
}
