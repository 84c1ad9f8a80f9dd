//! `wellspring hosts`: the servers that share the store.

use std::process::ExitCode;

use anyhow::Result;
use remote::output::table::{text, whole};
use remote::output::{Table, ago};
use serde_json::Value;

use super::{Common, text_of};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(Arguments { common }: Arguments) -> Result<ExitCode> {
    let (client, output) = (common.open().await?, common.output());
    let hosts = client.list("/v1/admin/hosts").await?;
    if output.is_json {
        output.json(&hosts)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new([
        whole("HOST"),
        text("ADDRESS"),
        whole("VERSION"),
        whole("LAYOUT"),
        whole("STARTED"),
        whole("IN FLIGHT"),
        whole("CLOCK OFF"),
        text("DIFFERS IN"),
    ]);
    for host in &hosts {
        table.row(row(host));
    }
    output.table(&table)?;
    Ok(ExitCode::SUCCESS)
}

/// What it writes, and what it reads when that is newer.
fn layout(writes: i64, reads: i64) -> String {
    if writes == reads { writes.to_string() } else { format!("{writes} (reads {reads})") }
}

fn name(host: &Value) -> String {
    let note = if host.get("read_only") == Some(&Value::Bool(true)) { " (read-only)" } else { "" };
    text_of(host, "name") + note
}

fn row(host: &Value) -> [String; 8] {
    let whole = |name: &str| host.get(name).and_then(Value::as_i64).unwrap_or_default();
    let differs: Vec<&str> =
        host.get("differs_in").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    [
        name(host),
        text_of(host, "address"),
        text_of(host, "version"),
        layout(whole("writes"), whole("reads")),
        ago(whole("started_at_ms") / 1000),
        whole("in_flight").to_string(),
        format!("{} ms", whole("clock_offset_ms")),
        differs.join(", "),
    ]
}
