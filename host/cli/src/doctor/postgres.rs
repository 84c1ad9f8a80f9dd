//! Checks the settings of PostgreSQL: that an answered commit is on disk.

use store::Keeping;

use super::Finding;

const ABOUT: &str = "postgres disk";

pub(super) fn judge(keeping: &Keeping) -> Vec<Finding> {
    let warn = |says: &str, setting: &str| Finding::warn(ABOUT, says, set(setting));
    vec![if !keeping.can_write {
        Finding::fail(
            ABOUT,
            "this PostgreSQL is a standby and takes no writes",
            "give the address of the primary server",
        )
    } else if keeping.appends == Some(false) {
        warn("a crash of its machine may damage everything", "fsync")
    } else if keeping.syncs.as_deref() == Some("everysec") {
        warn("a crash may lose the last second", "synchronous_commit")
    } else {
        Finding::ok(ABOUT, "what is accepted is on disk")
    }]
}

fn set(setting: &str) -> String {
    format!("ALTER SYSTEM SET {setting} = on, then SELECT pg_reload_conf()")
}

#[cfg(test)]
mod tests {
    use store::Keeping;

    use super::judge;
    use crate::doctor::Level;

    #[test]
    fn a_postgres_that_may_lose_what_it_accepted_is_told_with_the_command_that_mends_it() {
        let durable =
            || Keeping { appends: Some(true), syncs: Some("always".into()), can_write: true, ..Keeping::default() };
        let check = |keeping: Keeping, level: Level, advice: &str| {
            let found = judge(&keeping).pop().unwrap();
            assert_eq!(found.level, level, "{found:?}");
            assert!(found.advice.unwrap_or_default().contains(advice));
        };

        check(durable(), Level::Ok, "");
        check(Keeping { appends: Some(false), ..durable() }, Level::Warn, "SET fsync = on");
        check(Keeping { syncs: Some("everysec".into()), ..durable() }, Level::Warn, "SET synchronous_commit = on");
        check(Keeping { can_write: false, ..durable() }, Level::Fail, "primary");
    }
}
