//! Running an action by hand: as a workflow would, but once, and with an answer that tells everything it asked for.
//!
//! What it asked to be sent is sent after its writes are committed, and tried once: the caller sees how it went and can
//! run it again. What this server cannot do is refused in the answer, never dropped.

use std::time::Duration;

use domain::actions::{Effect, Email, HttpSend, S3Object};
use domain::component::{Description, Kind};
use domain::ids::{AccountId, EmitId};
use domain::problem::Problem;
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Once, Runnable, duration_ms, fault_view, parsed, run_once, runnable};
use store::Tenant;

use crate::manage::code::Resolved;
use crate::manage::reply::ReplyView;
use crate::ports::{Call, LogLine, NotTaken, Outcome, Posting, Reply};
use crate::relaying::{self, Object, object_key};
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
    /// This server does not do it at all.
    #[serde(skip)]
    is_refused: bool,
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
    let wanted = (key_or_id, Kind::Action);
    let Runnable { component, origin, values } = runnable(caller, platform, wanted, configured_props).await?;
    let resolved = Resolved { component, origin, unsaved: None };
    let call = Call::Action { steps: steps.into() };
    let given = (resolved.component.description.clone(), values.clone());
    let Once { run_id, outcome, reply } = run_once(caller, platform, &resolved, call, values).await?;
    let (asked, problems) = asked(platform, (&given.0, &given.1), &outcome);
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
fn asked(
    platform: &Platform,
    (description, values): (&Description, &Map<String, Value>),
    outcome: &Outcome,
) -> (Asked, Vec<Problem>) {
    let parsed = effects::parse(&outcome.effects, &platform.config.limits).and_then(|mut effects| {
        effects::name_accounts(&mut effects, description, values)?;
        Ok(effects)
    });
    let effects = match parsed {
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
    if let Some(reason) = effects::refused(platform, tenant, &effect) {
        return Send::refused(effects::kind(&effect), reason);
    }
    match effect {
        Effect::Http(request) => send_http(tenant, platform, request).await,
        Effect::Email(email) => send_email(tenant, platform, &email).await,
        Effect::S3(object) => put_object(tenant, platform, object).await,
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
    let ok = error.is_none();
    Send { kind: "http", ok, method: Some(method), url: Some(url), status, error, is_refused: false }
}

async fn send_email(tenant: &Tenant, platform: &Platform, email: &Email) -> Send {
    let id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
    Send::of("email", None, relaying::send_email(platform, tenant, (&id, email), true).await)
}

async fn put_object(tenant: &Tenant, platform: &Platform, object: S3Object) -> Send {
    let S3Object { bucket, name, payload, auth } = object;
    let key = object_key(platform, &name);
    let account = auth.and_then(|auth| AccountId::parse(&auth).ok());
    let url = format!("s3://{bucket}/{key}");
    let object = Object { bucket: &bucket, key: &key, account: account.as_ref(), body: payload.into() };
    Send::of("s3", Some(url), relaying::put_object(platform, tenant, object).await)
}

// === impl Send ===

impl Send {
    fn refused(kind: &'static str, reason: String) -> Self {
        Self { kind, ok: false, method: None, url: None, status: None, error: Some(reason), is_refused: true }
    }

    /// Of something that a relay or a store was given.
    fn of(kind: &'static str, url: Option<String>, taken: Result<Result<(), NotTaken>, Error>) -> Self {
        let error = match taken {
            Ok(Ok(())) => None,
            Ok(Err(not_taken)) => Some(not_taken.reason),
            // The host's own fault, which is logged where it arose.
            Err(error) => Some(error.to_string()),
        };
        Self { kind, ok: error.is_none(), method: None, url, status: None, error, is_refused: false }
    }

    /// As `error` of the run.
    fn failure(&self) -> Option<Value> {
        let reason = self.error.as_ref()?;
        let to = self.url.as_ref().map(|url| format!(" to {url}")).unwrap_or_default();
        let code = if self.is_refused { "unsupported" } else { "not_sent" };
        Some(json!({"code": code, "message": format!("$.send.{}{to}: {reason}", self.kind)}))
    }
}
