//! Checks the settings of Redis: durability on disk, and that nothing is evicted when memory runs short.

use std::collections::HashMap;
use std::time::Duration;

use ::redis::{AsyncConnectionConfig, Client, InfoDict, RedisError};

use super::Finding;
use crate::settings::without_password;

const TIMEOUT: Duration = Duration::from_secs(3);

/// What one Redis says of itself. What it does not tell is absent: services that run Redis for others hide settings.
#[derive(Clone, Debug, Default)]
struct RedisSettings {
    appends: Option<bool>,
    /// `always`, `everysec` or `no`.
    syncs: Option<String>,
    can_write: bool,
    maximum_bytes: Option<u64>,
    eviction: Option<String>,
}

pub(super) async fn check(url: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for node in nodes(url) {
        findings.extend(match ask(&node).await {
            Ok(keeping) => judge(&keeping),
            Err(error) => {
                let says = format!("{} does not tell how it keeps data: {error}", without_password(&node));
                vec![Finding::warn("redis", says, "let its user run INFO")]
            }
        });
    }
    // The nodes of a cluster are mostly set up alike.
    findings.dedup();
    findings
}

/// `redis://host:port/db`, or every node of `redis+cluster://user:password@host:port,host:port`.
fn nodes(url: &str) -> Vec<String> {
    let Some(rest) = url.strip_prefix("redis+cluster://") else {
        return vec![url.to_owned()];
    };
    let (credentials, places) = rest.rsplit_once('@').map_or(("", rest), |(before, places)| (before, places));
    let at = if credentials.is_empty() { "" } else { "@" };
    places.trim_end_matches('/').split(',').map(|place| format!("redis://{credentials}{at}{place}")).collect()
}

async fn ask(url: &str) -> Result<RedisSettings, RedisError> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
    let mut redis = Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await?;
    let info: InfoDict = ::redis::cmd("INFO").query_async(&mut redis).await?;
    let setting: Result<HashMap<String, String>, _> =
        ::redis::cmd("CONFIG").arg("GET").arg("appendfsync").query_async(&mut redis).await;
    let is_well = |name: &str| info.get::<String>(name).is_none_or(|status| status == "ok");
    Ok(RedisSettings {
        appends: info.get::<u64>("aof_enabled").map(|flag| flag == 1),
        syncs: setting.ok().and_then(|mut settings| settings.remove("appendfsync")),
        can_write: is_well("aof_last_write_status") && is_well("rdb_last_bgsave_status"),
        maximum_bytes: info.get("maxmemory"),
        eviction: info.get("maxmemory_policy"),
    })
}

fn judge(keeping: &RedisSettings) -> Vec<Finding> {
    vec![judge_disk(keeping), judge_memory(keeping)]
}

fn judge_disk(keeping: &RedisSettings) -> Finding {
    const ABOUT: &str = "redis disk";
    let warn = |says: &str, advice: &str| Finding::warn(ABOUT, says, advice);
    if !keeping.can_write {
        return Finding::fail(ABOUT, "Redis could not write to its disk", "see its log, and whether its disk is full");
    }
    match (keeping.appends, keeping.syncs.as_deref()) {
        (Some(false), _) => {
            warn("a crash of Redis loses what was accepted since its last snapshot", &set("appendonly yes"))
        }
        (_, Some("always")) => Finding::ok(ABOUT, "what is accepted is on disk"),
        (_, Some("everysec")) => warn("a crash may lose the last second", &set("appendfsync always")),
        (_, Some(_)) => warn("a crash may lose half a minute", &set("appendfsync always")),
        (_, None) => {
            warn("it does not tell when it writes to disk", "see that appendonly is yes and appendfsync always")
        }
    }
}

fn judge_memory(keeping: &RedisSettings) -> Finding {
    const ABOUT: &str = "redis memory";
    match (keeping.maximum_bytes, keeping.eviction.as_deref()) {
        (_, Some("noeviction")) | (Some(0), _) => Finding::ok(ABOUT, "nothing is evicted"),
        (_, Some(policy)) => Finding::fail(
            ABOUT,
            format!("when memory runs short Redis throws data away ({policy})"),
            set("maxmemory-policy noeviction"),
        ),
        (_, None) => Finding::warn(ABOUT, "it does not tell what it evicts", "see that maxmemory-policy is noeviction"),
    }
}

fn set(setting: &str) -> String {
    format!("redis-cli CONFIG SET {setting}, then CONFIG REWRITE to keep it so")
}

#[cfg(test)]
mod tests;
