//! `just attack`: what a hostile tenant can do to the others, attack by attack.

#![allow(clippy::disallowed_methods, reason = "a tool that measures and waits for what it watches")]
#![allow(clippy::expect_used, reason = "a driver of tests, where a panic is how to fail")]

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rig::attack::{self, NAMES, Options, Row};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// How long the victim is timed, without an attack and during it
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// Only attacks whose name holds this
    #[arg(long, default_value = "")]
    only: String,
    /// What the numbers of connections, requests and so on are divided by
    #[arg(long, default_value_t = 1)]
    part: usize,
    /// The memory that the server may take, in MB
    #[arg(long, default_value_t = 512)]
    memory: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(attack_all(&arguments))
}

async fn attack_all(arguments: &Arguments) -> ExitCode {
    let options = Options { time: Duration::from_secs_f64(arguments.seconds), part: arguments.part };
    println!(
        "{:<32} {:>9} {:>9} {:>7} {:>9} {:>9} {:>8} {:>8}  attacker got",
        "attack", "quiet p99", "p99 ms", "ratio", "requests", "failures", "MB", "at most"
    );
    let mut is_well = true;
    let mut rows: Vec<Row> = Vec::new();
    for name in NAMES.into_iter().filter(|name| name.contains(&arguments.only)) {
        let row = attack::run(name, options).await;
        let ratio = row.attacked_p99_ms / row.quiet_p99_ms.max(0.001);
        println!(
            "{:<32} {:>9.2} {:>9.2} {:>6.1}x {:>9} {:>9} {:>8} {:>8}  {}",
            row.attack,
            row.quiet_p99_ms,
            row.attacked_p99_ms,
            ratio,
            row.requests,
            row.failures,
            row.memory_mb_before,
            row.memory_mb_at_most,
            row.attacker
        );
        is_well &= row.failures == 0 && row.memory_mb_at_most <= arguments.memory;
        rows.push(row);
    }
    println!("{}", serde_json::to_string(&rows).expect("rows are JSON"));
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
