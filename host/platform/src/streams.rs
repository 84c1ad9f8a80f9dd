//! The streams of an emitter that a request is about.

use domain::subscriptions::Stream;
use store::Tenant;

use crate::records::names;
use crate::{Error, Platform};

/// Streams that one list is merged from; channels beyond are read by `event_name`.
const STREAMS_MERGED: usize = 100;

pub(crate) struct Streams {
    pub(crate) names: Vec<String>,
    /// Events in all of them.
    pub(crate) total: usize,
}

/// The named one, or every channel of the emitter.
pub(crate) async fn streams_of(
    tenant: &Tenant,
    platform: &Platform,
    emitter: &str,
    event_name: Option<&str>,
) -> Result<Streams, Error> {
    let wanted = event_name.map(Stream::parse).transpose().map_err(|error| Error::parameter("event_name", error))?;
    let known = platform.store.streams(tenant, emitter).await?;
    let is_wanted = |name: &str| match &wanted {
        Some(stream) => stream.as_str() == name,
        None => ![names::ERRORS, names::LOGS, names::RUNS, names::WORKFLOW_RUNS].contains(&name),
    };
    let chosen = known.into_iter().filter(|stream| is_wanted(&stream.name)).take(STREAMS_MERGED);
    let mut streams = Streams { names: Vec::new(), total: 0 };
    for stream in chosen {
        streams.total += usize::try_from(stream.count).unwrap_or(usize::MAX);
        streams.names.push(stream.name);
    }
    Ok(streams)
}
