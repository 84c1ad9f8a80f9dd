//! `just bench`: figures as ratios of one run on one machine, so that they can be repeated on another. Every figure that the
//! documentation claims comes from here. The measured server is the binary `wellspring` beside this one, or the one that
//! `WELLSPRING_BIN` names.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures")]

mod components;
mod contenders;
mod flow;
mod http;
mod isolation;
mod load;
mod pace;
mod process;
mod sandbox;
mod scale;
mod sources;
mod statistics;
mod store;
mod wire;
mod workflow;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;

/// As the server allocates, so that the sandbox is measured as it is used.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure this machine.
#[derive(Parser)]
#[command(name = "wellspring-bench", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// Fresh sandboxes against warm ones, against no images, and through all cores
    Sandbox(sandbox::Arguments),
    /// Requests to committed events, next to workerd and to Node with Redis
    Flow(flow::Arguments),
    /// Ten thousand deployed sources: start, memory, first calls
    Sources(sources::Arguments),
    /// Real components with their packages: memory, disk, cold and warm calls, parallel deploys, and growth
    Components(components::Arguments),
    /// A workflow of three pure steps against one source
    Workflow(workflow::Arguments),
    /// What a request costs on one, two and three hosts that share a Redis
    Scale(scale::Arguments),
    /// Durable commits on both engines, next to the bare ones
    Store(store::Arguments),
    /// The load of the other benches, in a process of its own
    #[command(hide = true)]
    Load(load::Arguments),
}

fn main() -> Result<()> {
    let benchmark = Arguments::parse().benchmark;
    // The server's own, so that the sandbox takes turns as it does there.
    wellspring::runtime()?.block_on(run(benchmark))
}

/// The server that is measured.
fn server() -> Result<PathBuf> {
    let beside = || std::env::current_exe().map(|this| this.with_file_name("wellspring"));
    let program = std::env::var_os("WELLSPRING_BIN").map_or_else(beside, |path| Ok(path.into()))?;
    ensure!(program.exists(), "there is no {}: build it, as `just bench` does", program.display());
    Ok(program)
}

async fn run(benchmark: Benchmark) -> Result<()> {
    match benchmark {
        Benchmark::Sandbox(arguments) => sandbox::run(arguments).await,
        Benchmark::Flow(arguments) => flow::run(arguments).await,
        Benchmark::Sources(arguments) => sources::run(arguments).await,
        Benchmark::Components(arguments) => components::run(arguments).await,
        Benchmark::Workflow(arguments) => workflow::run(arguments).await,
        Benchmark::Scale(arguments) => scale::run(arguments).await,
        Benchmark::Store(arguments) => store::run(arguments).await,
        Benchmark::Load(arguments) => load::run(arguments).await,
    }
}
