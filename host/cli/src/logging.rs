//! The log, and the few lines that a server says whatever the level of its log is: both on standard error, in one format.

use std::io::IsTerminal;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

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
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(QUIET));
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.with_env_filter(filter).with_ansi(is_coloured()).init(),
        LogFormat::Json => {
            let said = format!("{SAID}=info").parse();
            let filter = said.map_or_else(|_| EnvFilter::new(QUIET), |said| filter.add_directive(said));
            log.json().with_env_filter(filter).init();
        }
    }
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
