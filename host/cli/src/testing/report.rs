//! How tests went, for people and for programs.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

pub(super) struct Report {
    is_json: bool,
    file: String,
    passed: usize,
    failed: usize,
}

pub(super) enum Verdict {
    Passed { took: Duration },
    Failed { message: String, logs: Vec<String> },
}

// === impl Verdict ===

impl Verdict {
    /// Of the outcome of the test's own run.
    pub(super) fn of(outcome: &Value, took: Duration) -> Self {
        let Some(error) = outcome.get("error").filter(|error| !error.is_null()) else {
            return Self::Passed { took };
        };
        let lines = outcome.get("logs").and_then(Value::as_array).into_iter().flatten();
        let logs = lines.filter_map(|line| line.get("message")?.as_str().map(str::to_owned)).collect();
        Self::Failed { message: message_of(error), logs }
    }
}

/// The stack, which names the line of the test; or what is said instead.
pub(super) fn message_of(error: &Value) -> String {
    let thrown = error.get("thrown");
    let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let stack = text(thrown.and_then(|thrown| thrown.get("stack")));
    let message = text(error.get("message")).unwrap_or_else(|| error.to_string());
    let frames = stack.unwrap_or_default();
    // The harness is not what failed.
    let own: Vec<&str> = frames.lines().filter(|line| !line.contains("wellspring-test-harness")).collect();
    match own.first() {
        Some(first) if first.contains(&message) || message.contains(first.trim()) => own.join("\n"),
        _ => [vec![message.as_str()], own].concat().join("\n"),
    }
}

// === impl Report ===

impl Report {
    pub(super) fn new(is_json: bool) -> Self {
        Self { is_json, file: String::new(), passed: 0, failed: 0 }
    }

    pub(super) fn file(&mut self, path: &Path) -> Result<()> {
        self.file = path.strip_prefix("./").unwrap_or(path).display().to_string();
        if self.is_json { Ok(()) } else { tell(&self.file) }
    }

    pub(super) fn test(&mut self, name: &str, verdict: &Verdict) -> Result<()> {
        let file = &self.file;
        match verdict {
            Verdict::Passed { took } => {
                self.passed += 1;
                let ms = took.as_millis() as u64;
                match self.is_json {
                    true => tell(&json!({"file": file, "test": name, "ok": true, "ms": ms}).to_string()),
                    false => tell(&format!("  ok    {name} ({ms} ms)")),
                }
            }
            Verdict::Failed { message, logs } => {
                self.failed += 1;
                if self.is_json {
                    let line = json!({"file": file, "test": name, "ok": false, "error": message, "logs": logs});
                    return tell(&line.to_string());
                }
                tell(&format!("  FAIL  {name}"))?;
                let mut lines = message.lines().chain(logs.iter().map(String::as_str));
                lines.try_for_each(|line| tell(&format!("        {line}")))
            }
        }
    }

    /// A file whose tests could not be run.
    pub(super) fn broken(&mut self, path: &Path, error: &anyhow::Error) -> Result<()> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.test(&name, &Verdict::Failed { message: format!("{error:#}"), logs: Vec::new() })
    }

    pub(super) fn finish(&self) -> Result<ExitCode> {
        let Self { passed, failed, .. } = self;
        if !self.is_json {
            tell(&format!("{} tests: {passed} passed, {failed} failed", passed + failed))?;
        }
        Ok(match failed + usize::from(passed + failed == 0) {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        })
    }
}

/// The tests go on when nothing reads of them any more: the exit code tells of all of them.
fn tell(text: &str) -> Result<()> {
    match remote::output::line(text) {
        Ok(()) | Err(remote::Error::OutputClosed) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
