//! The one binary: `wellspring`.

mod bench;
mod local_services;
mod run_once;
mod wiring;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A self-hosted, multi-tenant platform for event sources.
///
/// Every event runs in its own WebAssembly sandbox, made in microseconds from a memory image of your component.
#[derive(Parser)]
#[command(name = "wellspring", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a component file once and print what it did
    Run(run_once::Arguments),
    /// Measure this machine: every figure the documentation claims comes from here
    #[command(subcommand)]
    Bench(bench::Benchmark),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::from(error).context("the runtime did not start")),
    };
    let done = runtime.block_on(async {
        match arguments.command {
            Command::Run(arguments) => run_once::run(arguments).await,
            Command::Bench(benchmark) => bench::run(benchmark).await.map(|()| ExitCode::SUCCESS),
        }
    });
    done.unwrap_or_else(|error| fail(&error))
}

fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
