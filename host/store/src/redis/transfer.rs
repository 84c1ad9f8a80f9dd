//! What a move between stores reads from Redis and writes to it.

use std::collections::BTreeMap;

use ::redis::{cmd, from_redis_value};
use bytes::Bytes;

use super::encode::{Arguments, escape};
use super::{Redis, prefix, scripts};
use crate::transfer::Row;
use crate::{Error, Partition, Tenant};

/// A key that is taken apart.
pub(crate) struct ParsedKey<'key> {
    pub(crate) whole: &'key str,
    pub(crate) partition: Option<u16>,
    pub(crate) name: &'key str,
    /// What follows the name.
    pub(crate) rest: &'key str,
}

pub(crate) struct StoredJob {
    pub(crate) tenant: String,
    pub(crate) lane: Option<String>,
    pub(crate) due_ms: u64,
    pub(crate) attempt: u32,
    pub(crate) entry: Option<String>,
    pub(crate) payload: Bytes,
}

/// Rows of one partition that are written together.
pub(crate) struct Import {
    partition: Partition,
    arguments: Arguments,
    pub(crate) rows: usize,
    /// How many rows of the partition are in when these are.
    pub(crate) applied: u64,
}

// === impl Import ===

impl Import {
    pub(crate) fn new(partition: Partition) -> Self {
        Self { partition, arguments: Arguments::default(), rows: 0, applied: 0 }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.arguments.size_bytes()
    }

    pub(crate) fn add(&mut self, row: &Row) {
        let to = &mut self.arguments;
        let given = |name: &Option<String>| name.as_ref().map_or_else(String::new, |name| format!("={name}"));
        match row {
            Row::Record { tenant, kind, id, alias, version, value } => {
                to.text("record").text(tenant.as_str()).text(&escape(kind)).text(id).text(&given(alias));
                to.number(version).raw(value)
            }
            Row::Stream { tenant, emitter, name, last } => {
                to.text("stream").text(tenant.as_str()).text(&escape(emitter)).text(name).number(last)
            }
            Row::Entry { tenant, emitter, stream, id, value } => {
                to.text("entry").text(tenant.as_str()).text(&escape(emitter)).text(stream).number(id).raw(value)
            }
            Row::Value { tenant, scope, key, value } => {
                to.text("value").text(tenant.as_str()).text(scope).text(key).raw(value)
            }
            Row::Counter { tenant, name, value, expires_ms } => {
                to.text("counter").text(tenant.as_str()).text(name).number(value).optional(*expires_ms)
            }
            Row::Job { tenant, lane, due_ms, attempt, entry, payload } => {
                to.text("job").text(tenant.as_str()).text(&given(lane)).number(due_ms).number(attempt);
                to.text(&entry.map_or_else(String::new, |entry| entry.to_string())).raw(payload)
            }
            Row::Timer { tenant, timer, due_ms, schedule } => {
                to.text("timer").text(tenant.as_str()).text(timer).number(due_ms).raw(schedule)
            }
            Row::Directory { .. } => to,
        };
        self.rows += 1;
    }
}

impl Redis {
    /// Every key of this installation, sorted. Their names are held in memory while a move goes on.
    pub(crate) async fn all_keys(&self) -> Result<Vec<String>, Error> {
        let mut keys = Vec::new();
        for (_, server) in self.link.servers().await? {
            let mut cursor = "0".to_owned();
            loop {
                let pattern = format!("{}:*", self.namespace);
                let scan = cmd("SCAN").arg(&cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(1000).to_owned();
                let (next, found): (String, Vec<String>) = from_redis_value(server.ask(&scan).await?)?;
                keys.extend(found);
                if next == "0" {
                    break;
                }
                cursor = next;
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// None of a key that belongs to no partition and is no lookup.
    pub(crate) fn parse_key<'key>(&self, whole: &'key str) -> Option<ParsedKey<'key>> {
        let rest = whole.strip_prefix(&self.namespace)?.strip_prefix(':')?;
        let Some(tagged) = rest.strip_prefix("{p") else {
            let rest = rest.strip_prefix("directory:")?;
            return Some(ParsedKey { whole, partition: None, name: "directory", rest });
        };
        let (index, rest) = tagged.split_once("}:")?;
        let (name, rest) = rest.split_once(':')?;
        Some(ParsedKey { whole, partition: Some(index.parse().ok()?), name, rest })
    }

    pub(crate) fn partition_of(&self, tenant: &Tenant) -> Partition {
        tenant.partition(self.partitions)
    }

    pub(crate) async fn bytes_at(&self, key: &str) -> Result<Option<Bytes>, Error> {
        Ok(self.link.ask::<Option<Vec<u8>>>(cmd("GET").arg(key)).await?.map(Bytes::from))
    }

    /// The value, and when it ends, if it does.
    pub(crate) async fn counter_at(&self, key: &str) -> Result<Option<(i64, Option<u64>)>, Error> {
        let Some(value) = self.link.ask::<Option<i64>>(cmd("GET").arg(key)).await? else { return Ok(None) };
        let expires_ms: i64 = self.link.ask(cmd("PEXPIRETIME").arg(key)).await?;
        Ok(Some((value, u64::try_from(expires_ms).ok())))
    }

    /// In order of their names.
    pub(crate) async fn values_at(&self, key: &str) -> Result<BTreeMap<String, Bytes>, Error> {
        let values: BTreeMap<String, Vec<u8>> = self.link.ask(cmd("HGETALL").arg(key)).await?;
        Ok(values.into_iter().map(|(key, value)| (key, value.into())).collect())
    }

    pub(crate) async fn timer_at(&self, key: &str) -> Result<Option<(u64, Bytes)>, Error> {
        let fields: (Option<u64>, Option<Vec<u8>>) =
            self.link.ask(cmd("HMGET").arg(key).arg(&["due", "schedule"])).await?;
        Ok(fields.0.zip(fields.1).map(|(due_ms, schedule)| (due_ms, schedule.into())))
    }

    pub(crate) async fn job_at(&self, key: &str) -> Result<Option<StoredJob>, Error> {
        type Fields = (Option<String>, Option<String>, Option<u64>, Option<u32>, Option<String>, Option<Vec<u8>>);
        let names = ["tenant", "lane", "due", "attempt", "entry", "payload"];
        let (tenant, lane, due_ms, attempt, entry, payload): Fields =
            self.link.ask(cmd("HMGET").arg(key).arg(&names)).await?;
        let (Some(tenant), Some(due_ms), Some(attempt), Some(payload)) = (tenant, due_ms, attempt, payload) else {
            return Ok(None);
        };
        Ok(Some(StoredJob { tenant, lane, due_ms, attempt, entry, payload: payload.into() }))
    }

    /// The members of a sorted set, in its order.
    pub(crate) async fn ids_at(&self, key: &str) -> Result<Vec<String>, Error> {
        self.link.ask(cmd("ZRANGE").arg(key).arg(0).arg(-1)).await
    }

    pub(crate) async fn record_at(&self, key: &str) -> Result<Option<(u64, Option<String>, Bytes)>, Error> {
        let fields: (Option<u64>, Option<String>, Option<Vec<u8>>) =
            self.link.ask(cmd("HMGET").arg(key).arg(&["version", "alias", "value"])).await?;
        let (Some(version), alias, Some(value)) = fields else { return Ok(None) };
        Ok(Some((version, alias, value.into())))
    }

    pub(crate) async fn entries_at(&self, key: &str, from: &str, count: usize) -> Result<Vec<(String, Bytes)>, Error> {
        let range = cmd("XRANGE").arg(key).arg(from).arg("+").arg("COUNT").arg(count).to_owned();
        let found: Vec<(String, (String, Vec<u8>))> = self.link.ask(&range).await?;
        Ok(found.into_iter().map(|(id, (_, value))| (id, value.into())).collect())
    }

    pub(crate) async fn put_directory(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.link.ask(cmd("SET").arg(format!("{}:directory:{key}", self.namespace)).arg(value)).await
    }

    /// How many rows of each partition an earlier move has written. Refused where anything else is.
    pub(crate) async fn begin_import(&self) -> Result<BTreeMap<Partition, u64>, Error> {
        let has_begun = self.link.ask::<Option<String>>(cmd("GET").arg(self.moving_key())).await?.is_some();
        let mut applied = BTreeMap::new();
        for partition in Partition::all(self.partitions) {
            let prefix = prefix(&self.namespace, partition);
            let is_used: bool = self.link.ask(cmd("EXISTS").arg(format!("{prefix}:position"))).await?;
            if is_used && !has_begun {
                return Err(Error::NotEmpty);
            }
            let mark: Option<u64> = self.link.ask(cmd("GET").arg(format!("{prefix}:transfer"))).await?;
            applied.insert(partition, mark.unwrap_or_default());
        }
        let () = self.link.ask(cmd("SET").arg(self.moving_key()).arg("into")).await?;
        Ok(applied)
    }

    pub(crate) async fn import(&self, import: &Import) -> Result<(), Error> {
        let mut arguments = Arguments::default();
        arguments.number(import.applied).append(&import.arguments);
        let key = prefix(&self.namespace, import.partition);
        let _: u64 = self.link.run(&scripts::IMPORT, &[&key], &arguments).await?;
        Ok(())
    }

    pub(crate) async fn end_import(&self) -> Result<(), Error> {
        for partition in Partition::all(self.partitions) {
            let mark = format!("{}:transfer", prefix(&self.namespace, partition));
            let _: u64 = self.link.ask(cmd("DEL").arg(mark)).await?;
        }
        let _: u64 = self.link.ask(cmd("DEL").arg(self.moving_key())).await?;
        Ok(())
    }

    /// Whether a move into this store is unfinished: then no host may use it.
    pub async fn is_moving(&self) -> Result<bool, Error> {
        Ok(self.link.ask::<Option<String>>(cmd("GET").arg(self.moving_key())).await?.is_some())
    }

    fn moving_key(&self) -> String {
        format!("{}:moving", self.namespace)
    }
}

/// The other way round of `escape`.
pub(crate) fn unescape(name: &str) -> String {
    name.replace("%3A", ":").replace("%25", "%")
}
