//! The server's own log as log records: a layer beside the one that writes to standard error.

use std::fmt::{Debug, Write};
use std::sync::{Arc, OnceLock};

use domain::outcome::Level;
use domain::trace::TraceContext;
use platform::ports::{Attribute, Clock, LogRecord, SystemClock, Telemetry};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::Recording;

/// Set when a collector was named; the log begins before.
static COLLECTOR: OnceLock<Arc<Recording>> = OnceLock::new();

/// What the export itself logs must not become an export: a collector that is gone would be told of it for ever.
const OF_THE_EXPORT: &str = "wellspring::wiring::exporting";

pub(crate) fn export_to(collector: &Arc<Recording>) {
    // One server for each process; a second one's lines go where the first one's go.
    let _ = COLLECTOR.set(collector.clone());
}

pub(crate) struct OwnLog(&'static OnceLock<Arc<Recording>>);

#[derive(Default)]
struct Fields {
    message: String,
    attributes: Vec<(&'static str, Attribute)>,
}

// === impl OwnLog ===

impl Default for OwnLog {
    fn default() -> Self {
        Self(&COLLECTOR)
    }
}

impl<S: Subscriber> Layer<S> for OwnLog {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let Some(collector) = self.0.get() else { return };
        let metadata = event.metadata();
        if metadata.target().starts_with(OF_THE_EXPORT) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        fields.attributes.push(("code.namespace", metadata.target().into()));
        collector.log(LogRecord {
            context: TraceContext::default(),
            at_ms: SystemClock.now_ms(),
            level: level(*metadata.level()),
            message: fields.message,
            attributes: fields.attributes,
        });
    }
}

fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        _ => Level::Debug,
    }
}

// === impl Fields ===

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.attributes.push((field.name(), value.into()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing into text does not fail.
            let _ = write!(self.message, "{value:?}");
        } else {
            self.attributes.push((field.name(), format!("{value:?}").into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::super::{Item, open};
    use super::*;

    #[test]
    fn lines_of_the_log_are_records_with_their_fields_but_not_what_the_export_says_of_itself() {
        let (collector, mut exporter) = open("http://127.0.0.1:9").unwrap();
        let place = Box::leak(Box::new(OnceLock::from(collector)));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(OwnLog(place)), || {
            tracing::warn!(target: "wellspring::wiring::exporting", "of the export");
            tracing::error!(target: "store", jobs = 3_u64, error = %"disk full", "not written");
        });

        let Item::Log(record) = exporter.receiver.try_recv().unwrap() else { panic!("no record") };
        assert_eq!((record.level, record.message.as_str()), (Level::Error, "not written"));
        let attributes = [("jobs", 3_u64.into()), ("error", "disk full".into()), ("code.namespace", "store".into())];
        assert_eq!(record.attributes, attributes);
        assert!(exporter.receiver.try_recv().is_err(), "only this one");
    }

    #[tokio::test]
    async fn lines_wait_within_a_bound_of_bytes_and_what_is_more_is_counted() {
        let (collector, mut exporter) = open("http://127.0.0.1:9").unwrap();
        let line = |bytes: usize| LogRecord {
            context: TraceContext::default(),
            at_ms: 1,
            level: Level::Info,
            message: "x".repeat(bytes),
            attributes: Vec::new(),
        };
        collector.log(line(super::super::WAITING_BYTES - 1));
        collector.log(line(1));
        assert_eq!(collector.counts.logs.dropped.read(), 0, "exactly as much as may wait");
        collector.log(line(1));
        assert_eq!(collector.counts.logs.dropped.read(), 1);
        let mut batch = vec![exporter.receiver.try_recv().unwrap()];
        exporter.export(&mut batch).await;
        assert_eq!(collector.counts.logs.failed.read(), 1, "nothing listens there");
        collector.log(line(1));
        assert_eq!(collector.counts.logs.dropped.read(), 1, "there is room again");
    }
}
