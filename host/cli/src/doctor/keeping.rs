//! Checks how a shared store keeps what it is given.

use platform::Platform;
use platform::manage::health;

use super::{Finding, Level, postgres, redis};
use crate::settings::Settings;

/// Of every server that holds data.
pub(crate) async fn check(platform: &Platform, settings: &Settings) -> Vec<Finding> {
    let is_postgres = settings.store.as_deref().is_some_and(store::postgres::is_address);
    let judge = |keeping| match is_postgres {
        true => postgres::judge(keeping),
        false => redis::judge(keeping, settings.needs_replica()),
    };
    let mut findings = match health::keeping(platform).await {
        Ok(servers) => servers.iter().flat_map(|(_, keeping)| judge(keeping)).collect(),
        Err(error) => {
            let says = format!("the store does not tell how it keeps data: {error}");
            vec![Finding::warn("store", says, "let its user ask: INFO in Redis, pg_settings in PostgreSQL")]
        }
    };
    // The nodes of a cluster are mostly set up alike.
    findings.dedup();
    findings
}

/// What is wrong, for people.
pub(crate) fn problems(findings: &[Finding]) -> Vec<String> {
    let bad = findings.iter().filter(|finding| finding.level != Level::Ok);
    bad.map(|finding| format!("{}; {}", finding.says, finding.advice.as_deref().unwrap_or_default())).collect()
}
