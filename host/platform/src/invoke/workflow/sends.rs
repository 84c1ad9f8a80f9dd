//! The jobs that send what steps gave to `$.send.http`, `$.send.email` and `$.send.s3`, once they are committed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::actions::{Effect, Email, HttpSend, ObjectName, S3Object};
use domain::ids::{AccountId, EmitId, WorkflowId};
use store::{Enqueue, Op};

use crate::Platform;
use crate::records::{EmailSending, ObjectSending, RecordError, Sending, Work, Workflow};
use crate::relaying::object_key;

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
            Effect::S3(S3Object { bucket, name: name @ ObjectName::Prefix(_), payload, auth }) => {
                let place = Place { bucket, name, auth: auth.as_deref() };
                match batches.iter_mut().find(|batch| batch.place == place) {
                    Some(batch) => batch.lines.push(payload),
                    None => batches.push(Batched { step, place, lines: vec![payload] }),
                }
            }
            Effect::S3(S3Object { bucket, name, payload, auth }) => {
                let place = Place { bucket, name, auth: auth.as_deref() };
                works.push(object(platform, &workflow.id, step, &place, payload));
            }
            _ => {}
        }
    }
    for Batched { step, place, lines } in batches {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_slice()).collect();
        works.push(object(platform, &workflow.id, step, &place, &lines.join(&b'\n')));
    }
    let enqueue = |work: &Work| {
        let payload = work.encode()?;
        Ok(Op::Enqueue(Enqueue { lane: None, due_ms: now_ms, payload, entry: None, held_until_ms: None }))
    };
    works.iter().map(enqueue).collect()
}

/// Where an object goes.
#[derive(PartialEq)]
struct Place<'a> {
    bucket: &'a str,
    name: &'a ObjectName,
    auth: Option<&'a str>,
}

/// Payloads of one prefix.
struct Batched<'a> {
    step: &'a str,
    place: Place<'a>,
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

fn object(platform: &Platform, workflow: &WorkflowId, step: &str, place: &Place<'_>, body: &[u8]) -> Work {
    Work::Object(ObjectSending {
        workflow: workflow.clone(),
        step: step.to_owned(),
        bucket: place.bucket.to_owned(),
        key: object_key(platform, place.name),
        // Names of props became accounts when the step was taken in.
        account: place.auth.and_then(|auth| AccountId::parse(auth).ok()),
        body: STANDARD.encode(body),
    })
}
