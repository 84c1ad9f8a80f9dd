//! Rebuilds the order of work from the rows, when the store is opened or a transaction failed.

use rusqlite::Connection;

use crate::queue::index::{Change, Index};
use crate::{JobId, Tenant};

pub(super) fn index(connection: &Connection, partitions: u16, next_token: u64) -> Result<Index, rusqlite::Error> {
    let mut index = Index::new(partitions, next_token);
    let mut jobs = connection.prepare("SELECT tenant, job, lane, due_ms, length(payload) FROM jobs ORDER BY job")?;
    let mut rows = jobs.query([])?;
    while let Some(row) = rows.next()? {
        let (due_ms, bytes) = (row.get(3)?, row.get(4)?);
        let change = Change::Enqueue { job: JobId(row.get(1)?), lane: row.get(2)?, due_ms, bytes };
        index.apply(&tenant(row)?, change);
    }
    let mut timers = connection.prepare("SELECT tenant, timer, due_ms FROM timers")?;
    let mut rows = timers.query([])?;
    while let Some(row) = rows.next()? {
        let change = Change::SetTimer { timer: row.get(1)?, due_ms: row.get(2)? };
        index.apply(&tenant(row)?, change);
    }
    Ok(index)
}

fn tenant(row: &rusqlite::Row<'_>) -> Result<Tenant, rusqlite::Error> {
    Tenant::parse(row.get_ref(0)?.as_str()?).map_err(|_| rusqlite::Error::InvalidQuery)
}
