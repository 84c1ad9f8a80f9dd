//! `audit`: what was changed, by whom, from where, and how it ended.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::list;
use crate::client::Query;
use crate::error::Error;
use crate::models::{AuditEntry, Page};
use crate::output::table::{text, whole};
use crate::output::{Output, Table, full_time};
use crate::session::Connection;
use crate::spans::Span;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub wanted: Wanted,
    /// Of all accounts, for admins
    #[arg(long, conflicts_with = "user")]
    all: bool,
    /// Of this account, by its id, for admins
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

/// How much to show.
#[derive(Clone, Debug, clap::Args)]
pub struct Wanted {
    /// How many entries to show, at most
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
    pub number: usize,
    /// Only what is not older: `90s`, `15m`, `12h`, `30d`
    #[arg(long, value_name = "TIME")]
    pub since: Option<Span>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let is_admins = arguments.all || arguments.user.is_some();
    let path = if is_admins { "admin/audit" } else { "audit" };
    let mut entries: Vec<AuditEntry> = Vec::new();
    loop {
        let cursor = entries.last().map(|entry| entry.id.clone());
        let of_user = arguments.user.as_deref().map(|user| ("user_id", user));
        let query: Vec<Query<'_>> = cursor.as_deref().map(|id| ("after", id)).into_iter().chain(of_user).collect();
        let page: Page<AuditEntry> = session.client.page(path, &query, arguments.wanted.page_size()).await?;
        if !arguments.wanted.take(&mut entries, page.data) {
            return print(&session.output, &entries);
        }
    }
}

/// Newest first, as the API has it.
pub fn print(output: &Output, entries: &[AuditEntry]) -> Result<(), Error> {
    let mut table = Table::new([
        whole("TIME"),
        text("WHO"),
        whole("WITH"),
        whole("ACTION"),
        text("WHAT"),
        whole("STATUS"),
        text("FROM"),
    ]);
    for entry in entries {
        let with = entry.key_name.clone().or_else(|| entry.key_id.clone());
        table.row([
            full_time(entry.at_ms.div_euclid(1000)),
            entry.username.clone().or_else(|| entry.user_id.clone()).unwrap_or_else(|| "operator".to_owned()),
            with.unwrap_or_else(|| "socket".to_owned()),
            entry.action.clone(),
            listed(&entry.ids),
            entry.status.to_string(),
            entry.from.clone().unwrap_or_default(),
        ]);
    }
    list::print(output, entries, &table, "nothing was recorded")
}

fn listed(ids: &BTreeMap<String, String>) -> String {
    ids.values().map(String::as_str).collect::<Vec<_>>().join(" ")
}

// === impl Wanted ===

impl Wanted {
    pub fn page_size(&self) -> usize {
        self.number.clamp(1, 100)
    }

    /// Adds a page; false when there is no need for another.
    pub fn take(&self, entries: &mut Vec<AuditEntry>, page: Vec<AuditEntry>) -> bool {
        let oldest_ms = self.since.map(|since| {
            let seconds = Timestamp::now().as_second().saturating_sub(since.seconds());
            seconds.saturating_mul(1000)
        });
        let is_wanted = |entry: &AuditEntry| oldest_ms.is_none_or(|oldest_ms| entry.at_ms >= oldest_ms);
        let before = page.len();
        let page: Vec<AuditEntry> = page.into_iter().filter(is_wanted).collect();
        let is_last = page.is_empty() || page.len() < before;
        entries.extend(page);
        entries.truncate(self.number);
        !is_last && entries.len() < self.number
    }
}
