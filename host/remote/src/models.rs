//! The API's responses, as far as commands read them. All other fields are kept, so that `--json` shows them.

mod accounts;
mod components;
mod events;
mod listeners;
mod replays;
mod runs;
mod runs_by_hand;
mod sources;
mod users;
mod workflows;

use serde::Deserialize;
use serde_json::{Map, Value};

pub use accounts::{Account, AccountTest, AccountUse, App, Connect, ConnectError};
pub use components::{Component, Options, Prop};
pub use events::{EventSummary, LogLine, Metadata, Stream};
pub use listeners::{DeadLetter, Subscription, Webhook};
pub use replays::{Difference, HostCall, Replay, Shadow};
pub use runs::{Listed, RequestMade, RunFailure, RunRecord, RunTrigger};
pub use runs_by_hand::{Exit, Reply, Run, Send};
pub use sources::{Preview, PreviewedChange, Source, SourceVersion};
pub use users::{ApiKey, AuditEntry, User};
pub use workflows::Workflow;

/// What a newer server says beyond what this client knows.
type Rest = Map<String, Value>;

#[derive(Clone, Debug, Deserialize)]
pub struct Page<T> {
    pub page_info: PageInfo,
    pub data: Vec<T>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct PageInfo {
    pub total_count: usize,
    pub count: usize,
    pub end_cursor: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}
