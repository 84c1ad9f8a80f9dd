//! Asks the servers how they keep what they are given.

use std::collections::HashMap;

use ::redis::{InfoDict, cmd, from_redis_value};

use super::Redis;
use super::node::Node;
use crate::{Error, Keeping};

impl Redis {
    /// Of every server that holds data, with its place.
    pub(super) async fn ask_keeping(&self) -> Result<Vec<(String, Keeping)>, Error> {
        let mut all = Vec::new();
        for (place, server) in self.link.servers().await? {
            all.push((place, keeping(&server).await?));
        }
        Ok(all)
    }
}

async fn keeping(server: &Node) -> Result<Keeping, Error> {
    let info: InfoDict = from_redis_value(server.ask(&cmd("INFO")).await?)?;
    // Users without the right to ask are common.
    let settings = server.ask(cmd("CONFIG").arg("GET").arg("appendfsync")).await;
    let settings = settings.ok().and_then(|value| from_redis_value::<HashMap<String, String>>(value).ok());
    let is_well = |name: &str| info.get::<String>(name).is_none_or(|status| status == "ok");
    Ok(Keeping {
        appends: info.get::<u64>("aof_enabled").map(|flag| flag == 1),
        syncs: settings.and_then(|mut settings| settings.remove("appendfsync")),
        can_write: is_well("aof_last_write_status") && is_well("rdb_last_bgsave_status"),
        maximum_bytes: info.get("maxmemory"),
        eviction: info.get("maxmemory_policy"),
        replicas: info.get("connected_slaves"),
    })
}
