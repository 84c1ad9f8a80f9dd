//! A source's log.

use domain::paging::PageInfo;
use serde::Serialize;

use super::events::{EventQuery, summaries};
use super::sources;
use crate::paging::PageOf;
use crate::records::names;
use crate::{Caller, Error, Platform};

/// One line of the log.
#[derive(Debug, Serialize)]
pub struct LogView {
    pub id: String,
    #[serde(flatten)]
    pub line: serde_json::Value,
}

pub async fn of_source(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: EventQuery,
) -> Result<PageOf<LogView>, Error> {
    let source = sources::find(caller, platform, id).await?;
    // A line is whole or it is no use: logs are bounded by the run that wrote them.
    let query = EventQuery { event_name: Some(names::LOGS.to_owned()), is_expanded: true, ..query };
    let page = summaries(&caller.tenant, platform, source.id.as_str(), &query).await?;
    let info: PageInfo = page.info;
    let items = page.items.into_iter().map(|line| LogView { id: line.id, line: line.event }).collect();
    Ok(PageOf { items, info })
}
