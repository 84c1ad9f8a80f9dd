//! `deploy`: from a file, an address or a saved component to a running source.
//!
//! Deploying again updates: the source of the name that is given, or else the one source that runs the same component.

use std::path::Path;

use serde_json::{Map, Value, json};

mod again;

use super::{describe, update};
use crate::ask::{self, Ask};
use crate::error::Error;
use crate::examples;
use crate::files;
use crate::find;
use crate::models::{Component, LogLine, Source};
use crate::output::get_field;
use crate::props::{Filler, PropArguments};
use crate::session::{Connection, Session};

/// More is for `logs`.
const HOOK_LINES: usize = 20;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A file, an address of one, `example:NAME`, or the id, key or name of a component
    component: String,
    /// What to call the source; the component's name when absent. A source of this name is updated
    #[arg(long)]
    name: Option<String>,
    /// Make another source, even if one of this component is there already
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    props: PropArguments,
    /// Keep the tokens of its accounts out of the sandbox: the server adds them to requests to the app's own hosts
    #[arg(long, value_parser = ["token", "proxy"])]
    auth: Option<String>,
    /// First run so many recorded runs of the source that --like names on this code, and show what would be different
    #[arg(long, value_name = "COUNT", requires = "like", value_parser = clap::value_parser!(u64).range(1..=200))]
    shadow: Option<u64>,
    /// The id, slug or name of a source whose recorded runs are a test of this code
    #[arg(long, value_name = "SOURCE", requires = "shadow")]
    like: Option<String>,
    /// Deploy also when recorded runs go differently
    #[arg(long, requires = "shadow")]
    yes: bool,
    /// Ask nothing, not even on a terminal
    #[arg(long)]
    no_input: bool,
    /// Print one field of the source and nothing else: `endpoint`, `id`, `configured_props.timer.cron`
    #[arg(long, value_name = "FIELD")]
    get: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    if let (Some(runs), Some(like)) = (arguments.shadow, &arguments.like) {
        let source = find::source(&session.client, like).await?;
        update::shadow(&session, &arguments.component, &source, (runs, arguments.yes)).await?;
    }
    let component = component_to_deploy(&session, &arguments.component).await?;
    let deployed = deploy(&session, arguments, &component).await;
    let (source, deployed) = keep_or_discard(&session, &arguments.component, &component, deployed).await?;
    if deployed == Deployed::Unchanged {
        discard(&session, &arguments.component, &component).await;
    }
    if let Some(field) = &arguments.get {
        return session.output.line(&get_field(&describe::source_with_shortcuts(&session, &source), field)?);
    }
    if session.output.is_json {
        return session.output.json(&source);
    }
    tell(&session, &source, deployed).await;
    describe::print_source(&session, &source)?;
    suggest_next(&session, &source, deployed);
    Ok(())
}

/// What a deploy did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deployed {
    New,
    Updated,
    /// The source runs this code with these props already.
    Unchanged,
}

async fn tell(session: &Session, source: &Source, deployed: Deployed) {
    let (slug, version) = (&source.name_slug, source.version());
    match deployed {
        Deployed::New => {
            show_log(session, source).await;
            session.output.say(&format!("deployed {slug}"));
        }
        Deployed::Updated => session.output.say(&format!("updated {slug}, version {version} now")),
        Deployed::Unchanged => session.output.say(&format!("{slug} is up to date, at version {version}")),
    }
    if deployed != Deployed::New && !source.active {
        session.output.hint(&format!("it is not active; `wellspring update {slug} --activate` lets it run"));
    }
}

async fn deploy(session: &Session, arguments: &Arguments, component: &Component) -> Result<(Source, Deployed), Error> {
    if component.kind == "action" {
        return Err(action_error());
    }
    let (name, auth) = (arguments.name.as_deref(), arguments.auth.as_deref());
    let asked = again::Asked { wanted: &arguments.component, name, auth, may_ask: !arguments.no_input };
    let existing = match arguments.new {
        true => None,
        false => again::existing(session, &asked, component).await?,
    };
    if let Some(existing) = existing {
        return again::update(session, &asked, &arguments.props, &existing, component).await;
    }
    let given = arguments.props.read(&component.configurable_props)?;
    let person = ask::person().filter(|_| !arguments.no_input);
    let filler = Filler { client: &session.client, person: person.as_ref().map(|person| person as &dyn Ask) };
    let props = filler.fill(component, given).await?;
    Ok((create(session, component, arguments, &props).await?, Deployed::New))
}

/// What was done with a component; one that was saved for it alone goes when it failed. The server would find that out
/// by itself, in a day.
pub(super) async fn keep_or_discard<T>(
    session: &Session,
    wanted: &str,
    component: &Component,
    done: Result<T, Error>,
) -> Result<T, Error> {
    if done.is_err() {
        discard(session, wanted, component).await;
    }
    done
}

/// Deletes a component that was saved for a deploy which did not come to use it. Not worth an error: a server that refused
/// the deploy may have removed it already, and any other does so in a day.
async fn discard(session: &Session, wanted: &str, component: &Component) {
    if is_code(wanted) {
        let _ = session.client.delete(&format!("components/{}", component.id), &[]).await;
    }
}

async fn create(
    session: &Session,
    component: &Component,
    arguments: &Arguments,
    props: &Map<String, Value>,
) -> Result<Source, Error> {
    let mut body = json!({"component_id": component.id, "configured_props": props});
    for (field, value) in [("name", &arguments.name), ("auth", &arguments.auth)] {
        if let (Some(value), Some(fields)) = (value, body.as_object_mut()) {
            fields.insert(field.to_owned(), json!(value));
        }
    }
    let _progress = session.output.progress("deploying: the source's hooks run");
    session.client.post("sources", &body).await
}

/// What the hooks wrote: the log of a source that has just been made holds nothing else. Not worth failing for.
async fn show_log(session: &Session, source: &Source) {
    let page = session.client.page::<LogLine>(&format!("sources/{}/logs", source.id), &[], HOOK_LINES).await;
    let lines = page.map(|page| page.data).unwrap_or_default();
    for line in lines.iter().rev() {
        session.output.say(&format!("{:5}  {}", line.level, line.message.trim_end()));
    }
}

/// Finds it, or saves it from a file or an address, to go with the source that is made of it.
pub(super) async fn component_to_deploy(session: &Session, wanted: &str) -> Result<Component, Error> {
    let Some(mut body) = code_body(wanted)? else {
        return find::component(&session.client, wanted).await;
    };
    if let Some(fields) = body.as_object_mut() {
        fields.insert("temporary".to_owned(), json!(true));
    }
    save(session, "components", &body).await
}

/// Sends code; what takes long is fetching its packages for the first time.
pub(super) async fn save(session: &Session, path: &str, body: &Value) -> Result<Component, Error> {
    let progress = session.output.progress("linking the component and its packages");
    let followed = session.client.post_followed(path, body, |stage| progress.set(&stage.to_string()));
    let component: Component = followed.await?;
    drop(progress);
    let packages = component.rest.get("dependencies").and_then(Value::as_array).map_or(0, Vec::len);
    let with = if packages == 0 { String::new() } else { format!(" with {packages} packages") };
    session.output.say(&format!("linked {} {}{with} as {}", component.name, component.version, component.id));
    for note in component.rest.get("notes").and_then(Value::as_array).into_iter().flatten() {
        let text = |name: &str| note.get(name).and_then(Value::as_str).unwrap_or_default();
        session.output.warn(&format!("{}: {}", text("path"), text("message")));
    }
    let warnings = component.rest.get("warnings").and_then(Value::as_array);
    for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
        session.output.warn(warning.trim_end());
    }
    Ok(component)
}

/// What is sent for a file or an address; none for what must be the name of a component.
pub(super) fn code_body(wanted: &str) -> Result<Option<Value>, Error> {
    if is_address(wanted) {
        return Ok(Some(json!({"component_url": wanted})));
    }
    if examples::is_example(wanted) {
        return examples::collect(wanted).map(|collected| Some(collected.to_body()));
    }
    if is_path(wanted) {
        return files::collect(Path::new(wanted)).map(|collected| Some(collected.to_body()));
    }
    Ok(None)
}

/// Not the name of a component that is there already.
fn is_code(wanted: &str) -> bool {
    is_address(wanted) || is_path(wanted) || examples::is_example(wanted)
}

fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// A file that is there, or something that can only be meant as one.
pub(crate) fn is_path(text: &str) -> bool {
    const ENDINGS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];
    let path = Path::new(text);
    let has_ending = path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    text.contains('/') || has_ending || path.is_file()
}

fn action_error() -> Error {
    Error::Refused {
        status: 422,
        code: "wrong_component_type".to_owned(),
        message: "this is an action, and actions are not deployed".to_owned(),
        details: Value::Null,
    }
}

fn suggest_next(session: &Session, source: &Source, deployed: Deployed) {
    let slug = &source.name_slug;
    if deployed == Deployed::Updated {
        session.output.hint(&format!("wellspring rollback {slug}"));
    }
    if let Some(endpoint) = source.endpoint() {
        let body = r#"'{"hello": "world"}'"#;
        session.output.hint(&format!("curl {endpoint} -H 'content-type: application/json' -d {body}"));
    }
    session.output.hint(&format!("wellspring events {slug} -f"));
}
