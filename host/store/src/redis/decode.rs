//! What the scripts answer, as our types.

use ::redis::{FromRedisValue, Value, from_redis_value};
use bytes::Bytes;

use crate::{At, CommitError, Committed, EntryId, Error, Job, JobId, JobLease, Op, Record, Tenant, Tick, TimerLease};

/// A row of values, taken from the left.
pub(super) struct Row(std::vec::IntoIter<Value>);

impl FromRedisValue for Row {
    fn from_redis_value(value: Value) -> Result<Self, ::redis::ParsingError> {
        Ok(Self(Vec::<Value>::from_redis_value(value)?.into_iter()))
    }
}

impl Row {
    pub(super) fn take<Field: FromRedisValue>(&mut self) -> Result<Field, Error> {
        Ok(from_redis_value(self.0.next().unwrap_or(Value::Nil))?)
    }

    /// What is left, each a row of its own.
    pub(super) fn rest(self) -> Result<Vec<Self>, Error> {
        Ok(self.0.map(from_redis_value).collect::<Result<_, _>>()?)
    }

    fn take_parsed<Field: std::str::FromStr>(&mut self) -> Result<Field, Error> {
        parse(&self.take::<String>()?)
    }

    fn bytes(&mut self) -> Result<Bytes, Error> {
        Ok(self.take::<Vec<u8>>()?.into())
    }

    pub(super) fn record(mut self) -> Result<Record, Error> {
        Ok(Record {
            id: self.take()?,
            alias: self.take()?,
            version: self.take()?,
            position: self.take()?,
            value: self.bytes()?,
        })
    }

    pub(super) fn job(mut self) -> Result<Job, Error> {
        let tenant = self.tenant()?;
        let lease = JobLease { job: JobId(self.take()?), token: self.take()? };
        let (lane, due_ms, attempt) = (self.take()?, self.take()?, self.take()?);
        let entry = self.take::<Option<String>>()?.map(|id| parse(&id)).transpose()?;
        Ok(Job { tenant, lease, lane, due_ms, attempt, entry, payload: self.bytes()? })
    }

    pub(super) fn tick(mut self) -> Result<Tick, Error> {
        let tenant = self.tenant()?;
        let lease = TimerLease { timer: self.take()?, token: self.take()? };
        Ok(Tick { tenant, lease, due_ms: self.take()?, schedule: self.bytes()? })
    }

    fn tenant(&mut self) -> Result<Tenant, Error> {
        Tenant::parse(&self.take::<String>()?).map_err(|_| unexpected())
    }

    /// The answer of the commit script; `operations` tell what an over-full scope was allowed.
    pub(super) fn committed(mut self, operations: &[Op]) -> Result<Committed, CommitError> {
        let tag: String = self.take()?;
        match tag.as_str() {
            "ok" => Ok(Committed {
                versions: self.take()?,
                entries: self.entry_ids()?,
                counters: self.take()?,
                jobs: self.take::<Vec<u64>>()?.into_iter().map(JobId).collect(),
                removed: self.take()?,
            }),
            "lost" => Err(CommitError::LeaseLost),
            "precondition" => Err(CommitError::Conflict { at: At::Precondition(self.take()?) }),
            "operation" => Err(CommitError::Conflict { at: At::Operation(self.take()?) }),
            "cap" => {
                let (operation, size_bytes) = (self.take()?, self.take_parsed()?);
                let cap_bytes = match operations.get(operation) {
                    Some(Op::SetValue { cap_bytes, .. }) => *cap_bytes,
                    _ => 0,
                };
                Err(CommitError::OverCap { operation, size_bytes, cap_bytes })
            }
            _ => Err(unexpected().into()),
        }
    }

    fn entry_ids(&mut self) -> Result<Vec<EntryId>, Error> {
        self.take::<Vec<String>>()?.iter().map(|id| parse(id)).collect()
    }
}

pub(super) fn parse<Parsed: std::str::FromStr>(text: &str) -> Result<Parsed, Error> {
    text.parse().map_err(|_| unexpected())
}

fn unexpected() -> Error {
    ::redis::ParsingError::from("a field has an unexpected form").into()
}
