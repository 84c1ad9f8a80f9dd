//! Decodes the answers of the scripts.

use ::redis::{ErrorKind, FromRedisValue, RedisError, Value, from_redis_value};
use bytes::Bytes;

use crate::{
    At, CommitError, Committed, Error, Head, Job, JobId, JobLease, Member, Op, Record, Tenant, Tick, TimerLease,
};

const FAILED: &str = "a step of the commit failed";

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
        let entry: String = self.take()?;
        let entry = if entry.is_empty() { None } else { Some(parse(&entry)?) };
        Ok(Job { tenant, lease, lane, due_ms, attempt, entry, payload: self.bytes()? })
    }

    pub(super) fn head(mut self) -> Result<Head, Error> {
        Ok(Head { available_ms: self.take()?, attempt: self.take()?, behind: self.take()?, payload: self.bytes()? })
    }

    pub(super) fn tick(mut self) -> Result<Tick, Error> {
        let tenant = self.tenant()?;
        let lease = TimerLease { timer: self.take()?, token: self.take()? };
        Ok(Tick { tenant, lease, due_ms: self.take()?, schedule: self.bytes()? })
    }

    pub(super) fn member(mut self) -> Result<Member, Error> {
        Ok(Member { host: self.take()?, seen_ms: self.take()?, about: self.bytes()? })
    }

    fn tenant(&mut self) -> Result<Tenant, Error> {
        Tenant::parse(&self.take::<String>()?).map_err(|_| unexpected())
    }
}

/// When the earliest of the work that a batch made is due, if it was applied and made any.
pub(super) fn due_ms(answer: &str) -> Option<u64> {
    answer.strip_prefix("ok ")?.rsplit_once(' ')?.1.parse().ok()
}

/// The commit script's answer to one batch; `operations` tell what an over-full scope was allowed.
pub(super) fn committed(answer: &str, operations: &[Op]) -> Result<Committed, CommitError> {
    let mut fields = answer.split(' ');
    let mut next = || fields.next().unwrap_or_default();
    match next() {
        "ok" => Ok(Committed {
            versions: list(next())?,
            entries: list(next())?,
            counters: list(next())?,
            jobs: list(next())?.into_iter().map(JobId).collect(),
            removed: list(next())?,
        }),
        "lost" => Err(CommitError::LeaseLost),
        "precondition" => Err(CommitError::Conflict { at: At::Precondition(parse(next())?) }),
        "operation" => Err(CommitError::Conflict { at: At::Operation(parse(next())?) }),
        "locked" => Err(CommitError::Locked { operation: parse(next())? }),
        "cap" => {
            let (operation, size_bytes) = (parse(next())?, parse(next())?);
            let cap_bytes = match operations.get(operation) {
                Some(Op::SetValue { cap_bytes, .. }) => *cap_bytes,
                _ => 0,
            };
            Err(CommitError::OverCap { operation, size_bytes, cap_bytes })
        }
        "failed" => Err(Error::from(RedisError::from((ErrorKind::Extension, FAILED, answer.to_owned()))).into()),
        _ => Err(unexpected().into()),
    }
}

fn list<Item: std::str::FromStr>(text: &str) -> Result<Vec<Item>, Error> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(parse).collect()
}

pub(super) fn parse<Parsed: std::str::FromStr>(text: &str) -> Result<Parsed, Error> {
    text.parse().map_err(|_| unexpected())
}

/// The fields of a record in the order `version`, `alias`, `position`, `value`.
pub(super) fn record_fields(
    id: &str,
    (version, alias, position, value): (Option<u64>, Option<String>, Option<u64>, Option<Vec<u8>>),
) -> Option<Record> {
    Some(Record { id: id.to_owned(), alias, version: version?, position: position?, value: value?.into() })
}

pub(super) fn unexpected() -> Error {
    ::redis::ParsingError::from("a field has an unexpected form").into()
}
