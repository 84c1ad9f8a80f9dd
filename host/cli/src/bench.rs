//! `wellspring bench`: figures as ratios of one run on one machine, for anyone to repeat.

mod sandbox;
mod statistics;

use anyhow::Result;

#[derive(clap::Subcommand)]
pub(crate) enum Benchmark {
    /// Fresh sandboxes against warm ones, against no images, and through all cores
    Sandbox(sandbox::Arguments),
}

pub(crate) async fn run(benchmark: Benchmark) -> Result<()> {
    match benchmark {
        Benchmark::Sandbox(arguments) => sandbox::run(arguments).await,
    }
}
