//! The log, and the few lines that a server says whatever the level of its log is: both on standard error, in one format.

use std::io::IsTerminal;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

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

/// The commands themselves say which dangerous options were given; the way to the registry would only repeat it.
const QUIET: &str = "warn,outbound::client=error";

/// Set once, with the process's one log.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// `RUST_LOG` says how much is logged.
pub(crate) fn start(format: LogFormat) {
    if FORMAT.set(format).is_err() {
        return;
    }
    let mut filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(QUIET));
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(is_coloured()).boxed(),
        LogFormat::Json => {
            if let Ok(said) = format!("{SAID}=info").parse() {
                filter = filter.add_directive(said);
            }
            lines.json().boxed()
        }
    };
    tracing_subscriber::registry().with(filter).with(lines).with(OwnLog::default()).init();
}

/// For the operator, on one line or several.
pub(crate) fn say(text: &str) {
    if is_json() {
        tracing::info!(target: SAID, "{}", text.trim());
    } else {
        eprintln!("{text}");
    }
}

pub(crate) fn warn(text: &str) {
    if is_json() {
        tracing::warn!(target: SAID, "{text}");
    } else {
        eprintln!("warning: {text}");
    }
}

pub(crate) fn fail(text: &str) {
    if is_json() {
        tracing::error!(target: SAID, "{text}");
    } else {
        eprintln!("error: {text}");
    }
}

pub(crate) fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

/// <https://no-color.org>, and no escapes in a file or a pipe.
fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
