//! Counters of one transaction: each is read once, added up in memory and written once.

use rusqlite::{Connection, OptionalExtension};

use crate::HashMap;
use crate::Tenant;
use crate::batch::counter_range;

#[derive(Default)]
pub(super) struct Counters {
    totals: HashMap<Tenant, HashMap<String, Total>>,
}

struct Total {
    value: i64,
    expires_ms: Option<u64>,
    is_changed: bool,
}

impl Counters {
    pub(super) fn total(
        &mut self,
        connection: &Connection,
        tenant: &Tenant,
        name: &str,
    ) -> Result<i64, rusqlite::Error> {
        Ok(self.find(connection, tenant, name)?.value)
    }

    pub(super) fn add(
        &mut self,
        connection: &Connection,
        tenant: &Tenant,
        name: &str,
        amount: (i64, Option<u64>),
    ) -> Result<i64, rusqlite::Error> {
        let total = self.find(connection, tenant, name)?;
        total.value = counter_range(total.value + counter_range(amount.0));
        total.expires_ms = amount.1;
        total.is_changed = true;
        Ok(total.value)
    }

    /// Writes what changed, and forgets: the next transaction reads again.
    pub(super) fn flush(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        let sql = "INSERT INTO counters (tenant, name, value, expires_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET value = excluded.value, expires_ms = excluded.expires_ms";
        let mut statement = connection.prepare_cached(sql)?;
        for (tenant, totals) in self.totals.drain() {
            for (name, total) in totals.into_iter().filter(|(_, total)| total.is_changed) {
                statement.execute((tenant.as_str(), name, total.value, total.expires_ms))?;
            }
        }
        Ok(())
    }

    pub(super) fn forget(&mut self) {
        self.totals.clear();
    }

    fn find(&mut self, connection: &Connection, tenant: &Tenant, name: &str) -> Result<&mut Total, rusqlite::Error> {
        if !self.totals.contains_key(tenant) {
            self.totals.insert(tenant.clone(), HashMap::default());
        }
        let totals = self.totals.get_mut(tenant).ok_or(rusqlite::Error::InvalidQuery)?;
        if !totals.contains_key(name) {
            let sql = "SELECT value FROM counters WHERE tenant = ?1 AND name = ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let value: Option<i64> = statement.query_row((tenant.as_str(), name), |row| row.get(0)).optional()?;
            let total = Total { value: value.unwrap_or_default(), expires_ms: None, is_changed: false };
            totals.insert(name.to_owned(), total);
        }
        totals.get_mut(name).ok_or(rusqlite::Error::InvalidQuery)
    }
}
