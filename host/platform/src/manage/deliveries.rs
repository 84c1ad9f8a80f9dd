//! The last attempts to deliver events to a webhook.

use domain::deliveries::DeliveryAttempt;
use domain::paging::PageInfo;
use serde::Serialize;
use store::{Entry, Order};

use super::events::{EventQuery, Window};
use super::webhooks;
use crate::paging::PageOf;
use crate::records::{StreamEntry, names};
use crate::{Caller, Error, Platform};

#[derive(Debug, Serialize)]
pub struct AttemptView {
    pub id: String,
    pub at_ms: u64,
    #[serde(flatten)]
    pub attempt: DeliveryAttempt,
}

/// Newest first.
pub async fn of_webhook(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: &EventQuery,
) -> Result<PageOf<AttemptView>, Error> {
    let webhook = webhooks::find(caller, platform, id).await?;
    let window = Window::new(query)?;
    let (tenant, emitter) = (&caller.tenant, webhook.id.as_str());
    let mut found = platform.store.entries(tenant, emitter, names::DELIVERIES, window.entries).await?;
    found.retain(|entry| window.holds(entry.id));
    found.truncate(window.limit);
    if window.entries.order == Order::OldestFirst {
        found.reverse();
    }
    let view = |entry: Entry| {
        let attempt = DeliveryAttempt::decode(&entry.value)?;
        Ok(AttemptView { id: entry.id.to_string(), at_ms: entry.id.ms(), attempt })
    };
    let items = found.into_iter().map(view).collect::<Result<Vec<_>, Error>>()?;
    let cursors: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
    let kept = platform.store.streams(tenant, emitter).await?;
    let total = kept.iter().find(|stream| stream.name == names::DELIVERIES).map_or(0, |stream| stream.count);
    Ok(PageOf { info: PageInfo::new(usize::try_from(total).unwrap_or(usize::MAX), &cursors), items })
}
