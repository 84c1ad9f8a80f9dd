//! The whole of `wellspring`: the commands, and where concrete types meet. The binary is one call of [`main`].
//!
//! What is public besides is for the tools and benchmarks of `tests/`, which stand on the same parts.

// They panic when the reader of a pipe is gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]

mod allocator;
mod dev;
mod doctor;
mod failure;
mod local_outcome;
mod local_props;
mod local_services;
mod local_store;
mod logging;
mod operator;
mod priority;
mod run_once;
mod run_workflow;
mod serve;
mod settings;
mod testing;
mod wiring;

use std::pin::Pin;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use logging::LogFormat;
use priority::Priority;

pub use local_services::LocalServices;
pub use run_once::default_cache;
pub use wiring::isolation::processes;
pub use wiring::packages::Packages;

/// A self-hosted, multi-tenant platform for event sources.
///
/// Every event runs in its own WebAssembly sandbox, made in microseconds from a memory image of your component.
#[derive(Parser)]
#[command(name = "wellspring", version, max_term_width = 100, after_help = remote::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the server: everything in one process, kept in one folder
    Serve(serve::Arguments),
    /// Start a server and deploy components from their files, again whenever they are saved
    Dev(dev::Arguments),
    /// Run a component file once, here, or a source or an action on the server
    Run(run_once::Arguments),
    /// Run the tests beside components, `*.test.js`, in the sandbox
    Test(testing::Arguments),
    /// Create, list, change and delete users of this server
    Users(operator::users::Arguments),
    /// List the servers that share the store: version, load, and how far their clocks are off
    Hosts(operator::hosts::Arguments),
    /// Register the apps that accounts can be connected to
    Apps(operator::apps::Arguments),
    /// Connect accounts of apps, and list and delete them
    Accounts(operator::accounts::Arguments),
    /// Write a copy of the store to a file, while the server goes on
    Backup(operator::backup::Arguments),
    /// Put a copy of the store back
    Restore(operator::restore::Arguments),
    /// Move everything from a data folder to Redis, or back, while no server runs
    Migrate(operator::migrate::Arguments),
    RotateKey(operator::rotate_key::Arguments),
    /// Check what would keep a server from working here, and say what to do
    Doctor(doctor::Arguments),
    #[command(flatten)]
    Remote(Box<remote::Command>),
    /// A process that runs components for `serve --isolate process`
    #[command(name = wiring::isolation::COMMAND, hide = true)]
    SandboxWorker(wiring::isolation::WorkerArguments),
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // First of all: a worker locks itself up while it has one thread.
    if let Command::SandboxWorker(arguments) = &arguments.command {
        return wiring::isolation::run(arguments);
    }
    // A server decides about its log with its settings.
    if !matches!(arguments.command, Command::Serve(_) | Command::Dev(_)) {
        logging::start(LogFormat::Text);
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return failure::tell(anyhow::Error::from(error).context("the runtime did not start")),
    };
    // Each on the heap: in one future all of them together would be one function.
    let work: Pin<Box<dyn Future<Output = Result<ExitCode>>>> = match arguments.command {
        Command::Serve(arguments) => Box::pin(serve::run(arguments)),
        Command::Dev(arguments) => Box::pin(dev::run(arguments)),
        Command::Run(arguments) => Box::pin(run_once::run(arguments)),
        Command::Test(arguments) => Box::pin(testing::run(arguments)),
        Command::Users(arguments) => Box::pin(operator::users::run(arguments)),
        Command::Hosts(arguments) => Box::pin(operator::hosts::run(arguments)),
        Command::Apps(arguments) => Box::pin(operator::apps::run(arguments)),
        Command::Accounts(arguments) => Box::pin(operator::accounts::run(arguments)),
        Command::Backup(arguments) => Box::pin(operator::backup::run(arguments)),
        Command::Restore(arguments) => Box::pin(operator::restore::run(arguments)),
        Command::Migrate(arguments) => Box::pin(operator::migrate::run(arguments)),
        Command::RotateKey(arguments) => Box::pin(operator::rotate_key::run(arguments)),
        Command::Doctor(arguments) => Box::pin(doctor::run(arguments)),
        Command::Remote(command) => Box::pin(async { Ok(remote::execute(*command, Arguments::command()).await) }),
        Command::SandboxWorker(arguments) => return wiring::isolation::run(&arguments),
    };
    runtime.block_on(work).unwrap_or_else(failure::tell)
}

/// Workers that look for what just arrived after every few turns of what they have: a turn of a component that computes
/// takes tens of microseconds, and by default a worker would let newcomers wait for dozens of them.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    runtime_of("worker", Priority::of_requests())
}

fn runtime_of(threads: &str, priority: Priority) -> std::io::Result<tokio::runtime::Runtime> {
    const TURNS_BEFORE_NEW_TASKS: u32 = 2;
    const TURNS_BEFORE_NEW_INPUT: u32 = 4;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.global_queue_interval(TURNS_BEFORE_NEW_TASKS).event_interval(TURNS_BEFORE_NEW_INPUT);
    builder.thread_name(threads).on_thread_start(move || priority.take()).enable_all().build()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
