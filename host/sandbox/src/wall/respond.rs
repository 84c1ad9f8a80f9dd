//! `wit/respond.wit`

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

use super::abi::{self, Slice};
use super::{Caller, Linker, Stop, within};
use crate::limits::LimitKind;
use crate::services::Reply;

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
    within(head_len as usize + body_len as usize, run.limits.reply_bytes, LimitKind::ReplyBytes)?;
    let head: Head = Slice::new(head, head_len).json(memory, "respond")?;
    let body = Slice::new(body, body_len).bytes(memory, "respond")?;
    if !(100..=599).contains(&head.status) {
        return Err(Stop::BadArgument { function: "respond", problem: "a status outside of 100 to 599" }.into());
    }
    if run.has_replied {
        return Ok(0);
    }
    run.has_replied = true;
    let headers = head.headers.into_iter().flat_map(|(name, values)| match values {
        Values::One(value) => vec![(name, value)],
        Values::Many(values) => values.into_iter().map(|value| (name.clone(), value)).collect(),
    });
    let reply = Reply { status: head.status, headers: headers.collect(), body: Bytes::copy_from_slice(body) };
    run.services.reply(reply);
    Ok(1)
}
