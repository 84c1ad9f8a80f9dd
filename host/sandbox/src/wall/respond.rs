//! `wit/respond.wit`

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

use super::abi::{self, Slice};
use super::{Caller, Linker, Stop, within};
use crate::limits::LimitKind;
use crate::services::Reply;

/// JSON of a head against its names and values: a byte may be written as `\u0000`, and an empty value takes some more.
const MOST_JSON: usize = 8;

#[derive(Deserialize)]
struct Head {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, Values>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Many(Vec<String>),
}

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap("wellspring:wall/respond@0.1.0", "respond", respond)?;
    Ok(())
}

fn respond(mut caller: Caller<'_>, head: u32, head_len: u32, body: u32, body_len: u32) -> wasmtime::Result<u32> {
    let (memory, run) = abi::split(&mut caller)?;
    let limits = run.limits;
    within(body_len as usize, limits.reply_bytes, LimitKind::ReplyBytes)?;
    within(head_len as usize, limits.reply_header_bytes.saturating_mul(MOST_JSON), LimitKind::ReplyHeaderBytes)?;
    let head: Head = Slice::new(head, head_len).json(memory, "respond")?;
    let body = Slice::new(body, body_len).bytes(memory, "respond")?;
    if !(100..=599).contains(&head.status) {
        return Err(Stop::BadArgument { function: "respond", problem: "a status outside of 100 to 599" }.into());
    }
    if run.has_replied {
        return Ok(0);
    }
    let headers = head.headers.into_iter().flat_map(|(name, values)| match values {
        Values::One(value) => vec![(name, value)],
        Values::Many(values) => values.into_iter().map(|value| (name.clone(), value)).collect(),
    });
    let headers: Vec<(String, String)> = headers.collect();
    within(headers.len(), limits.reply_headers, LimitKind::ReplyHeaders)?;
    let header_bytes = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    within(header_bytes, limits.reply_header_bytes, LimitKind::ReplyHeaderBytes)?;
    run.has_replied = true;
    run.services.reply(Reply { status: head.status, headers, body: Bytes::copy_from_slice(body) });
    Ok(1)
}
