//! `wellspring bench`: figures as ratios of one run on one machine, so that they can be repeated on another.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures")]

mod contenders;
mod flow;
mod http;
mod isolation;
mod load;
mod pace;
mod process;
mod sandbox;
mod sources;
mod statistics;
mod store;
mod wire;

use anyhow::Result;

#[derive(clap::Subcommand)]
pub(crate) enum Benchmark {
    /// Fresh sandboxes against warm ones, against no images, and through all cores
    Sandbox(sandbox::Arguments),
    /// Requests to committed events, next to workerd and to Node with Redis
    Flow(flow::Arguments),
    /// Ten thousand deployed sources: start, memory, first calls
    Sources(sources::Arguments),
    /// Durable commits on both engines, next to the bare ones
    Store(store::Arguments),
    /// The load of the other benches, in a process of its own
    #[command(hide = true)]
    Load(load::Arguments),
}

pub(crate) async fn run(benchmark: Benchmark) -> Result<()> {
    match benchmark {
        Benchmark::Sandbox(arguments) => sandbox::run(arguments).await,
        Benchmark::Flow(arguments) => flow::run(arguments).await,
        Benchmark::Sources(arguments) => sources::run(arguments).await,
        Benchmark::Store(arguments) => store::run(arguments).await,
        Benchmark::Load(arguments) => load::run(arguments).await,
    }
}
