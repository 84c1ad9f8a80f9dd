//! The record of a run, as it is stored.

use std::borrow::Cow;

use bytes::Bytes;
use domain::ids::RunId;
use domain::outcome::RequestMade;
use domain::runs::{Listed, Recording, RunError, RunRecord, State, Trigger, TriggerKind};
use domain::trace::TraceId;
use serde::{Deserialize, Serialize};

use super::{RecordError, StreamEntry, compact};

const KIND: &str = "run";

impl StreamEntry for RunRecord {
    const KIND: &'static str = KIND;

    fn encode(&self) -> Result<Bytes, RecordError> {
        compact::encode(KIND, &StoredRun::of(self)?)
    }

    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        compact::decode::<StoredRun<'static>>(KIND, bytes)?.into_record()
    }
}

/// Times are differences; what most runs do not have is JSON, or nothing. Borrowed to be written, as every run does.
#[derive(Serialize, Deserialize)]
struct StoredRun<'a> {
    id: Cow<'a, str>,
    emitter_id: Cow<'a, str>,
    version: Cow<'a, str>,
    trigger: (TriggerKind, Option<Cow<'a, str>>),
    trace_id: [u8; 16],
    state: State,
    queued_at_ms: u64,
    started_after_ms: u64,
    ended_after_ms: u64,
    fuel: u64,
    cpu_us: u64,
    peak_memory_bytes: u64,
    sent_bytes: u64,
    received_bytes: u64,
    requests: (usize, Option<String>),
    emits: (usize, Cow<'a, [String]>),
    writes: (usize, Cow<'a, [String]>),
    reply_status: Option<u16>,
    error: Option<String>,
    recording: Recording,
}

// === impl StoredRun ===

impl<'a> StoredRun<'a> {
    fn of(record: &'a RunRecord) -> Result<Self, RecordError> {
        let unwritable = |source| RecordError::Unwritable { kind: KIND, source };
        let requests = &record.requests.first;
        let requests = (!requests.is_empty()).then(|| serde_json::to_string(requests)).transpose();
        Ok(Self {
            id: record.id.as_str().into(),
            emitter_id: record.emitter_id.as_str().into(),
            version: record.version.as_str().into(),
            trigger: (record.trigger.kind, record.trigger.id.as_deref().map(Cow::from)),
            trace_id: record.trace_id.to_bytes(),
            state: record.state,
            queued_at_ms: record.queued_at_ms,
            started_after_ms: record.started_at_ms.saturating_sub(record.queued_at_ms),
            ended_after_ms: record.ended_at_ms.saturating_sub(record.started_at_ms),
            fuel: record.fuel,
            cpu_us: record.cpu_us,
            peak_memory_bytes: record.peak_memory_bytes,
            sent_bytes: record.sent_bytes,
            received_bytes: record.received_bytes,
            requests: (record.requests.count, requests.map_err(unwritable)?),
            emits: (record.emits.count, record.emits.first.as_slice().into()),
            writes: (record.writes.count, record.writes.first.as_slice().into()),
            reply_status: record.reply_status,
            error: record.error.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)?,
            recording: record.recording,
        })
    }

    fn into_record(self) -> Result<RunRecord, RecordError> {
        let malformed = |source| RecordError::Malformed { kind: KIND, source };
        let id = RunId::parse(&self.id).map_err(|error| compact::malformed(KIND, error))?;
        let started_at_ms = self.queued_at_ms.saturating_add(self.started_after_ms);
        let requests: Option<Vec<RequestMade>> =
            self.requests.1.as_deref().map(serde_json::from_str).transpose().map_err(malformed)?;
        let error: Option<RunError> = self.error.as_deref().map(serde_json::from_str).transpose().map_err(malformed)?;
        Ok(RunRecord {
            id,
            emitter_id: self.emitter_id.into_owned(),
            version: self.version.into_owned(),
            trigger: Trigger { kind: self.trigger.0, id: self.trigger.1.map(Cow::into_owned) },
            trace_id: TraceId::from_random(self.trace_id),
            state: self.state,
            queued_at_ms: self.queued_at_ms,
            started_at_ms,
            ended_at_ms: started_at_ms.saturating_add(self.ended_after_ms),
            fuel: self.fuel,
            cpu_us: self.cpu_us,
            peak_memory_bytes: self.peak_memory_bytes,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            requests: Listed { count: self.requests.0, first: requests.unwrap_or_default() },
            emits: Listed { count: self.emits.0, first: self.emits.1.into_owned() },
            writes: Listed { count: self.writes.0, first: self.writes.1.into_owned() },
            reply_status: self.reply_status,
            error,
            recording: self.recording,
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::outcome::Thrown;

    use super::*;

    fn record() -> RunRecord {
        RunRecord {
            id: RunId::new(1_791_849_600_000, "dc_abcdefghijkl", [7; 4]),
            emitter_id: "dc_abcdefghijkl".into(),
            version: "0.0.1".into(),
            trigger: Trigger::of(TriggerKind::Http),
            trace_id: TraceId::from_random([9; 16]),
            state: State::Success,
            queued_at_ms: 1_791_849_600_000,
            started_at_ms: 1_791_849_600_001,
            ended_at_ms: 1_791_849_600_003,
            fuel: 200_000,
            cpu_us: 90,
            peak_memory_bytes: 3 << 20,
            sent_bytes: 0,
            received_bytes: 0,
            requests: Listed { count: 0, first: Vec::new() },
            emits: Listed { count: 1, first: vec!["0ERJdoTJ7EJ2COL6hU1h65nw8Cs".into()] },
            writes: Listed { count: 0, first: Vec::new() },
            reply_status: Some(200),
            error: None,
            recording: Recording::None,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_small() {
        let thrown = Thrown { code: Some(serde_json::json!("E_NO")), ..Thrown::default() };
        let request = RequestMade {
            method: "GET".into(),
            host: "example.com".into(),
            path: "/".into(),
            status: None,
            error: Some("no".into()),
            ms: 4,
        };
        let full = RunRecord {
            emitter_id: "sc_elsewhere".into(),
            trigger: Trigger { kind: TriggerKind::Retry, id: Some("x".into()) },
            requests: Listed { count: 7, first: vec![request] },
            error: Some(RunError {
                code: "threw".into(),
                name: "Error".into(),
                message: "no".into(),
                stack: "at x".into(),
                cause: Some(Box::new(thrown)),
            }),
            recording: Recording::Kept,
            ..record()
        };

        for written in [record(), full] {
            assert_eq!(RunRecord::decode(&written.encode().unwrap()).unwrap(), written);
        }
        assert!(record().encode().unwrap().len() < 150);
    }

    #[test]
    fn what_a_newer_version_wrote_is_named_as_such() {
        let error = RunRecord::decode(&[200, 1, 2]).unwrap_err();

        assert!(matches!(error, RecordError::Newer { found: 200, .. }), "{error:?}");
        assert!(RunRecord::decode(&[]).is_err() && RunRecord::decode(&[1, 5]).is_err());
    }
}
