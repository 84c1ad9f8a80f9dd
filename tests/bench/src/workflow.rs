//! `just bench workflow`: a workflow of three pure steps against one source, on the same server, in turns of one run.
//!
//! The source does what `contenders/component.js` does. Each step of the workflow does a third of it: they shape the request, look
//! at it, and return what the source would emit. Both are answered when what they did is on disk. Next to them, when `--n8n` names a
//! server of n8n with the same three code steps behind a webhook, that one.

use anyhow::{Context, Result};
use hyper::Method;
use serde::Serialize;
use serde_json::{Value, json};

use super::contenders::{COMPONENT, Wellspring};
use super::load::{self, Figures, Load};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print only the JSON line
    #[arg(long)]
    json: bool,
    /// Requests at the same time
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How long a turn is
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How often each is measured; the median counts
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// The address of a webhook of n8n whose workflow has the same three code steps
    #[arg(long, value_name = "URL")]
    n8n: Option<String>,
}

#[derive(Serialize)]
struct Report {
    connections: usize,
    rows: Vec<Row>,
    /// Requests per second of the workflow, of those of the source: the median of the rounds, each on its own.
    workflow_against_source: f64,
    workflow_against_n8n: Option<f64>,
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
    let named = [("one source", Some(source)), ("three steps", Some(workflow)), ("n8n", arguments.n8n.clone())];
    let measured = |(name, url): (&'static str, Option<String>)| Some(Measured { name, url: url?, rounds: Vec::new() });
    let mut field: Vec<Measured> = named.into_iter().filter_map(measured).collect();
    let load = Load { connections: arguments.connections, seconds: arguments.seconds, rate: None };
    for _ in 0..arguments.rounds.max(1) {
        for one in &mut field {
            one.rounds.push(load::put_on(&one.url, load).await?);
        }
    }
    let report = Report {
        connections: arguments.connections,
        workflow_against_source: ratio(&field, "three steps", "one source").context("both were measured")?,
        workflow_against_n8n: ratio(&field, "three steps", "n8n"),
        rows: field.iter().map(Measured::row).collect(),
    };
    if !arguments.json {
        print_table(&report);
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

fn document() -> Value {
    let step = |namespace: &str, body: &str| {
        let code = format!("export default defineComponent({{ run({{ steps }}) {{ {body} }} }})");
        json!({"namespace": namespace, "code": code})
    };
    json!({
        "settings": {"name": "bench"},
        "triggers": [{"type": "http"}],
        "steps": [
            step("shape", "const { id, type, issue } = steps.trigger.event.body; return { id, type, issue }"),
            step("look", "const { issue } = steps.shape.$return_value; return { number: issue.number, words: issue.body.split(' ').length }"),
            step("join", "return { ...steps.shape.$return_value, ...steps.look.$return_value }"),
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
