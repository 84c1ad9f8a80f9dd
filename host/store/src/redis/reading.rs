//! What is read of a tenant: records, entries, values and counters.

use std::time::Instant;

use ::redis::{Cmd, cmd, from_redis_value};
use async_trait::async_trait;
use bytes::Bytes;

use super::encode::{self, Arguments, escape};
use super::{Redis, decode, scripts};
use crate::{
    Entry, EntryId, EntryQuery, Error, KeyInfo, Keys, Lookup, MAX_PAGE, Order, Page, Reads, Record, Records,
    StreamInfo, Tenant, Values,
};

#[async_trait]
impl Reads for Redis {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error> {
        let id = match lookup {
            Lookup::Id(id) => id,
            Lookup::Alias(alias) => {
                let mut question = Arguments::default();
                question.text("alias").text(alias);
                return Ok(self.read_records(tenant, kind, &question).await?.items.pop());
            }
        };
        Ok(decode::record_fields(id, self.link.ask(&record_fields(&self.record_key(tenant, kind, id))).await?))
    }

    #[expect(clippy::disallowed_methods, reason = "how old what is held may be is of real time")]
    async fn recent_record(&self, tenant: &Tenant, kind: &str, id: &str) -> Result<Option<Record>, Error> {
        let (key, now) = (self.record_key(tenant, kind, id), Instant::now());
        if let Some(known) = self.remembered.get(&key, now) {
            return Ok(known);
        }
        let number = self.remembered.begin(&key);
        let Some(answer) = self.link.ask_remembered(&record_fields(&key)).await else {
            return self.record(tenant, kind, Lookup::Id(id)).await;
        };
        let record = decode::record_fields(id, from_redis_value(answer)?);
        self.remembered.keep(&key, number, (now, &record));
        Ok(record)
    }

    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error> {
        let bound = |position: Option<u64>, none: &str| position.map_or_else(|| none.to_owned(), |at| at.to_string());
        let mut question = Arguments::default();
        question.text("list").text(&bound(page.before, "-inf")).text(&bound(page.after, "+inf"));
        question.number(page.bounded_limit()).number(u8::from(page.ascends()));
        let mut records = self.read_records(tenant, kind, &question).await?;
        if page.ascends() {
            records.items.reverse();
        }
        Ok(records)
    }

    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error> {
        let mut arguments = Arguments::default();
        arguments.number(format_args!("{tenant}:{}", escape(emitter)));
        let streams: Vec<(String, u64)> =
            self.link.run(&scripts::STREAMS, &[&self.prefix_of(tenant)], &arguments).await?;
        Ok(streams.into_iter().map(|(name, count)| StreamInfo { name, count }).collect())
    }

    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error> {
        let key = format!("{}:last:{tenant}:{}", self.prefix_of(tenant), escape(emitter));
        let last: Option<String> = self.link.ask(cmd("GET").arg(key)).await?;
        last.map(|id| decode::parse(&id)).transpose()
    }

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error> {
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let key = format!("{}:stream:{tenant}:{}:{stream}", self.prefix_of(tenant), escape(emitter));
        let (first, last) = encode::range(query.first, query.last);
        let (name, from, to) = match query.order {
            Order::OldestFirst => ("XRANGE", first, last),
            Order::NewestFirst => ("XREVRANGE", last, first),
        };
        let command = cmd(name).arg(key).arg(from).arg(to).arg("COUNT").arg(query.bounded_limit()).to_owned();
        let found: Vec<(String, (String, Vec<u8>))> = self.link.ask(&command).await?;
        let entry =
            |(id, (_, value)): (String, (String, Vec<u8>))| Ok(Entry { id: decode::parse(&id)?, value: value.into() });
        found.into_iter().map(entry).collect()
    }

    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error> {
        let prefix = self.prefix_of(tenant);
        let size = cmd("HGET").arg(format!("{prefix}:sizes:{tenant}")).arg(scope).to_owned();
        let size_bytes: Option<u64> = self.link.ask(&size).await?;
        if keys.is_empty() {
            return Ok(Values { found: Vec::new(), size_bytes: size_bytes.unwrap_or_default() });
        }
        let values = cmd("HMGET").arg(format!("{prefix}:state:{tenant}:{scope}")).arg(keys).to_owned();
        let found: Vec<Option<Vec<u8>>> = self.link.ask(&values).await?;
        let found = found.into_iter().map(|value| value.map(Bytes::from)).collect();
        Ok(Values { found, size_bytes: size_bytes.unwrap_or_default() })
    }

    /// A scope is bounded in bytes, so all its keys can be read and sorted here.
    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error> {
        let state = format!("{}:state:{tenant}:{scope}", self.prefix_of(tenant));
        let mut names: Vec<String> = self.link.ask(cmd("HKEYS").arg(&state)).await?;
        let total = names.len() as u64;
        names.retain(|name| after.is_none_or(|after| name.as_str() > after));
        names.sort_unstable();
        names.truncate(limit.min(MAX_PAGE) as usize);
        let mut found = Vec::with_capacity(names.len());
        for key in names {
            let size_bytes = self.link.ask(cmd("HSTRLEN").arg(&state).arg(&key)).await?;
            found.push(KeyInfo { key, size_bytes });
        }
        Ok(Keys { found, total })
    }

    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error> {
        if counters.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = self.prefix_of(tenant);
        let keys: Vec<String> = counters.iter().map(|name| format!("{prefix}:counter:{tenant}:{name}")).collect();
        let found: Vec<Option<i64>> = self.link.ask(cmd("MGET").arg(keys)).await?;
        Ok(found.into_iter().map(Option::unwrap_or_default).collect())
    }

    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        let mut arguments = Arguments::default();
        arguments.text(tenant.as_str());
        self.link.run(&scripts::STORED, &[&self.prefix_of(tenant)], &arguments).await
    }
}

/// What every run asks for, so no script is run for it.
fn record_fields(key: &str) -> Cmd {
    cmd("HMGET").arg(key).arg(&["version", "alias", "position", "value"]).to_owned()
}
