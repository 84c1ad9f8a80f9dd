//! The command line against a server: a client of the REST API, and the commands that stand on it.
//!
//! It knows nothing of the server but its API: no crate of the host is used here, so that it builds in seconds and
//! works against any server of its version. `wellspring` dispatches to it; `wellspring-client` is this crate alone.

// They panic when the reader of a pipe is gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test may fail"
    )
)]

mod client;
mod error;
pub mod models;
mod session;

pub mod ask;
pub mod documents;
mod examples;
mod files;
pub mod find;
mod profiles;
pub mod project;
pub mod props;
pub mod spans;
mod suggest;
mod unique;

pub mod output;
pub mod tail;

mod commands;
mod generate;

use async_recursion::async_recursion as boxed;
use std::process::ExitCode;

pub use client::{Client, Key, Query, Stage, path_segment};
pub use commands::{Command, accounts, audit, keys, print_event, print_log_event, run};
pub use error::{Error, exit};
pub use files::{Collected, collect};
pub use output::Output;
pub use session::{Connection, DEFAULT_URL, DEV_LOGIN, Session};

/// What `--help` ends with.
pub const EXIT_CODES: &str = "Exit codes: 0 done · 1 failed or refused · 2 wrong usage · 130 interrupted";

/// Runs a command to its end and says how it went. `whole` is the command line it is part of.
#[boxed(?Send)]
pub async fn execute(command: Command, whole: clap::Command) -> ExitCode {
    let is_json = command.is_json();
    finish(until_interrupted(command.run(whole)).await, is_json)
}

/// Ctrl-C ends a command wherever it is; nothing here needs to be finished.
pub async fn until_interrupted<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    // Cancel-safe: dropping the work only abandons a request.
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(Error::Interrupted),
    }
}

/// Tells of an error, and gives its exit code.
pub fn finish(done: Result<(), Error>, is_json: bool) -> ExitCode {
    let Err(error) = done else {
        return ExitCode::from(exit::DONE);
    };
    match &error {
        // Caused by the user or by the reader of the output: no message.
        Error::Interrupted | Error::OutputClosed => {}
        error if is_json => output::talk(&error.to_json().to_string()),
        error => tell(error),
    }
    ExitCode::from(error.exit_code())
}

fn tell(error: &Error) {
    let mut message = format!("error: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        message.push_str(&format!(": {source}"));
        cause = source.source();
    }
    output::talk(&message);
    if let Some(hint) = error.hint() {
        output::talk(&format!("hint: {hint}"));
    }
}
