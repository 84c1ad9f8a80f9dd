//! The one binary: `wellspring`.

mod bench;
mod local_services;
mod run_once;
mod serve;
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
    /// Start the server: everything in one process, kept in one folder
    Serve(serve::Arguments),
    /// Run a component file once and print what it did
    Run(run_once::Arguments),
    /// Measure this machine: every figure the documentation claims comes from here
    #[command(subcommand)]
    Bench(bench::Benchmark),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    start_logging();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::from(error).context("the runtime did not start")),
    };
    let done = runtime.block_on(async {
        match arguments.command {
            Command::Serve(arguments) => serve::run(arguments).await,
            Command::Run(arguments) => run_once::run(arguments).await,
            Command::Bench(benchmark) => bench::run(benchmark).await.map(|()| ExitCode::SUCCESS),
        }
    });
    done.unwrap_or_else(|error| fail(&error))
}

/// To standard error; `RUST_LOG` says how much.
fn start_logging() {
    // The commands themselves say which dangerous options were given; the way to the registry would only repeat it.
    const QUIET: &str = "warn,outbound::client=error";
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(QUIET));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
