//! Checks the settings of Redis: durability on disk, and that nothing is evicted when memory runs short.

use store::Keeping;

use super::Finding;

pub(super) fn judge(keeping: &Keeping, needs_replica: bool) -> Vec<Finding> {
    let mut findings = vec![judge_disk(keeping), judge_memory(keeping)];
    if needs_replica {
        findings.push(judge_replicas(keeping));
    }
    findings
}

fn judge_replicas(keeping: &Keeping) -> Finding {
    const ABOUT: &str = "redis replica";
    match keeping.replicas {
        Some(0) => Finding::fail(
            ABOUT,
            "no replica is connected, and commits wait for one",
            "start a replica (replicaof), or serve with --durability disk",
        ),
        Some(_) => Finding::ok(ABOUT, "a replica is connected"),
        None => Finding::warn(ABOUT, "it does not tell whether it has replicas", "see that one is connected"),
    }
}

fn judge_disk(keeping: &Keeping) -> Finding {
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

fn judge_memory(keeping: &Keeping) -> Finding {
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
