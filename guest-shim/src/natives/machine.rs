//! Things that take bytes piece by piece and give others: ciphers and compressors. To JavaScript each is an object
//! without properties.

use rquickjs::class::{Trace, Tracer, Writable};
use rquickjs::function::Constructor;
use rquickjs::prelude::Func;
use rquickjs::{Class, Ctx, JsLifetime, Object, Result};

use super::failure::{Bytes, Outcome, attempt, give, slice};

pub(crate) trait Machine {
    fn update(&mut self, data: &[u8]) -> Outcome<Vec<u8>>;

    /// What is there already, without an end.
    fn flush(&mut self) -> Outcome<Vec<u8>> {
        Ok(Vec::new())
    }

    /// What was held back, and the end. `tag` is what an authenticated message is checked with; a machine that seals one
    /// gives the tag instead of any bytes.
    fn finish(&mut self, tag: &[u8]) -> Outcome<Vec<u8>>;
}

/// A machine as an object.
pub(crate) struct Handle(Box<dyn Machine>);

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set(
        "machineUpdate",
        Func::from(|ctx, machine: Class<'_, Handle>, data: Bytes<'_>| {
            give(ctx, machine.borrow_mut().0.update(slice(&data)))
        }),
    )?;
    host.set("machineFlush", Func::from(|ctx, machine: Class<'_, Handle>| give(ctx, machine.borrow_mut().0.flush())))?;
    host.set(
        "machineFinish",
        Func::from(|ctx, machine: Class<'_, Handle>, tag: Option<Bytes<'_>>| {
            give(ctx, machine.borrow_mut().0.finish(tag.as_ref().map(slice).unwrap_or_default()))
        }),
    )
}

/// A new machine for JavaScript, or the exception.
pub(super) fn hand_over<'js>(ctx: Ctx<'js>, made: Outcome<Box<dyn Machine>>) -> Result<Class<'js, Handle>> {
    let machine = attempt(&ctx, made)?;
    Class::instance(ctx, Handle(machine))
}

// === impl Handle ===

impl<'js> rquickjs::class::JsClass<'js> for Handle {
    const NAME: &'static str = "Machine";
    type Mutable = Writable;

    fn constructor(_: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}

impl<'js> Trace<'js> for Handle {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

// SAFETY: a machine holds no value of the runtime.
unsafe impl<'js> JsLifetime<'js> for Handle {
    type Changed<'to> = Handle;
}
