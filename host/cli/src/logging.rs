//! The log, and the few lines that a server says whatever the level of its log is: both on standard error, in one format.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::wiring::exporting::own_log::OwnLog;

/// How lines are written.
#[derive(clap::ValueEnum, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// For people; in colour on a terminal
    #[default]
    Text,
    /// One JSON object for each line
    Json,
}

/// What a server says by itself is logged under this name, so that it is shown whatever `RUST_LOG` says.
const SAID: &str = "wellspring::server";

/// Set once, with the process's one log.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// `RUST_LOG` says how much is logged.
pub(crate) fn start(format: LogFormat) {
    if FORMAT.set(format).is_err() {
        return;
    }
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let filter = filter(&wanted);
    let refused = filter.as_ref().err().map(ToString::to_string);
    let mut filter = filter.unwrap_or_else(|_| quiet());
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(is_coloured()).boxed(),
        LogFormat::Json => {
            filter = filter.with_target(SAID, LevelFilter::INFO);
            lines.json().boxed()
        }
    };
    tracing_subscriber::registry().with(filter).with(lines).with(OwnLog::default()).init();
    if let Some(reason) = refused {
        warn(&format!(
            "RUST_LOG={wanted} is not used: {reason}. It is a level, or levels by module: `info`, `warn,outbound=debug`"
        ));
    }
}

/// By level and module alone: what tells spans and fields apart too needs regular expressions, a thirtieth of the build.
fn filter(wanted: &str) -> Result<Targets, ParseError> {
    if wanted.trim().is_empty() { Ok(quiet()) } else { wanted.parse() }
}

/// The commands themselves say which dangerous options were given; the way to the registry would only repeat it.
fn quiet() -> Targets {
    Targets::new().with_default(LevelFilter::WARN).with_target("outbound::client", LevelFilter::ERROR)
}

/// For the operator, on one line or several.
pub(crate) fn say(text: &str) {
    if is_json() {
        tracing::info!(target: SAID, "{}", text.trim());
    } else {
        line(text);
    }
}

pub(crate) fn warn(text: &str) {
    if is_json() {
        tracing::warn!(target: SAID, "{text}");
    } else {
        line(&format!("warning: {text}"));
    }
}

pub(crate) fn fail(text: &str) {
    if is_json() {
        tracing::error!(target: SAID, "{text}");
    } else {
        line(&format!("error: {text}"));
    }
}

/// Text for standard error. A process goes on when nothing reads what it says.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

pub(crate) fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

/// <https://no-color.org>, and no escapes in a file or a pipe.
fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::filter;

    #[test]
    fn the_log_is_as_loud_as_it_is_told_for_each_module() {
        for (wanted, target, level, expected) in [
            ("", "store", Level::WARN, true),
            ("", "store", Level::INFO, false),
            (" ", "outbound::client", Level::WARN, false),
            ("info", "store", Level::INFO, true),
            ("info", "store", Level::DEBUG, false),
            ("outbound=info", "outbound::connect", Level::INFO, true),
            ("outbound=info", "store", Level::ERROR, false),
            ("warn,outbound=debug", "store", Level::WARN, true),
            ("warn,outbound=debug", "outbound::client", Level::DEBUG, true),
            ("off", "store", Level::ERROR, false),
        ] {
            let filter = filter(wanted).unwrap();
            assert_eq!(filter.would_enable(target, &level), expected, "{wanted:?} {target} {level}");
        }
        assert!(filter("store=loud").is_err());
    }
}
