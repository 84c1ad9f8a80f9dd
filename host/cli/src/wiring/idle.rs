//! The sandbox of a process that runs nothing: an operator's command while no server is there.

use std::sync::Arc;

use async_trait::async_trait;
use platform::ports::{Load, Outcome, Priority, Program, ProgramHandle, RunServices, Sandbox, SandboxError, Task};

pub(crate) struct NoSandbox;

#[derive(Debug, thiserror::Error)]
#[error("nothing runs here: start the server first")]
struct NothingRuns;

#[async_trait]
impl Sandbox for NoSandbox {
    async fn load(&self, _tenant: &str, _program: &Arc<Program>) -> Result<Load, SandboxError> {
        Err(SandboxError::Failed(NothingRuns.into()))
    }

    fn calls(&self, _recording: &bytes::Bytes) -> Vec<platform::ports::HostCall> {
        Vec::new()
    }

    fn discard(&self, _digest: &str) {}

    async fn run(
        &self,
        _program: &ProgramHandle,
        _task: &Task,
        _priority: Priority,
        _services: Arc<dyn RunServices>,
    ) -> Result<Outcome, SandboxError> {
        Err(SandboxError::Failed(NothingRuns.into()))
    }
}
