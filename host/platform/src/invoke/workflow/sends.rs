//! The jobs that send what steps gave to `$.send.http`, `$.send.email` and `$.send.s3`, once they are committed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::actions::{Effect, Email, HttpSend, ObjectName, S3Object};
use domain::ids::{EmitId, WorkflowId};
use domain::plan::iso_8601;
use store::{Enqueue, Op};

use crate::Platform;
use crate::records::{EmailSending, ObjectSending, RecordError, Sending, Work, Workflow};

/// What goes under the same prefix of a bucket becomes one object, a line for each payload.
pub(super) fn send_jobs(
    platform: &Platform,
    workflow: &Workflow,
    sends: &[(String, Effect)],
    now_ms: u64,
) -> Result<Vec<Op>, RecordError> {
    let mut works: Vec<Work> = Vec::new();
    let mut batches: Vec<Batched<'_>> = Vec::new();
    for (step, effect) in sends {
        match effect {
            Effect::Http(send) => works.push(request(&workflow.id, step, send)),
            Effect::Email(email) => works.push(self::email(platform, &workflow.id, step, email)),
            Effect::S3(S3Object { bucket, name: ObjectName::Prefix(prefix), payload }) => {
                match batches.iter_mut().find(|batch| batch.bucket == bucket && batch.prefix == prefix) {
                    Some(batch) => batch.lines.push(payload),
                    None => batches.push(Batched { step, bucket, prefix, lines: vec![payload] }),
                }
            }
            Effect::S3(S3Object { bucket, name: ObjectName::Key(key), payload }) => {
                works.push(object(&workflow.id, step, (bucket, key.clone()), payload));
            }
            _ => {}
        }
    }
    for Batched { step, bucket, prefix, lines } in batches {
        let key = key_under(platform, prefix);
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_slice()).collect();
        let joined = lines.join(&b'\n');
        works.push(object(&workflow.id, step, (bucket, key), &joined));
    }
    let enqueue = |work: &Work| {
        let payload = work.encode()?;
        Ok(Op::Enqueue(Enqueue { lane: None, due_ms: now_ms, payload, entry: None, held_until_ms: None }))
    };
    works.iter().map(enqueue).collect()
}

/// Payloads of one prefix.
struct Batched<'a> {
    step: &'a str,
    bucket: &'a str,
    prefix: &'a str,
    lines: Vec<&'a Vec<u8>>,
}

fn request(workflow: &WorkflowId, step: &str, send: &HttpSend) -> Work {
    Work::Send(Sending {
        workflow: workflow.clone(),
        step: step.to_owned(),
        method: send.method.clone(),
        url: send.url.as_str().to_owned(),
        headers: send.headers.clone(),
        body: STANDARD.encode(&send.body),
    })
}

fn email(platform: &Platform, workflow: &WorkflowId, step: &str, email: &Email) -> Work {
    let Email { subject, text, html, to } = email.clone();
    let id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
    Work::Email(EmailSending { workflow: workflow.clone(), step: step.to_owned(), id, subject, text, html, to })
}

fn object(workflow: &WorkflowId, step: &str, (bucket, key): (&str, String), body: &[u8]) -> Work {
    let (workflow, step, bucket) = (workflow.clone(), step.to_owned(), bucket.to_owned());
    Work::Object(ObjectSending { workflow, step, bucket, key, body: STANDARD.encode(body) })
}

/// `prefix/2026/11/16/09/2026-11-16T09:30:00.000Z-<id>`: in the order of time, by the hour.
fn key_under(platform: &Platform, prefix: &str) -> String {
    let now_ms = platform.clock.instant_ms();
    let time = iso_8601(now_ms);
    let hour = time.get(..13).unwrap_or_default().replace(['-', 'T'], "/");
    let id = EmitId::new(now_ms, platform.entropy.bytes());
    let prefix = prefix.trim_end_matches('/');
    let separator = if prefix.is_empty() { "" } else { "/" };
    format!("{prefix}{separator}{hour}/{time}-{id}")
}
