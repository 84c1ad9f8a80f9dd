//! Why a use case failed, by the side that can act on it.
//!
//! `server/api/error.rs` maps each variant to a status; nothing else decides about HTTP. What a variant carries is what
//! the caller needs to mend it. Failures of ours keep their source for the operator's log and say nothing to the caller.

use std::fmt;

use admission::Full;
use domain::component::Hook;
use domain::emit::ChannelError;
use domain::event_id::EventIdError;
use domain::ids::{IdError, UserId};
use domain::keys::{Scope, ScopeError};
use domain::paging::PagingError;
use domain::problem::Problem;
use domain::redact::RedactionError;
use domain::runs::Recording;
use domain::subscriptions::SubscriptionError;
use domain::users::QuotaError;
use domain::webhooks::UrlError;

use crate::ports::{Fault, LinkError, LoadFailure, OutboundError, SandboxError};
use crate::records::RecordError;
use crate::records::table::TableError;
use crate::vault::{RingError, VaultError};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Also for what is another tenant's.
    #[error("there is no {noun} `{id}`")]
    NotFound { noun: Noun, id: String },
    #[error("run `{run}` cannot be replayed: {}", why_not_recorded(*.recording))]
    NoRecording { run: String, recording: Recording },
    #[error("`{name}` is required")]
    Missing { name: &'static str },
    #[error("one of {} is required", names.join(", "))]
    MissingOneOf { names: &'static [&'static str] },
    #[error("`{name}`: {source}")]
    Parameter { name: &'static str, source: ParameterError },
    #[error(transparent)]
    Unauthenticated(#[from] KeyProblem),
    #[error("only an admin may do this")]
    NotAdmin,
    #[error("the API key lacks the scope `{needs}`")]
    Scope { needs: Scope },
    #[error("you cannot take the admin role from yourself: another admin has to")]
    OwnRole,
    #[error("this request was made with that key; revoke it with another one")]
    KeyInUse,
    #[error("{noun} `{name}` is taken")]
    Taken { noun: Noun, name: String },
    #[error("{noun} `{id}` is being changed by another request")]
    Busy { noun: Noun, id: String },
    #[error("{noun} `{id}` is used by {}", listed(used_by))]
    InUse { noun: Noun, id: String, used_by: Vec<UsedBy> },
    #[error("an account has at most {limit} of these: {noun}s")]
    TooMany { noun: Noun, limit: usize },
    #[error("the account keeps as much as it may, {limit_bytes} bytes; delete events, sources or components")]
    NoRoom { limit_bytes: u64 },
    #[error("{0}")]
    Full(#[from] Full),
    #[error("the workflow has {size} runs that wait already, as many as its `queue_size` allows; retry later")]
    QueueFull { size: u64 },
    #[error("the component cannot be linked: {0}")]
    Link(#[source] LinkError),
    #[error("the code could not be fetched from {url}: {source}")]
    Fetch { url: String, source: OutboundError },
    #[error("`{name}` cannot be delivered to: {source}")]
    Address { name: &'static str, source: OutboundError },
    #[error("the component does not load: {0}")]
    Load(#[source] LoadFailure),
    #[error("{}", first(.0, "the component is not valid"))]
    Component(Vec<Problem>),
    #[error("the component is {is}, and this needs {needs}")]
    WrongKind { is: &'static str, needs: &'static str },
    #[error("{}", first(.0, "the props do not fit"))]
    Props(Vec<Problem>),
    #[error("{}", first(.0, "the workflow is not valid"))]
    Workflow(Vec<Problem>),
    #[error("{}", first(.0, "the provider is not valid"))]
    Provider(Vec<Problem>),
    #[error("{}", first(.0, "the fields do not fit"))]
    Fields(Vec<Problem>),
    /// No client is registered with the service, so nothing can be asked of it.
    #[error(
        "no client is registered for `{app}`: the operator adds one with `wellspring apps configure {app}`, or you bring \
         your own with `wellspring accounts client {app}`"
    )]
    NoClient { app: String },
    #[error("`{app}` is not connected in this way: {reason}")]
    WrongFlow { app: String, reason: &'static str },
    /// The service said no, or could not be reached.
    #[error("{message}")]
    NotConnected { code: &'static str, message: String },
    #[error("run `{run}` is not paused, or has ended")]
    NotPaused { run: String },
    #[error("the {} hook failed: {fault}", hook.as_str())]
    Hook { hook: Hook, fault: Box<Fault> },
    #[error("the component failed: {0}")]
    Run(Box<Fault>),
    #[error(transparent)]
    Quota(#[from] QuotaError),
    #[error("the state changed while this was done; read it again and retry")]
    Changed,
    #[error("other runs kept changing the values this run had read; retry when there are fewer of them")]
    Contended,
    #[error("a run that is under way holds what is to be changed; retry when it has ended")]
    Held,
    #[error("the server's disk is full: nothing can be changed until there is room")]
    DiskFull(#[source] store::Error),
    #[error("this server only reads for now: its store is being copied, and nothing can be changed")]
    ReadOnly,
    #[error("the store is unavailable")]
    Store(#[source] store::Error),
    #[error("the store refused a batch")]
    Batch(#[source] store::CommitError),
    #[error("stored data cannot be used")]
    Record(#[from] RecordError),
    #[error("a stored secret cannot be used")]
    Vault(#[from] VaultError),
    #[error("the file of encryption keys cannot be used")]
    KeyFile(#[from] RingError),
    #[error("the encryption keys were given to the server: give it a new one in front of them, then resume")]
    KeysGiven,
    #[error("the sandbox is unavailable")]
    Sandbox(#[source] SandboxError),
    #[error("no id is free after many tries")]
    NoFreeName,
}

/// Why a request with a key, or without one, is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    #[error("this needs a valid API key: Authorization: Bearer <API_KEY>")]
    Unknown,
    #[error("the API key is mistyped or incomplete: its checksum does not match")]
    Mistyped,
    #[error("the API key has expired")]
    Expired { user: UserId, key: String },
}

/// What keeps something from being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedBy {
    pub id: String,
    pub name: String,
}

/// What is wrong with one parameter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    #[error(transparent)]
    Id(#[from] IdError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Redaction(#[from] RedactionError),
    #[error(transparent)]
    EventId(#[from] EventIdError),
    #[error(transparent)]
    Paging(#[from] PagingError),
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    #[error(transparent)]
    Scope(#[from] ScopeError),
    #[error("must be {expected}")]
    Expected { expected: &'static str },
    #[error("must not be empty")]
    Empty,
    #[error("has at most {limit_bytes} bytes, this one has {size_bytes}")]
    TooLong { limit_bytes: usize, size_bytes: usize },
    /// What is not read to its end.
    #[error("has more than {limit_bytes} bytes")]
    Beyond { limit_bytes: usize },
    #[error(
        "does not fit: with it, {size_bytes} bytes would be stored there, keys and values together, and {limit_bytes} may be"
    )]
    NoRoom { limit_bytes: u64, size_bytes: u64 },
}

/// What an error is about, in the words of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    Account,
    App,
    AppClient,
    AutoSubscription,
    Component,
    Connect,
    DataStore,
    DeadLetter,
    Event,
    Key,
    RegistryComponent,
    Pause,
    Run,
    Session,
    Source,
    Subscription,
    User,
    Username,
    Version,
    Email,
    Webhook,
    Workflow,
}

// === impl Error ===

impl Error {
    pub fn not_found(noun: Noun, id: impl fmt::Display) -> Self {
        // What was asked for is echoed, so it is cut: ids are short.
        Self::NotFound { noun, id: id.to_string().chars().take(64).collect() }
    }

    pub fn parameter(name: &'static str, source: impl Into<ParameterError>) -> Self {
        Self::Parameter { name, source: source.into() }
    }

    pub fn expected(name: &'static str, expected: &'static str) -> Self {
        Self::Parameter { name, source: ParameterError::Expected { expected } }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            error @ store::Error::DiskFull(_) => Self::DiskFull(error),
            store::Error::WritesRefused => Self::ReadOnly,
            error => Self::Store(error),
        }
    }
}

impl From<store::CommitError> for Error {
    fn from(error: store::CommitError) -> Self {
        match error {
            store::CommitError::Conflict { .. } => Self::Changed,
            store::CommitError::Unavailable(error) => error.into(),
            refused => Self::Batch(refused),
        }
    }
}

impl From<SandboxError> for Error {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Unread(error) => *error,
            error => Self::Sandbox(error),
        }
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Store(error) => error.into(),
            TableError::Record(error) => Self::Record(error),
        }
    }
}

// === impl UsedBy ===

impl fmt::Display for UsedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name, self.id)
    }
}

// === impl Noun ===

impl Noun {
    /// For codes: `source_not_found`.
    pub fn as_snake_case(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::App => "app",
            Self::AppClient => "app_client",
            Self::AutoSubscription => "auto_subscription",
            Self::Component => "component",
            Self::Connect => "connect",
            Self::DataStore => "data_store",
            Self::DeadLetter => "dead_letter",
            Self::Event => "event",
            Self::Pause => "pause",
            Self::Run => "run",
            Self::Session => "session",
            Self::Key => "key",
            Self::RegistryComponent => "registry_component",
            Self::Source => "source",
            Self::Subscription => "subscription",
            Self::User => "user",
            Self::Username => "username",
            Self::Email => "email",
            Self::Version => "version",
            Self::Webhook => "webhook",
            Self::Workflow => "workflow",
        }
    }
}

fn why_not_recorded(recording: Recording) -> &'static str {
    match recording {
        Recording::None => {
            "it was not recorded. Runs that fail are, unless the source says otherwise; \
             `wellspring update SOURCE --record all` records all from now on"
        }
        Recording::Truncated => {
            "its recording was larger than the server keeps; `serve --recording-bytes` says how large one may be"
        }
        Recording::Kept => {
            "its recording is gone, because newer ones took its place; `serve --keep-recordings` says how many are kept"
        }
    }
}

impl fmt::Display for Noun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.as_snake_case().replace('_', " "))
    }
}

fn listed(users: &[UsedBy]) -> String {
    const SHOWN: usize = 5;
    let shown = users.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match users.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn first(problems: &[Problem], otherwise: &str) -> String {
    match problems {
        [] => otherwise.to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}
