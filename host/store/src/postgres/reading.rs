//! What a tenant can look at. Each is one statement, on a connection that reads share.

use std::time::Instant;

use async_trait::async_trait;
use tokio_postgres::Row;

use super::Postgres;
use super::hearing::Names;
use super::rows::{Fields, bytes, count, name, number, optional_name};
use crate::{
    Entry, EntryId, EntryQuery, Error, KeyInfo, Keys, Lookup, Order, Page, Reads, Record, Records, StreamInfo, Tenant,
    Values,
};

const BY_ID: &str =
    "SELECT id, alias, version, position, value FROM records WHERE tenant = $1 AND kind = $2 AND id = $3";
const BY_ALIAS: &str = "SELECT r.id, r.alias, r.version, r.position, r.value FROM aliases a JOIN records r USING (tenant, kind, id) \
     WHERE a.tenant = $1 AND a.kind = $2 AND a.alias = $3";
const NEWEST: &str = "SELECT id, alias, version, position, value FROM records \
     WHERE tenant = $1 AND kind = $2 AND position > $3 AND position < $4 ORDER BY position DESC LIMIT $5";
const NEXT: &str = "SELECT id, alias, version, position, value FROM records \
     WHERE tenant = $1 AND kind = $2 AND position > $3 AND position < $4 ORDER BY position LIMIT $5";
const TOTAL: &str = "SELECT count(*) FROM records WHERE tenant = $1 AND kind = $2";
const STREAMS: &str = "SELECT name, entries FROM streams WHERE tenant = $1 AND emitter = $2 ORDER BY name";
const LAST_ENTRY: &str = "SELECT last_entry FROM emitters WHERE tenant = $1 AND emitter = $2";
const OLDEST_ENTRIES: &str = "SELECT e.id, e.value FROM streams s JOIN entries e USING (stream) \
     WHERE s.tenant = $1 AND s.emitter = $2 AND s.name = $3 AND e.id BETWEEN $4 AND $5 ORDER BY e.id LIMIT $6";
const NEWEST_ENTRIES: &str = "SELECT e.id, e.value FROM streams s JOIN entries e USING (stream) \
     WHERE s.tenant = $1 AND s.emitter = $2 AND s.name = $3 AND e.id BETWEEN $4 AND $5 ORDER BY e.id DESC LIMIT $6";
const VALUES: &str = "SELECT s.value FROM unnest($3::bytea[]) WITH ORDINALITY q(key, n) \
     LEFT JOIN state s ON s.tenant = $1 AND s.scope = $2 AND s.key = q.key ORDER BY q.n";
const SCOPE: &str = "SELECT bytes FROM scopes WHERE tenant = $1 AND scope = $2";
const KEYS: &str = "SELECT key, octet_length(value)::bigint FROM state WHERE tenant = $1 AND scope = $2 AND key > $3 ORDER BY key LIMIT $4";
const KEY_COUNT: &str = "SELECT count(*) FROM state WHERE tenant = $1 AND scope = $2";
const COUNTERS: &str = "SELECT coalesce(c.value, 0) FROM unnest($2::bytea[]) WITH ORDINALITY q(name, n) \
     LEFT JOIN counters c ON c.tenant = $1 AND c.name = q.name ORDER BY q.n";
const STORED_BYTES: &str = "SELECT ((SELECT coalesce(sum(octet_length(value)), 0) FROM records WHERE tenant = $1) \
     + (SELECT coalesce(sum(bytes), 0) FROM scopes WHERE tenant = $1) \
     + (SELECT coalesce(sum(octet_length(e.value)), 0) FROM streams s JOIN entries e USING (stream) WHERE s.tenant = $1))::bigint";

#[async_trait]
impl Reads for Postgres {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error> {
        let (statement, wanted) = match lookup {
            Lookup::Id(id) => (BY_ID, id),
            Lookup::Alias(alias) => (BY_ALIAS, alias),
        };
        let rows = self.readers.ask(statement, &[&tenant.as_str(), &kind.as_bytes(), &wanted.as_bytes()]).await?;
        rows.first().map(record).transpose()
    }

    #[expect(clippy::disallowed_methods, reason = "how old what is remembered is, by no clock of a tenant")]
    async fn recent_record(&self, tenant: &Tenant, kind: &str, id: &str) -> Result<Option<Record>, Error> {
        let (key, now) = (Names::of_record(tenant, kind, id), Instant::now());
        if let Some(known) = self.remembered.get(&key, now) {
            return Ok(known);
        }
        let number = self.remembered.begin(&key);
        let record = self.record(tenant, kind, Lookup::Id(id)).await?;
        self.remembered.keep(&key, number, (now, &record));
        Ok(record)
    }

    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error> {
        let (above, below) = (page.before.map_or(-1, number), page.after.map_or(i64::MAX, number));
        let statement = if page.ascends() { NEXT } else { NEWEST };
        let (tenant, kind, limit) = (tenant.as_str(), kind.as_bytes(), i64::from(page.bounded_limit()));
        let rows = self.readers.ask(statement, &[&tenant, &kind, &above, &below, &limit]).await?;
        let mut items = rows.iter().map(record).collect::<Result<Vec<_>, _>>()?;
        if page.ascends() {
            items.reverse();
        }
        let total = self.readers.ask(TOTAL, &[&tenant, &kind]).await?;
        Ok(Records { items, total: count(total.first().ok_or(Error::PostgresAnswer)?, 0)? })
    }

    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error> {
        let rows = self.readers.ask(STREAMS, &[&tenant.as_str(), &emitter.as_bytes()]).await?;
        rows.iter().map(|row| Ok(StreamInfo { name: name(row, 0)?, count: count(row, 1)? })).collect()
    }

    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error> {
        let rows = self.readers.ask(LAST_ENTRY, &[&tenant.as_str(), &emitter.as_bytes()]).await?;
        rows.first().map(|row| Ok(EntryId::unpacked(row.field(0)?))).transpose()
    }

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error> {
        let statement = match query.order {
            Order::NewestFirst => NEWEST_ENTRIES,
            Order::OldestFirst => OLDEST_ENTRIES,
        };
        let first = query.first.map_or(i64::MIN, EntryId::packed);
        let last = query.last.map_or(i64::MAX, EntryId::packed);
        let (limit, tenant) = (i64::from(query.bounded_limit()), tenant.as_str());
        let rows = self
            .readers
            .ask(statement, &[&tenant, &emitter.as_bytes(), &stream.as_bytes(), &first, &last, &limit])
            .await?;
        rows.iter().map(|row| Ok(Entry { id: EntryId::unpacked(row.field(0)?), value: bytes(row, 1)? })).collect()
    }

    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error> {
        let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let (tenant, scope) = (tenant.as_str(), scope.as_bytes());
        let rows = self.readers.ask(VALUES, &[&tenant, &scope, &keys]).await?;
        let value = |row: &Row| Ok(row.field::<Option<Vec<u8>>>(0)?.map(Into::into));
        let found = rows.iter().map(value).collect::<Result<_, Error>>()?;
        let size = self.readers.ask(SCOPE, &[&tenant, &scope]).await?;
        Ok(Values { found, size_bytes: size.first().map_or(Ok(0), |row| count(row, 0))? })
    }

    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error> {
        let (tenant, scope) = (tenant.as_str(), scope.as_bytes());
        let (after, limit) = (after.unwrap_or_default().as_bytes(), i64::from(limit));
        let rows = self.readers.ask(KEYS, &[&tenant, &scope, &after, &limit]).await?;
        let info = |row: &Row| Ok(KeyInfo { key: name(row, 0)?, size_bytes: count(row, 1)? });
        let found = rows.iter().map(info).collect::<Result<_, Error>>()?;
        let total = self.readers.ask(KEY_COUNT, &[&tenant, &scope]).await?;
        Ok(Keys { found, total: count(total.first().ok_or(Error::PostgresAnswer)?, 0)? })
    }

    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error> {
        let names: Vec<&[u8]> = counters.iter().map(String::as_bytes).collect();
        let rows = self.readers.ask(COUNTERS, &[&tenant.as_str(), &names]).await?;
        rows.iter().map(|row| row.field(0)).collect()
    }

    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        let rows = self.readers.ask(STORED_BYTES, &[&tenant.as_str()]).await?;
        count(rows.first().ok_or(Error::PostgresAnswer)?, 0)
    }
}

fn record(row: &Row) -> Result<Record, Error> {
    Ok(Record {
        id: name(row, 0)?,
        alias: optional_name(row, 1)?,
        version: count(row, 2)?,
        position: count(row, 3)?,
        value: bytes(row, 4)?,
    })
}
