//! Builds the image of one component, as [`Sandbox::build`](crate::Sandbox::build) does where there are no workers.

use std::fs::File;
use std::sync::Arc;

use super::unpack;
use crate::isolated::outbox::Outbox;
use crate::isolated::protocol::{BuildResult, NO_RUN, to_host};
use crate::limits::Limits;
use crate::outcome::Usage;
use crate::sandbox::{Error, Inner, LoadError, describe, load};
use crate::snapshot::{self, Snapshot};

/// Writes the memory to `output`, which is the host's.
pub(super) async fn build(inner: Arc<Inner>, program: File, output: File, limits: Limits, outbox: Outbox) {
    let mut usage = Usage::default();
    let result = match try_build(&inner, &program, output, limits, &mut usage).await {
        Ok(loaded) => loaded,
        Err(LoadError::Threw(thrown)) => BuildResult::Threw(thrown),
        Err(LoadError::Fault(fault)) => BuildResult::Fault(fault),
        Err(LoadError::Host(error)) => BuildResult::Failed { reason: error.to_string() },
    };
    if !outbox.add(to_host::BUILT, NO_RUN, |to| result.write(to, &usage)) {
        let result = BuildResult::Failed { reason: "its description is larger than a frame".into() };
        outbox.add(to_host::BUILT, NO_RUN, |to| result.write(to, &usage));
    }
    outbox.flush();
}

async fn try_build(
    inner: &Arc<Inner>,
    program: &File,
    output: File,
    limits: Limits,
    usage: &mut Usage,
) -> Result<BuildResult, LoadError> {
    let program = Arc::new(unpack(program).ok_or(Error::Shim("its program cannot be read"))?);
    let (memory, logs) = load(inner, &program, limits, usage).await?;
    output.set_len(memory.len() as u64).and_then(|()| snapshot::write(&output, 0, &memory)).map_err(Error::Memory)?;
    let snapshot = Snapshot::map(output, memory.len()).map_err(Error::Memory)?;
    let description = describe(inner, &program, &snapshot, limits, usage).await?;
    Ok(BuildResult::Loaded { description, logs, memory_bytes: memory.len() })
}
