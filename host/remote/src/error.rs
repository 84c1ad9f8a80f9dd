//! The errors of a command, each with a hint what to do about it.

use std::path::PathBuf;

use serde_json::{Value, json};

/// Everything went wrong for one of these reasons. The message says what, [`Error::hint`] what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no API key for {url}")]
    NotLoggedIn { url: String },
    #[error("the API key is not valid at {url}")]
    WrongKey { url: String },
    #[error("{url} cannot be reached: {cause}")]
    Unreachable { url: String, cause: String },
    #[error("{url} did not answer in time")]
    TimedOut { url: String },
    #[error("{url} does not answer as a Wellspring server does")]
    NotAServer { url: String },
    #[error("{url} sends clients on to {location}")]
    Moved { url: String, location: String },
    #[error("{url} answered something that this client does not understand")]
    NotUnderstood { url: String },
    #[error("the server does not know this command: it is version {server}, this is {client}")]
    OtherVersion { server: String, client: &'static str },
    /// The server said no; `details` are what the author of a component needs.
    #[error("{message}")]
    Refused { status: u16, code: String, message: String, details: Value },
    #[error("there is no {noun} `{wanted}`")]
    NotFound { noun: &'static str, wanted: String, suggestions: Vec<String> },
    #[error("`{wanted}` is the name of several {noun}s: {}", candidates.join(", "))]
    Ambiguous { noun: &'static str, wanted: String, candidates: Vec<String> },
    #[error("there are several {noun}s called {name}: {}", candidates.join(", "))]
    SameName { noun: &'static str, name: String, candidates: Vec<String> },
    #[error("several sources run {component}: {}", sources.join(", "))]
    SeveralSources { component: String, sources: Vec<String> },
    #[error("{source_name} runs another component: {runs}")]
    OtherComponent { source_name: String, runs: String, wanted: String },
    #[error("{source_name} belongs to the project {project}")]
    OtherProject { source_name: String, project: String },
    #[error("{}: {problem}", path.display())]
    Project { path: PathBuf, problem: String },
    #[error("there is no secret {name} for the prop `{prop}`: it is neither in {} nor in the environment", path.display())]
    NoSecret { name: String, prop: String, path: PathBuf },
    #[error("--prune needs a folder, and {} is one file: what is gone cannot be told from it", path.display())]
    PruneOfFile { path: PathBuf },
    #[error("the project is called {name}, as that of what `wellspring dev` deploys, and --prune would delete that")]
    PruneOfDev { name: String },
    #[error("{count} of {of} components cannot be applied; nothing was changed")]
    NotApplied { count: usize, of: usize },
    #[error("there is no profile `{name}`")]
    NoProfile { name: String, suggestions: Vec<String> },
    #[error("`{given}` is not an address")]
    InvalidUrl { given: String },
    #[error("no address can hold `{given}` as a name")]
    NoAddress { given: String },
    #[error("the profiles in {} cannot be read: {cause}", path.display())]
    Profiles { path: PathBuf, cause: String },
    #[error("there is no folder for the configuration: neither XDG_CONFIG_HOME nor HOME is set")]
    NoConfigFolder,
    #[error("cannot {verb} {}", path.display())]
    File { verb: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} cannot be read as JSON: {source}", path.display())]
    NotJson { path: PathBuf, source: serde_json::Error },
    #[error("{} cannot be read as YAML: {source}", path.display())]
    NotYaml { path: PathBuf, source: serde_yaml_ng::Error },
    #[error("the component has more than {limit} {what}")]
    TooLarge { what: &'static str, limit: usize },
    #[error("`{given}`: write it as name=value")]
    MalformedProp { given: String },
    #[error("the component has no prop `{name}`")]
    UnknownProp { name: String, suggestions: Vec<String> },
    #[error("`{given}` is no value for the prop `{name}`: it must be {expected}")]
    InvalidProp { name: String, given: String, expected: String },
    #[error("values are missing for {}", names.join(", "))]
    MissingProps { names: Vec<String>, examples: Vec<String> },
    #[error("values are missing for {}", names.join(", "))]
    MissingEntries { names: Vec<String>, table: String },
    #[error("this needs a confirmation, and there is no terminal to ask on: {question}")]
    NotConfirmed { question: String },
    #[error("the replay of {run} did something else than the run")]
    Differs { run: String },
    #[error("{changed} of {runs} recorded runs go differently with the new code")]
    Regressed { changed: usize, runs: usize },
    #[error("the credentials are not a JSON object of strings")]
    MalformedCredentials,
    #[error("the account is not connected: {message}")]
    NotConnected { message: String },
    #[error("the service does not accept the account {account}")]
    AccountRefused { account: String },
    #[error("`{given}`: write it as name=value")]
    MalformedField { given: String },
    #[error("{} exists", path.display())]
    Exists { path: PathBuf },
    #[error("there is no field `{field}`")]
    NoField { field: String, suggestions: Vec<String> },
    #[error("the run failed: {message}")]
    RunFailed { message: String },
    #[error("the test event was not delivered: {cause}")]
    TestNotDelivered { cause: String },
    #[error("`{name}` is the component of a source, and not a source")]
    NotDeployed { name: String },
    #[error("nothing to change")]
    NothingToDo { hint: &'static str },
    #[error("an answer is needed, and there is no terminal")]
    NoTerminal { hint: &'static str },
    #[error("the stream has ended: {cause}")]
    StreamEnded { cause: &'static str },
    /// Ctrl-C, also at a prompt.
    #[error("interrupted")]
    Interrupted,
    /// The reader of the output closed it, as `head` does: ends the command without a message.
    #[error("the output was closed")]
    OutputClosed,
    #[error("the output cannot be written")]
    Output { source: std::io::Error },
}

/// How a command ended, for scripts.
pub mod exit {
    pub const DONE: u8 = 0;
    pub const FAILED: u8 = 1;
    pub const USAGE: u8 = 2;
    /// 128 + SIGINT, as shells count.
    pub const INTERRUPTED: u8 = 130;
}

// === impl Error ===

impl Error {
    /// What to do about it, when there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotLoggedIn { .. } => "run `wellspring login`, or set WELLSPRING_API_KEY".to_owned(),
            Self::WrongKey { url } => format!("run `wellspring login --url {url}` with a key that is valid there"),
            Self::Unreachable { .. } => {
                "is the server running? `wellspring serve` starts one; `--url` names another".to_owned()
            }
            Self::NotAServer { .. } | Self::InvalidUrl { .. } => {
                "the address of a server looks like http://127.0.0.1:7717".to_owned()
            }
            Self::Moved { location, .. } => format!("use --url {location}"),
            Self::OtherVersion { .. } => "use a client and a server of the same version".to_owned(),
            Self::Refused { code, details, .. } => return hint_of_refusal(code, details),
            Self::NotFound { suggestions, noun, .. } => {
                return did_you_mean(suggestions).or_else(|| listed_by(noun));
            }
            Self::SeveralSources { .. } => "say which with --name, or make another one with --new".to_owned(),
            Self::OtherComponent { source_name, wanted, .. } => format!(
                "`wellspring update {source_name} --code {wanted}` replaces its code; --new makes another source"
            ),
            Self::SameName { .. } => "give all but one of them another name".to_owned(),
            Self::PruneOfFile { .. } => "apply the folder that it is in, or leave --prune out".to_owned(),
            Self::PruneOfDev { .. } => "give it another name: `project = \"…\"` in wellspring.toml".to_owned(),
            Self::OtherProject { .. } => "give one of the two another name".to_owned(),
            Self::Ambiguous { noun: "workflow", .. } => "use the id".to_owned(),
            Self::Ambiguous { .. } => "use the id or the slug".to_owned(),
            Self::NoAddress { .. } => "use the id".to_owned(),
            Self::NoProfile { suggestions, name } => {
                return did_you_mean(suggestions).or(Some(format!("`wellspring login --profile {name}` makes it")));
            }
            Self::UnknownProp { suggestions, .. } | Self::NoField { suggestions, .. } => {
                return did_you_mean(suggestions);
            }
            Self::MissingProps { examples, .. } => format!("add {}", examples.join(" ")),
            Self::MissingEntries { table, .. } => format!("give them below [{table}] in wellspring.toml"),
            Self::NotDeployed { name } => format!("`wellspring deploy {name}` makes a source of it"),
            Self::NotConfirmed { .. } => "add --yes".to_owned(),
            Self::Regressed { .. } => "nothing was changed; with --yes it is done all the same".to_owned(),
            Self::Differs { .. } => {
                "after an upgrade of the server only fuel may differ; anything else is a fault to report".to_owned()
            }
            Self::MalformedCredentials => r#"they look like {"api_key": "..."}"#.to_owned(),
            Self::AccountRefused { account } => format!("`wellspring accounts reconnect {account}` connects it again"),
            Self::Exists { .. } => "choose another name or folder, or add --force".to_owned(),
            Self::NothingToDo { hint } | Self::NoTerminal { hint } => (*hint).to_owned(),
            _ => return None,
        };
        Some(hint)
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted => exit::INTERRUPTED,
            // As a program that SIGPIPE ends: the reader asked for no more.
            Self::OutputClosed => exit::DONE,
            Self::MalformedProp { .. }
            | Self::UnknownProp { .. }
            | Self::InvalidProp { .. }
            | Self::MissingProps { .. }
            | Self::MissingEntries { .. }
            | Self::NotConfirmed { .. }
            | Self::SeveralSources { .. }
            | Self::Project { .. }
            | Self::NoSecret { .. }
            | Self::MalformedCredentials
            | Self::MalformedField { .. }
            | Self::NothingToDo { .. }
            | Self::NoTerminal { .. }
            | Self::NoAddress { .. }
            | Self::PruneOfFile { .. }
            | Self::PruneOfDev { .. }
            | Self::InvalidUrl { .. } => exit::USAGE,
            _ => exit::FAILED,
        }
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Refused { status, code, message, details } => {
                json!({"error": message, "code": code, "status": status, "details": details})
            }
            other => json!({"error": other.to_string(), "code": other.code(), "hint": other.hint()}),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotLoggedIn { .. } => "not_logged_in",
            Self::WrongKey { .. } => "unauthenticated",
            Self::Unreachable { .. } | Self::TimedOut { .. } => "unreachable",
            Self::NotAServer { .. } | Self::NotUnderstood { .. } | Self::Moved { .. } => "not_a_server",
            Self::OtherVersion { .. } => "other_version",
            Self::NotFound { .. } => "not_found",
            Self::Ambiguous { .. } | Self::SameName { .. } => "ambiguous",
            Self::RunFailed { .. } => "run_failed",
            Self::StreamEnded { .. } => "stream_ended",
            _ if self.exit_code() == exit::USAGE => "usage",
            _ => "failed",
        }
    }
}

fn did_you_mean(suggestions: &[String]) -> Option<String> {
    match suggestions {
        [] => None,
        [one] => Some(format!("did you mean `{one}`?")),
        several => {
            let quoted: Vec<String> = several.iter().map(|one| format!("`{one}`")).collect();
            Some(format!("did you mean one of {}?", quoted.join(", ")))
        }
    }
}

fn listed_by(noun: &str) -> Option<String> {
    let list = match noun {
        "source" | "component" | "webhook" | "subscription" | "account" | "app" => {
            format!("`wellspring list {noun}s` shows those there are")
        }
        "workflow" => "`wellspring workflows` shows those there are".to_owned(),
        "delivery" => "`wellspring deliveries` shows those there are".to_owned(),
        _ => return None,
    };
    Some(list)
}

/// Where in the code or in the props, when the server told.
fn hint_of_refusal(code: &str, details: &Value) -> Option<String> {
    let text = |name: &str| details.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match code {
        "admin_only" => return Some("this needs the key of an admin".to_owned()),
        "wrong_component_type" => {
            return Some("an action is saved with `wellspring publish` and run with `wellspring run`".to_owned());
        }
        "component_in_use" => {
            let users = details.get("used_by").and_then(Value::as_array)?;
            let users: Vec<&str> = users.iter().filter_map(Value::as_str).collect();
            return Some(format!("give them other code, or delete them first: wellspring delete {}", users.join(" ")));
        }
        "account_in_use" => {
            return Some("connect those to another account first, or add --force: their runs then fail".to_owned());
        }
        "invalid_props" | "invalid_component" => return problems(details),
        "hook_failed" if text("stack").is_none() => {
            return text("hook").map(|hook| format!("see the {hook} hook"));
        }
        _ => {}
    }
    if let Some(stack) = text("stack") {
        return Some(format!("where it happened:\n{}", stack.trim_end()));
    }
    let file = text("file")?;
    let number = |name: &str| details.get(name).and_then(Value::as_u64);
    match (number("line"), number("column")) {
        (Some(line), Some(column)) => Some(format!("see {file}:{line}:{column}")),
        (Some(line), None) => Some(format!("see {file}:{line}")),
        _ => Some(format!("see {file}")),
    }
}

fn problems(details: &Value) -> Option<String> {
    let problems = details.get("problems")?.as_array()?;
    let lines = problems.iter().filter_map(|problem| {
        let text = |name: &str| problem.get(name).and_then(Value::as_str);
        Some(format!("{}: {}", text("path")?, text("message")?))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
