//! `rollback`: an earlier version of a source, once more.

use serde_json::{Map, Value, json};

use super::describe;
use crate::error::Error;
use crate::find;
use crate::models::{Source, SourceVersion};
use crate::session::Connection;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id, slug or name of a source
    source: String,
    /// The number of a version that `history` lists; the one before when absent
    version: Option<u32>,
    /// Go back to the code alone, and keep the props
    #[arg(long)]
    keep_props: bool,
    /// Go on when the deactivate hook fails
    #[arg(long)]
    ignore_hook_errors: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let source = find::source(&session.client, &arguments.source).await?;
    let versions: Vec<SourceVersion> = session.client.get(&format!("sources/{}/versions", source.id)).await?;
    let earlier = || versions.iter().filter(|version| !version.current);
    let Some(version) = arguments.version.or_else(|| earlier().next().map(|version| version.version)) else {
        let hint = "it has had no other code and no other props yet";
        return Err(Error::NothingToDo { hint });
    };
    if !earlier().any(|known| known.version == version) {
        let suggestions = earlier().map(|known| known.version.to_string()).collect();
        return Err(Error::NotFound { noun: "earlier version", wanted: version.to_string(), suggestions });
    }
    let mut body = Map::from_iter([("version".to_owned(), json!(version))]);
    for (name, flag) in [("keep_props", arguments.keep_props), ("ignore_hook_errors", arguments.ignore_hook_errors)] {
        if flag {
            body.insert(name.to_owned(), json!(true));
        }
    }
    let progress = session.output.progress("rolling back: the source's hooks run");
    let path = format!("sources/{}/rollback", source.id);
    let source: Source = session.client.post(&path, &Value::Object(body)).await?;
    drop(progress);
    if session.output.is_json {
        return session.output.json(&source);
    }
    let number = source.version();
    session.output.say(&format!("rolled {} back to version {version}, as version {number}", source.name_slug));
    describe::print_source(&session, &source)
}
