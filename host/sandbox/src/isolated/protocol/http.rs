//! Requests that a run makes and replies that it gives, as frames carry them.

use bytes::Bytes;

use crate::isolated::codec::{Decoder, Encoder, Malformed};
use crate::limits::Limits;
use crate::services::{FetchError, Reply};

/// Most headers of a request or a response that cross: more than any server or client takes.
const MOST_HEADERS: usize = 10_000;

/// The head of a request, or of a response.
#[derive(Debug, PartialEq)]
pub(in crate::isolated) struct RequestHead {
    pub(in crate::isolated) request: u32,
    pub(in crate::isolated) method: String,
    pub(in crate::isolated) url: String,
    pub(in crate::isolated) headers: Vec<(String, String)>,
    pub(in crate::isolated) redirect: String,
    pub(in crate::isolated) decompress: bool,
    pub(in crate::isolated) timeout_ms: Option<u64>,
    /// The whole body, unless it comes in pieces.
    pub(in crate::isolated) body: Option<Bytes>,
}

#[derive(Debug, PartialEq)]
pub(in crate::isolated) struct ResponseHead {
    pub(in crate::isolated) status: u16,
    pub(in crate::isolated) status_text: String,
    pub(in crate::isolated) headers: Vec<(String, String)>,
    pub(in crate::isolated) url: String,
    pub(in crate::isolated) redirected: bool,
}

// === impl RequestHead ===

impl RequestHead {
    pub(in crate::isolated) fn write(&self, to: &mut Encoder<'_>) {
        to.u32(self.request);
        to.text(&self.method);
        to.text(&self.url);
        write_headers(to, &self.headers);
        to.text(&self.redirect);
        to.flag(self.decompress);
        to.option(self.timeout_ms, Encoder::u64);
        to.option(self.body.as_deref(), Encoder::bytes);
    }

    pub(super) fn read(from: &mut Decoder) -> Result<Self, Malformed> {
        Ok(Self {
            request: from.u32()?,
            method: from.text()?,
            url: from.text()?,
            headers: read_headers(from, MOST_HEADERS)?,
            redirect: from.text()?,
            decompress: from.flag()?,
            timeout_ms: from.option(Decoder::u64)?,
            body: from.option(Decoder::bytes)?,
        })
    }
}

// === impl ResponseHead ===

impl ResponseHead {
    pub(in crate::isolated) fn write(&self, to: &mut Encoder<'_>) {
        to.u16(self.status);
        to.text(&self.status_text);
        write_headers(to, &self.headers);
        to.text(&self.url);
        to.flag(self.redirected);
    }

    pub(in crate::isolated) fn read(from: &mut Decoder) -> Result<Self, Malformed> {
        Ok(Self {
            status: from.u16()?,
            status_text: from.text()?,
            headers: read_headers(from, MOST_HEADERS)?,
            url: from.text()?,
            redirected: from.flag()?,
        })
    }
}

fn write_headers(to: &mut Encoder<'_>, headers: &[(String, String)]) {
    to.list(headers.iter(), |to, (name, value)| {
        to.text(name);
        to.text(value);
    });
}

fn read_headers(from: &mut Decoder, most: usize) -> Result<Vec<(String, String)>, Malformed> {
    from.list(most, |from| Ok((from.text()?, from.text()?)))
}

pub(in crate::isolated) fn write_reply(to: &mut Encoder<'_>, reply: &Reply) {
    to.u16(reply.status);
    write_headers(to, &reply.headers);
    to.bytes(&reply.body);
}

pub(super) fn read_reply(from: &mut Decoder, limits: &Limits) -> Result<Reply, Malformed> {
    Ok(Reply { status: from.u16()?, headers: read_headers(from, limits.reply_headers)?, body: from.bytes()? })
}

pub(in crate::isolated) fn write_fetch_error(to: &mut Encoder<'_>, error: &FetchError) {
    to.text(&error.code);
    to.text(&error.message);
}

pub(in crate::isolated) fn read_fetch_error(from: &mut Decoder) -> Result<FetchError, Malformed> {
    Ok(FetchError { code: from.text()?, message: from.text()? })
}
