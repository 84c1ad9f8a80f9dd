//! Prints what `store::bench` measures: `cargo run -p store --example bench -- [redis://…]`.

use std::sync::Arc;

use store::bench::{COMMITTERS, Figures, bare, commits};
use store::{Store, embedded::Embedded, redis::Redis};

type Failure = Box<dyn std::error::Error>;

fn print(name: &str, figures: &Figures) {
    let Figures { committers, commits, commits_per_second, p50, p99 } = figures;
    println!("{name:<10} {committers:>4} {commits:>7} {commits_per_second:>9.0}/s  p50 {p50:>10.1?}  p99 {p99:>10.1?}");
}

/// Processor time of the writer so far, in hundredths of a second; only Linux tells.
fn writer_ticks() -> Option<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let writer = tasks
        .flatten()
        .map(|task| task.path())
        .find(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "store-writer"))?;
    let stat = std::fs::read_to_string(writer.join("stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1);
    for committers in COMMITTERS {
        let count = if committers == 1 { 2000 } else { 20_000 };
        let folder = std::env::temp_dir().join(format!("store-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        if let Some(address) = &address {
            let namespace = format!("bench{}-{committers}", std::process::id());
            let store: Arc<dyn Store> = Arc::new(Redis::connect(address, &namespace).await?);
            print("redis", &commits(&store, committers, count).await?);
        } else {
            let store: Arc<dyn Store> = Arc::new(Embedded::open(&folder.join("store.db"))?);
            let figures = commits(&store, committers, count).await?;
            print("embedded", &figures);
            if let Some(ticks) = writer_ticks() {
                println!("           writer, with filling and leasing: {} us a commit", ticks * 10_000 / count as u64);
            }
            drop(store);
            print("bare", &bare(&folder, committers, count)?);
        }
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}
