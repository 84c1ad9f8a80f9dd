//! How natives take bytes and how they fail.

use rquickjs::{Ctx, Error, Exception, Result, TypedArray};

/// Bytes that JavaScript gave.
pub(crate) type Bytes<'js> = TypedArray<'js, u8>;

/// An `Error` with a `code`, before it is thrown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
}

pub(crate) type Outcome<T> = std::result::Result<T, Failure>;

/// What `bytes` hold; nothing when their buffer was given away.
pub(crate) fn slice<'a>(bytes: &'a Bytes<'_>) -> &'a [u8] {
    bytes.as_bytes().unwrap_or_default()
}

/// Bytes for JavaScript, or the exception.
pub(crate) fn give<'js>(ctx: Ctx<'js>, outcome: Outcome<Vec<u8>>) -> Result<Bytes<'js>> {
    let bytes = attempt(&ctx, outcome)?;
    TypedArray::new(ctx, bytes)
}

pub(crate) fn attempt<T>(ctx: &Ctx<'_>, outcome: Outcome<T>) -> Result<T> {
    outcome.map_err(|failure| throw(ctx, failure))
}

fn throw(ctx: &Ctx<'_>, failure: Failure) -> Error {
    let made = Exception::from_message(ctx.clone(), failure.message)
        .and_then(|exception| exception.as_object().set("code", failure.code).map(|()| exception));
    match made {
        Ok(exception) => exception.throw(),
        Err(error) => error,
    }
}
