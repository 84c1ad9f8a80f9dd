//! `just bench workflow`: a workflow of three pure steps against one source, on the same server, in turns of one run.
//!
//! The source does what `contenders/component.js` does. Each step of the workflow does a third of it: they shape the request, look
//! at it, and answer with what the source would emit. Both are answered when what they did is on disk, so that what is counted are
//! whole runs. Next to them, with `--n8n`, n8n with the same three code steps behind a webhook, which its last step answers:
//! installed, started and stopped by `n8n/serve.sh`, or one that is named.
//!
//! At the end, what a paused run costs in memory: so many are started that pause for a day, and the server's own memory is read before
//! and after.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::process::Command;

use super::contenders::{COMPONENT, Wellspring};
use super::http::Target;
use super::load::{self, BODY, Figures, Load};
use super::process::{Process, free_port};

/// It imports its workflow, publishes it and starts, a program each; a first time it is installed before.
const PATIENCE: Duration = Duration::from_secs(900);
const TURN_SECONDS: f64 = 2.0;
/// With so many requests at once n8n answers the first after two seconds: a shorter turn would count next to nothing of it.
const N8N_TURN_SECONDS: f64 = 15.0;
/// How long a client that was told to come back stays away.
const QUEUE_IS_FULL: Duration = Duration::from_millis(50);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    /// Requests at the same time
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How long a turn is [default: 2, and 15 with n8n]
    #[arg(long)]
    seconds: Option<f64>,
    /// How often each is measured; the median counts
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Compare with n8n: one that is installed and started here, or the webhook of one whose workflow has the same code steps
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    n8n: Option<Option<String>>,
    /// Paused runs whose memory is measured; 0 leaves that out
    #[arg(long, default_value_t = 20_000)]
    paused: usize,
}

#[derive(Serialize)]
struct Report {
    connections: usize,
    rows: Vec<Row>,
    /// Requests per second of the workflow, of those of the source: the median of the rounds, each on its own.
    workflow_against_source: f64,
    workflow_against_n8n: Option<f64>,
    /// Memory of the server, by the runs that pause in it.
    bytes_per_paused_run: Option<f64>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    requests_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    failed: usize,
}

/// One that is measured, and what each round saw.
struct Measured {
    name: &'static str,
    url: String,
    rounds: Vec<Figures>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Wellspring::start(folder.path(), None).await?;
    server.raise_quotas().await?;
    let source = server.endpoint(&server.deploy(&server.save(COMPONENT).await?).await?);
    let workflow = server.call(Method::POST, "workflows", &document()).await?;
    let workflow = workflow.pointer("/triggers/0/endpoint_url").and_then(Value::as_str);
    let workflow = workflow.context("a workflow without an endpoint")?.to_owned();
    let (n8n, process) = match &arguments.n8n {
        None => (None, None),
        Some(Some(url)) => (Some(url.clone()), None),
        Some(None) => {
            let (url, process) = start_n8n(folder.path()).await?;
            (Some(url), Some(process))
        }
    };
    let named = [("one source", Some(source)), ("three steps", Some(workflow)), ("n8n", n8n)];
    let measured = |(name, url): (&'static str, Option<String>)| Some(Measured { name, url: url?, rounds: Vec::new() });
    let mut field: Vec<Measured> = named.into_iter().filter_map(measured).collect();
    let usual = if arguments.n8n.is_some() { N8N_TURN_SECONDS } else { TURN_SECONDS };
    let seconds = arguments.seconds.unwrap_or(usual);
    let load = Load { connections: arguments.connections, seconds, rate: None };
    for _ in 0..arguments.rounds.max(1) {
        for one in &mut field {
            one.rounds.push(load::put_on(&one.url, load).await?);
        }
    }
    // Asked to stop, so that it stops its own helpers.
    if let Some(process) = process {
        process.stop().await?;
    }
    let report = Report {
        bytes_per_paused_run: measure_paused(&server, arguments.paused, arguments.connections).await?,
        connections: arguments.connections,
        workflow_against_source: ratio(&field, "three steps", "one source").context("both were measured")?,
        workflow_against_n8n: ratio(&field, "three steps", "n8n"),
        rows: field.iter().map(Measured::row).collect(),
    };
    server.process.stop().await?;
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// n8n, and the address of its webhook once its workflow answers there.
async fn start_n8n(folder: &Path) -> Result<(String, Process)> {
    let (port, script) = (free_port()?, concat!(env!("CARGO_MANIFEST_DIR"), "/n8n/serve.sh"));
    let mut command = Command::new(script);
    command.arg(port.to_string()).arg(folder.join("n8n"));
    let log = folder.join("n8n.log");
    let process = Process::start_within(&mut command, port, &log, PATIENCE).await?;
    let url = format!("http://127.0.0.1:{port}/webhook/bench");
    let target = Target::parse(&url)?;
    // It listens before it has read its workflows, and answers then that it is starting: with 200, and not with what a step returned.
    for _ in 0..PATIENCE.as_secs() {
        let answered = async { target.connect().await?.send(target.json(Bytes::from_static(BODY))?).await };
        let words = |body: &Bytes| serde_json::from_slice::<Value>(body).ok()?.pointer("/words")?.as_u64();
        if let Ok((status, body)) = answered.await
            && status.is_success()
            && words(&body).is_some()
        {
            return Ok((url, process));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    bail!("n8n does not run its workflow: {}", std::fs::read_to_string(&log).unwrap_or_default().trim())
}

/// How much larger the server is with so many runs that pause for a day, for each of them.
async fn measure_paused(server: &Wellspring, runs: usize, connections: usize) -> Result<Option<f64>> {
    if runs == 0 {
        return Ok(None);
    }
    let code = "export default defineComponent({ run({ $ }) { $.flow.delay(24 * 3600 * 1000) } })";
    let step = json!({"namespace": "wait", "code": code});
    let document = json!({"settings": {"name": "paused"}, "triggers": [{"type": "http"}], "steps": [step]});
    let workflow = server.call(Method::POST, "workflows", &document).await?;
    let url = workflow.pointer("/triggers/0/endpoint_url").and_then(Value::as_str).context("no endpoint")?;
    let target = Target::parse(url)?;
    let start = async |count: usize| {
        let share = count.div_ceil(connections.max(1));
        let connection = async |_| -> Result<()> {
            let mut connection = target.connect().await?;
            for _ in 0..share {
                // The queue of a workflow has a bound, and runs that begin take longer than requests that are accepted.
                while connection.send(target.json(Bytes::from_static(BODY))?).await?.0 == StatusCode::TOO_MANY_REQUESTS
                {
                    tokio::time::sleep(QUEUE_IS_FULL).await;
                }
            }
            Ok(())
        };
        stream::iter(0..connections.max(1))
            .map(connection)
            .buffer_unordered(connections.max(1))
            .try_collect::<()>()
            .await
    };
    // Pools and caches are as large as they get before anything is measured.
    start(runs / 4).await?;
    let before = server.process.memory_mb("RssAnon:");
    start(runs).await?;
    let after = server.process.memory_mb("RssAnon:");
    Ok(before.zip(after).map(|(before, after)| (after - before) * 1e6 / runs as f64))
}

fn document() -> Value {
    let step = |namespace: &str, body: &str| {
        let code = format!("export default defineComponent({{ run({{ steps, $ }}) {{ {body} }} }})");
        json!({"namespace": namespace, "code": code})
    };
    json!({
        "settings": {"name": "bench"},
        "triggers": [{"type": "http", "custom_response": true}],
        "steps": [
            step("shape", "const { id, type, issue } = steps.trigger.event.body; return { id, type, issue }"),
            step("look", "const { issue } = steps.shape.$return_value; return { number: issue.number, words: issue.body.split(' ').length }"),
            step("join", "$.respond({ status: 200, body: { ...steps.shape.$return_value, ...steps.look.$return_value } })"),
        ],
    })
}

/// The median of the rounds' ratios: machines change their pace from one to the next.
fn ratio(field: &[Measured], name: &str, other: &str) -> Option<f64> {
    let find = |name: &str| field.iter().find(|one| one.name == name);
    let (one, other) = (find(name)?, find(other)?);
    let ratios = one.rounds.iter().zip(&other.rounds).map(|(one, other)| one.requests_per_s / other.requests_per_s);
    median(ratios.collect())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn print_table(report: &Report) {
    println!("{:<14}{:>14}{:>10}{:>10}{:>8}", "", "requests/s", "p50 ms", "p99 ms", "failed");
    for Row { name, requests_per_s, p50_ms, p99_ms, failed } in &report.rows {
        println!("{name:<14}{requests_per_s:>14.0}{p50_ms:>10.2}{p99_ms:>10.2}{failed:>8}");
    }
    println!("three steps against one source: {:.2}", report.workflow_against_source);
    if let Some(ratio) = report.workflow_against_n8n {
        println!("three steps against n8n: {ratio:.1}");
    }
    if let Some(bytes) = report.bytes_per_paused_run {
        println!("memory of a paused run: {bytes:.0} bytes");
    }
}

// === impl Measured ===

impl Measured {
    fn row(&self) -> Row {
        let of = |value: fn(&Figures) -> f64| median(self.rounds.iter().map(value).collect()).unwrap_or_default();
        Row {
            name: self.name,
            requests_per_s: of(|figures| figures.requests_per_s),
            p50_ms: of(|figures| figures.p50_ms),
            p99_ms: of(|figures| figures.p99_ms),
            failed: self.rounds.iter().map(|figures| figures.failed).sum(),
        }
    }
}
