//! Which hosts are there, by the clock of the server: one call says it and learns it.

use ::redis::cmd;

use super::decode::Row;
use super::encode::Arguments;
use super::{Redis, scripts};
use crate::{Beat, Error, Heartbeat, Member, readable};

impl Redis {
    pub(super) async fn say(&self, beat: Beat<'_>) -> Result<Heartbeat, Error> {
        let mut arguments = Arguments::default();
        arguments.text(beat.host).raw(beat.about).number(beat.known).number(beat.gone_after_ms).number(beat.reads);
        let heartbeat = self.call_members(&arguments).await?;
        readable(heartbeat.layout, beat.reads)?;
        Ok(heartbeat)
    }

    pub(super) async fn say_goodbye(&self, host: &str) -> Result<(), Error> {
        let mut arguments = Arguments::default();
        arguments.text(host).text("leave");
        self.call_members(&arguments).await.map(drop)
    }

    pub(super) async fn list_members(&self, within_ms: u64) -> Result<Vec<Member>, Error> {
        let mut arguments = Arguments::default();
        arguments.text("list").number(within_ms);
        Ok(self.call_members(&arguments).await?.members.unwrap_or_default())
    }

    async fn call_members(&self, arguments: &Arguments) -> Result<Heartbeat, Error> {
        let mut answer: Row = self.link.run(&scripts::BEAT, &[&self.hosts_key()], arguments).await?;
        let (now_us, version, layout) = (answer.take()?, answer.take()?, answer.take()?);
        let rows: Option<Vec<Row>> = answer.take()?;
        let members = rows.map(|rows| rows.into_iter().map(Row::member).collect::<Result<_, _>>()).transpose()?;
        Ok(Heartbeat { now_us, version, layout, members })
    }

    /// The layout of what is stored, if any host has settled on one.
    pub(crate) async fn stored_layout(&self) -> Result<Option<u32>, Error> {
        self.link.ask(cmd("GET").arg(self.layout_key())).await
    }

    /// For a move, whose target has the layout of its source.
    pub(crate) async fn put_layout(&self, layout: &[u8]) -> Result<(), Error> {
        self.link.ask(cmd("SET").arg(self.layout_key()).arg(layout)).await
    }

    fn layout_key(&self) -> String {
        format!("{}:layout", self.hosts_key())
    }

    /// A hash tag of its own: all of it is in one slot.
    fn hosts_key(&self) -> String {
        format!("{}:{{hosts}}", self.namespace)
    }
}
