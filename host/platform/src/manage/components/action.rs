//! Running an action by hand: as a workflow would, but once, and with an answer that tells everything it asked for.
//!
//! What it asked to be sent is sent after its writes are committed, and tried once: the caller sees how it went and can
//! run it again. What this server cannot do is refused in the answer, never dropped.

use std::time::Duration;

use domain::actions::{Effect, HttpSend};
use domain::component::Kind;
use domain::problem::Problem;
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Once, duration_ms, fault_view, find, parsed, run_once};
use store::Tenant;

use crate::manage::code::Resolved;
use crate::manage::configure;
use crate::manage::reply::ReplyView;
use crate::manage::users::check_quota;
use crate::ports::{Call, LogLine, Outcome, Posting, Reply};
use crate::{Caller, Error, Platform, effects};

/// The caller waits for them: at the timeout of a delivery (15 s), this many at a time end within minutes.
const SENDS_MAXIMUM: usize = 100;
const SENDS_AT_ONCE: usize = 8;

/// How an action went.
#[derive(Debug, Serialize)]
pub struct ActionRun {
    pub run_id: String,
    /// It ended well, and everything it asked for was done.
    pub ok: bool,
    pub return_value: Value,
    pub exports: Map<String, Value>,
    /// What it gave to `$.respond`.
    pub reply: Option<ReplyView>,
    /// That it called `$.flow.exit`.
    pub exit: Option<Exit>,
    /// What it gave to `$.send`, in order; empty when the run failed, because then nothing is sent.
    pub sends: Vec<Send>,
    pub error: Option<Value>,
    pub logs: Vec<LogLine>,
    pub duration_ms: u64,
    pub compute_ms: u64,
    pub fuel_used: u64,
}

#[derive(Debug, Serialize)]
pub struct Exit {
    pub reason: Option<String>,
}

/// One call of `$.send`, and how it went.
#[derive(Debug, Serialize)]
pub struct Send {
    /// `http`, `email`, `s3`, `emit` or `sse`.
    pub kind: &'static str,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the receiver answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Everything an action asked for, sorted.
#[derive(Default)]
struct Asked {
    exports: Map<String, Value>,
    reply: Option<ReplyView>,
    exit: Option<Exit>,
    sends: Vec<Effect>,
}

pub async fn run_action(
    caller: &Caller,
    platform: &Platform,
    key_or_id: &str,
    configured_props: &Map<String, Value>,
    steps: Value,
) -> Result<ActionRun, Error> {
    let (component, origin) = find(caller, platform, key_or_id).await?;
    if component.description.kind != Kind::Action {
        return Err(Error::WrongKind { is: "a source", needs: "an action" });
    }
    check_quota(caller, platform).await?;
    let values = configure::whole(caller, platform, &component.description, configured_props).await?;
    let resolved = Resolved { component, origin, unsaved: None };
    let call = Call::Action { steps };
    let Once { run_id, outcome, reply } = run_once(caller, platform, &resolved, call, values).await?;
    let (asked, problems) = asked(platform, &outcome);
    let sends: Vec<Send> = stream::iter(asked.sends.into_iter().enumerate())
        .map(|(index, effect)| send(&caller.tenant, platform, index, effect))
        .buffered(SENDS_AT_ONCE)
        .collect()
        .await;
    let refused = (!problems.is_empty()).then(|| effects::refusal(&problems));
    let error = outcome.fault.as_ref().map(fault_view).or(refused).or_else(|| sends.iter().find_map(Send::failure));
    Ok(ActionRun {
        run_id,
        ok: error.is_none(),
        return_value: parsed(outcome.returned.as_deref()),
        exports: asked.exports,
        reply: reply.map(ReplyView::from).or(asked.reply),
        exit: asked.exit,
        sends,
        error,
        duration_ms: duration_ms(&outcome.usage),
        compute_ms: outcome.usage.compute_ms(),
        fuel_used: outcome.usage.fuel,
        logs: outcome.logs,
    })
}

/// Of a run that failed only what it exported until then is told.
fn asked(platform: &Platform, outcome: &Outcome) -> (Asked, Vec<Problem>) {
    let effects = match effects::parse(&outcome.effects, &platform.config.limits) {
        Ok(effects) => effects,
        Err(problems) => return (Asked::default(), problems),
    };
    let mut asked = Asked::default();
    for effect in effects {
        match effect {
            Effect::Export { name, value } => {
                asked.exports.insert(name, value);
            }
            Effect::Respond(reply) if asked.reply.is_none() => {
                let domain::respond::Reply { status, headers, body } = reply;
                asked.reply = Some(Reply { status, headers, body: body.into() }.into());
            }
            Effect::Respond(_) => {}
            Effect::Exit { reason } => asked.exit = Some(Exit { reason }),
            sent if outcome.fault.is_none() => asked.sends.push(sent),
            _ => {}
        }
    }
    (asked, Vec::new())
}

async fn send(tenant: &Tenant, platform: &Platform, index: usize, effect: Effect) -> Send {
    if index >= SENDS_MAXIMUM {
        let reason = format!("an action that is run by hand sends at most {SENDS_MAXIMUM} times");
        return Send::refused(effects::kind(&effect), reason);
    }
    match effect {
        Effect::Http(request) => send_http(tenant, platform, request).await,
        Effect::Emit(_) => {
            let reason = "an action that is run by hand has no stream to emit to; in a workflow it has the workflow's";
            Send::refused("emit", reason.to_owned())
        }
        other => Send::refused(effects::kind(&other), effects::unsupported(&other).unwrap_or_default().to_owned()),
    }
}

async fn send_http(tenant: &Tenant, platform: &Platform, request: HttpSend) -> Send {
    let HttpSend { method, url, headers, body } = request;
    let url = url.as_str().to_owned();
    let timeout = Duration::from_millis(platform.config.limits.delivery_timeout_ms);
    let posting =
        Posting { method: method.clone(), url: url.clone(), headers, body: body.into(), timeout, excerpt_bytes: 0 };
    let (status, error) = match platform.outbound.post(tenant, posting).await {
        Ok(posted) if (200..300).contains(&posted.status) => (Some(posted.status), None),
        Ok(posted) => (Some(posted.status), Some(format!("the receiver answered {}", posted.status))),
        Err(error) => (None, Some(error.to_string())),
    };
    Send { kind: "http", ok: error.is_none(), method: Some(method), url: Some(url), status, error }
}

// === impl Send ===

impl Send {
    fn refused(kind: &'static str, reason: String) -> Self {
        Self { kind, ok: false, method: None, url: None, status: None, error: Some(reason) }
    }

    /// As `error` of the run.
    fn failure(&self) -> Option<Value> {
        let reason = self.error.as_ref()?;
        let (code, to) = match &self.url {
            Some(url) => ("not_sent", format!(" to {url}")),
            None => ("unsupported", String::new()),
        };
        Some(json!({"code": code, "message": format!("$.send.{}{to}: {reason}", self.kind)}))
    }
}
