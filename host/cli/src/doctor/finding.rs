//! What a check found.

use anyhow::Result;
use remote::Output;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Ok,
    Warn,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(super) level: Level,
    pub(super) about: &'static str,
    pub(super) says: String,
    /// What to do.
    pub(super) advice: Option<String>,
}

// === impl Finding ===

impl Finding {
    pub(super) fn ok(about: &'static str, says: impl Into<String>) -> Self {
        Self { level: Level::Ok, about, says: says.into(), advice: None }
    }

    pub(super) fn warn(about: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { level: Level::Warn, about, says: says.into(), advice: Some(advice.into()) }
    }

    pub(super) fn fail(about: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { level: Level::Fail, about, says: says.into(), advice: Some(advice.into()) }
    }
}

pub(super) fn print(output: &Output, findings: &[Finding]) -> Result<()> {
    if output.is_json {
        return Ok(output.json(&findings)?);
    }
    for Finding { level, about, says, advice } in findings {
        let word = match level {
            Level::Ok => "ok  ",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        output.line(&format!("{word}  {about:<12}  {says}"))?;
        if let Some(advice) = advice {
            output.line(&format!("{:18}  → {advice}", ""))?;
        }
    }
    Ok(())
}
