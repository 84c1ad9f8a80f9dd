//! Which hosts are there, by the clock of the server: one call says it and learns it.

use super::decode::Row;
use super::encode::Arguments;
use super::{Redis, scripts};
use crate::{Beat, Error, Heartbeat, Member};

impl Redis {
    pub(super) async fn say(&self, beat: Beat<'_>) -> Result<Heartbeat, Error> {
        let mut arguments = Arguments::default();
        arguments.text(beat.host).raw(beat.about).number(beat.known).number(beat.gone_after_ms);
        self.call_members(&arguments).await
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
        // A hash tag of its own: all of it is in one slot.
        let key = format!("{}:{{hosts}}", self.namespace);
        let mut answer: Row = self.link.run(&scripts::BEAT, &[&key], arguments).await?;
        let (now_us, version) = (answer.take()?, answer.take()?);
        let rows: Option<Vec<Row>> = answer.take()?;
        let members = rows.map(|rows| rows.into_iter().map(Row::member).collect::<Result<_, _>>()).transpose()?;
        Ok(Heartbeat { now_us, version, members })
    }
}
