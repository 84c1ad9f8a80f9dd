//! Which hosts are there, by the clock of the server, and what they say and lend to each other.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::broadcast;
use tokio_postgres::Row;

use super::Postgres;
use super::hearing::Message;
use super::link::{Line, Place, Question};
use super::rows::{Fields, bytes, count};
use crate::neighbours::{Neighbours, Said};
use crate::{Beat, Error, Heartbeat, Member, readable};

const BEAT: &str = "SELECT now_us, version, written, host, seen_ms, about FROM beat($1, $2, $3, $4, $5)";
const LEAVE: &str = "WITH gone AS (DELETE FROM hosts WHERE host = $1 RETURNING 1) \
     UPDATE installation SET hosts_version = hosts_version + 1 WHERE EXISTS (SELECT 1 FROM gone)";
const MEMBERS: &str = "SELECT 0::bigint, 0::bigint, 0, host, seen_ms, about FROM hosts \
     WHERE seen_ms > extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint ORDER BY host";
const LAYOUT: &str = "SELECT layout FROM installation";
const OTHERS: &str = "SELECT count(*) FROM hosts";
const SAY: &str = "SELECT pg_notify($1, $2)";
const LEND: &str = "INSERT INTO lent VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond') ON CONFLICT DO NOTHING";
const IS_LENT: &str = "SELECT 1 FROM lent WHERE name = $1 AND until > clock_timestamp()";
const BORROW: &str = "SELECT bytes FROM lent WHERE name = $1 AND until > clock_timestamp()";

/// What this host says, and hears of the others.
pub(super) struct Talk {
    pub(super) place: Arc<Place>,
    pub(super) line: Line,
    pub(super) client: String,
    pub(super) heard: broadcast::Sender<Said>,
}

impl Postgres {
    pub(super) async fn say(&self, beat: Beat<'_>) -> Result<Heartbeat, Error> {
        let question = Question::of(BEAT)
            .with(beat.host)
            .with(beat.about)
            .with(i64::try_from(beat.known).unwrap_or(-1))
            .with(i64::try_from(beat.gone_after_ms).unwrap_or(i64::MAX))
            .with(i32::try_from(beat.reads).unwrap_or(i32::MAX));
        let rows = self.hosts.ask(question).await?;
        let first = rows.first().ok_or(Error::PostgresAnswer)?;
        let (now_us, version) = (count(first, 0)?, count(first, 1)?);
        let layout = u32::try_from(first.field::<i32>(2)?).unwrap_or_default();
        readable(layout, beat.reads)?;
        let members = (version != beat.known).then(|| members(&rows)).transpose()?;
        Ok(Heartbeat { now_us, version, layout, members })
    }

    pub(super) async fn say_goodbye(&self, host: &str) -> Result<(), Error> {
        self.hosts.ask(Question::of(LEAVE).with(host)).await.map(drop)
    }

    pub(super) async fn list_members(&self, within_ms: u64) -> Result<Vec<Member>, Error> {
        let within_ms = i64::try_from(within_ms).unwrap_or(i64::MAX >> 1);
        members(&self.hosts.ask(Question::of(MEMBERS).with(within_ms)).await?)
    }

    /// The layout of what is stored, if any host has settled on one.
    pub(crate) async fn stored_layout(&self) -> Result<Option<u32>, Error> {
        let rows = self.hosts.ask(Question::of(LAYOUT)).await?;
        let layout: i32 = rows.first().ok_or(Error::PostgresAnswer)?.field(0)?;
        Ok(u32::try_from(layout).ok().filter(|layout| *layout > 0))
    }
}

fn members(rows: &[Row]) -> Result<Vec<Member>, Error> {
    let mut members = Vec::new();
    for row in rows {
        if let Some(host) = row.field::<Option<String>>(3)? {
            members.push(Member { host, seen_ms: count(row, 4)?, about: bytes(row, 5)? });
        }
    }
    Ok(members)
}

#[async_trait]
impl Neighbours for Talk {
    fn own(&self) -> &str {
        &self.client
    }

    async fn are_any(&self) -> Result<bool, Error> {
        let rows = self.line.ask(Question::of(OTHERS)).await?;
        Ok(count(rows.first().ok_or(Error::PostgresAnswer)?, 0)? > 1)
    }

    async fn say(&self, text: &str) -> Result<(), Error> {
        let message = Message::said(&self.client, text);
        self.line.ask(Question::of(SAY).with(self.place.schema.as_str()).with(message)).await.map(drop)
    }

    fn listen(&self) -> broadcast::Receiver<Said> {
        self.heard.subscribe()
    }

    async fn lend(&self, name: &str, bytes: Bytes, for_ms: u64) -> Result<(), Error> {
        let for_ms = i64::try_from(for_ms).unwrap_or(i64::MAX >> 20);
        self.line.ask(Question::of(LEND).with(name).with(&bytes[..]).with(for_ms)).await.map(drop)
    }

    async fn is_lent(&self, name: &str) -> Result<bool, Error> {
        Ok(!self.line.ask(Question::of(IS_LENT).with(name)).await?.is_empty())
    }

    async fn borrow(&self, name: &str) -> Result<Option<Bytes>, Error> {
        let rows = self.line.ask(Question::of(BORROW).with(name)).await?;
        rows.first().map(|row| bytes(row, 0)).transpose()
    }
}
