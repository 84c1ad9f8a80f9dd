//! The platform's sandbox port, on the real sandbox.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::outcome::Recorded;
use metrics::Family;
use outbound::Outbound;
use platform::ports::{self, Load, LoadFailure, Loaded, ProgramHandle, RunServices, SandboxError};
use sandbox::{
    Building, FetchError, FetchRequest, FetchResponse, Image, Limits, LoadError, ReadProgram, Sandbox, Services,
    Sources,
};

use super::authorizing;
use super::fetching;
use super::traffic::Meter;

pub(crate) struct Sandboxing {
    sandbox: Sandbox,
    outbound: Outbound,
}

// === impl Sandboxing ===

impl Sandboxing {
    pub(crate) fn new(sandbox: Sandbox, outbound: Outbound) -> Self {
        Self { sandbox, outbound }
    }

    /// Everything that the sandbox and the egress client tell.
    pub(crate) fn families(&self) -> Vec<Family> {
        let mut families = self.sandbox.families();
        families.extend(self.outbound.families());
        families
    }

    /// Lets go of images in memory until they take no more than so many bytes; those that run stay.
    pub(crate) fn shrink_images(&self, most_bytes: u64) {
        self.sandbox.shrink_images(most_bytes);
    }

    pub(crate) fn held_image_bytes(&self) -> u64 {
        self.sandbox.held_image_bytes()
    }

    /// Refuses every run that would begin, or stops doing so.
    pub(crate) fn refuse_runs(&self, are_refused: bool) {
        self.sandbox.refuse_runs(are_refused);
    }

    /// The image of a program. A missing one is built by the first run that needs it (single flight), at the cost of that run.
    async fn image(
        &self,
        tenant: &str,
        program: &ProgramHandle,
        usage: &mut sandbox::Usage,
    ) -> Result<Result<Image, LoadFailure>, SandboxError> {
        let building = Building { tenant, limits: loading(), usage };
        match self.sandbox.image_of(&program.digest, sources(program), building).await {
            Ok(image) => Ok(Ok(image)),
            Err(error) => load_failure(error).map(Err),
        }
    }
}

#[async_trait]
impl ports::Sandbox for Sandboxing {
    async fn load(&self, tenant: &str, program: &Arc<ports::Program>) -> Result<Load, SandboxError> {
        let mut used = sandbox::Usage::default();
        let translated = Arc::new(translate(program));
        let digest = program.digest();
        let result = match self.sandbox.build_metered(tenant, &digest, translated, loading(), &mut used).await {
            Ok(built) => {
                let logs = built.logs.iter().map(log_line).collect();
                Ok(Loaded { description: built.description, logs })
            }
            Err(error) => Err(load_failure(error)?),
        };
        Ok(Load { result, usage: usage(used) })
    }

    fn calls(&self, recording: &Bytes) -> Vec<ports::HostCall> {
        let told = |sandbox::HostCall { kind, asked, answer }| ports::HostCall { kind, asked, answer };
        sandbox::host_calls(recording).into_iter().map(told).collect()
    }

    fn discard(&self, digest: &str) {
        self.sandbox.discard(digest);
    }

    async fn run(
        &self,
        program: &ProgramHandle,
        task: &ports::Task,
        priority: ports::Priority,
        services: Arc<dyn RunServices>,
    ) -> Result<ports::Outcome, SandboxError> {
        let mut building = sandbox::Usage::default();
        let image = match self.image(&task.tenant, program, &mut building).await? {
            Ok(image) => image,
            // It loaded when it was deployed; now it does not. Its author sees it as any exception.
            Err(failure) => return Ok(ports::Outcome { usage: usage(building), ..failed_to_load(failure) }),
        };
        let meter = Meter::default();
        let outbound = self.outbound.of_tenant(&task.tenant);
        let services = Arc::new(Bridge { services, outbound, meter: meter.clone() });
        let limits = limits(&task.limits);
        let replay = task.replay.as_ref().map(replay_of);
        let task = sandbox::Task {
            tenant: &task.tenant,
            call: &task.call,
            limits,
            is_urgent: priority == ports::Priority::Urgent,
            replay: replay.as_ref(),
        };
        let mut ran = self.sandbox.run(&image, task, services).await.map_err(failed)?;
        ran.usage = ran.usage.plus(building);
        Ok(ports::Outcome { traffic: meter.take(), ..translate_outcome(ran) })
    }
}

/// A run's services: the platform's, and requests through the egress client.
struct Bridge {
    services: Arc<dyn RunServices>,
    outbound: Outbound,
    meter: Meter,
}

#[async_trait]
impl Services for Bridge {
    fn now_ms(&self) -> f64 {
        self.services.now_ms()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.services.fill_random(buffer);
    }

    async fn db_get(&self, key: &str) -> Result<Option<String>, sandbox::ServiceError> {
        self.services.db_get(key).await.map_err(|error| sandbox::ServiceError(error.into()))
    }

    async fn before_request(&self, writes: Vec<sandbox::Write>) -> Result<Vec<sandbox::Write>, sandbox::ServiceError> {
        let writes = writes.into_iter().map(write).collect();
        let kept = self.services.before_request(writes).await;
        let kept = kept.map_err(|error| sandbox::ServiceError(error.into()))?;
        Ok(kept.into_iter().map(|ports::Write { key, value }| sandbox::Write { key, value }).collect())
    }

    async fn credentials(&self, prop: &str) -> Option<String> {
        self.services.credentials(prop)
    }

    fn reply(&self, reply: sandbox::Reply) {
        let sandbox::Reply { status, headers, body } = reply;
        self.services.reply(ports::Reply { status, headers, body });
    }

    fn observe(&self, line: &sandbox::LogLine) {
        self.services.observe(&log_line(line));
    }

    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError> {
        let metered = self.meter.start(&request, |path| self.services.conceal(path));
        if !self.services.has_accounts() {
            return metered.finish(fetching::fetch(&self.outbound, request).await);
        }
        metered.finish(authorizing::fetch(&*self.services, &self.outbound, request).await)
    }
}

/// The text of a stored program, for runs that require more of it than their image holds.
struct Stored(ProgramHandle);

fn sources(program: &ProgramHandle) -> Sources {
    Sources::Stored(Arc::new(Stored(program.clone())))
}

#[async_trait]
impl ReadProgram for Stored {
    async fn read(&self) -> Result<Arc<sandbox::Program>, sandbox::ServiceError> {
        let program = self.0.stored.read().await.map_err(|error| sandbox::ServiceError(error.into()))?;
        Ok(Arc::new(translate(&program)))
    }
}

pub(crate) fn translate(program: &ports::Program) -> sandbox::Program {
    let module = |module: &ports::Module| sandbox::Module {
        kind: match module.kind {
            ports::ModuleKind::CommonJs => sandbox::ModuleKind::CommonJs,
            ports::ModuleKind::Json => sandbox::ModuleKind::Json,
        },
        source: module.source.clone(),
        imports: module.imports.clone(),
    };
    let modules = program.modules.iter().map(|(path, found)| (path.clone(), module(found))).collect();
    sandbox::Program { entry: program.entry.clone(), modules }
}

/// Evaluating a very large package takes seconds of a busy machine. Fuel bounds the work itself.
fn loading() -> Limits {
    Limits { wall_clock: Duration::from_secs(120), ..Limits::default() }
}

fn limits(limits: &ports::RunLimits) -> Limits {
    Limits {
        fuel: limits.fuel,
        wall_clock: limits.wall_clock,
        memory_bytes: limits.memory_bytes,
        emits: limits.emits,
        event_bytes: limits.event_bytes,
        log_lines: limits.log_lines,
        log_line_bytes: limits.log_line_bytes,
        log_bytes: limits.log_bytes,
        db_key_bytes: limits.db_key_bytes,
        db_value_bytes: limits.db_value_bytes,
        reply_bytes: limits.reply_bytes,
        recording_bytes: limits.recording_bytes,
        reply_headers: domain::respond::HEADERS_MAXIMUM,
        reply_header_bytes: domain::respond::HEADER_BYTES_MAXIMUM,
        ..Limits::default()
    }
}

fn replay_of(replay: &ports::Replay) -> sandbox::Replay {
    let mode = match replay.mode {
        ports::ReplayMode::Exact => sandbox::ReplayMode::Exact,
        ports::ReplayMode::ByQuestion => sandbox::ReplayMode::ByQuestion,
        ports::ReplayMode::Live => sandbox::ReplayMode::Live,
    };
    sandbox::Replay { recording: replay.recording.clone(), mode }
}

fn load_failure(error: LoadError) -> Result<LoadFailure, SandboxError> {
    match error {
        LoadError::Threw(thrown) => Ok(translate_thrown(thrown).into()),
        LoadError::Fault(fault) => {
            let message = format!("while the component was loading, {fault}");
            Ok(LoadFailure { name: "LoadError".into(), message, ..LoadFailure::default() })
        }
        LoadError::Host(error) => Err(failed(error)),
    }
}

fn failed(error: sandbox::Error) -> SandboxError {
    match error {
        sandbox::Error::Overloaded(full) => SandboxError::Overloaded(full),
        // The platform's own: the program could not be read.
        sandbox::Error::Service(sandbox::ServiceError(error)) if error.is::<SandboxError>() => {
            error.downcast().map_or_else(SandboxError::Failed, |error| *error)
        }
        error => SandboxError::Failed(error.into()),
    }
}

fn failed_to_load(failure: LoadFailure) -> ports::Outcome {
    let LoadFailure { name, message, stack, file, line, column, cause } = failure;
    let thrown = ports::Thrown { name, message, stack, code: None, file, line, column, cause };
    ports::Outcome { fault: Some(ports::Fault::Threw(thrown)), ..ports::Outcome::default() }
}

fn translate_outcome(ran: sandbox::Outcome) -> ports::Outcome {
    ports::Outcome {
        returned: ran.returned,
        emits: ran.emits.into_iter().map(emit).collect(),
        flushed: Vec::new(),
        writes: ran.writes.into_iter().map(write).collect(),
        logs: ran.logs.iter().map(log_line).collect(),
        effects: ran.effects.into_iter().map(effect).collect(),
        has_replied: ran.has_replied,
        traffic: domain::outcome::Traffic::default(),
        recording: ran.recording.map(|recording| match recording {
            sandbox::Recording::Kept(bytes) => Recorded::Kept(bytes.into()),
            sandbox::Recording::Truncated => Recorded::Truncated,
        }),
        usage: usage(ran.usage),
        fault: ran.fault.map(fault),
    }
}

fn usage(used: sandbox::Usage) -> ports::Usage {
    let sandbox::Usage { fuel, cpu, wall_clock, peak_memory_bytes } = used;
    ports::Usage { fuel, cpu, wall_clock, peak_memory_bytes }
}

fn emit(emit: sandbox::Emit) -> ports::Emit {
    // Plain data of texts and numbers always has a JSON form.
    let metadata = serde_json::to_value(&emit.metadata).unwrap_or_default();
    ports::Emit { event: emit.event.into(), metadata }
}

fn write(write: sandbox::Write) -> ports::Write {
    ports::Write { key: write.key, value: write.value }
}

fn log_line(line: &sandbox::LogLine) -> ports::LogLine {
    let level = match line.level {
        sandbox::Level::Debug => ports::Level::Debug,
        sandbox::Level::Info => ports::Level::Info,
        sandbox::Level::Warn => ports::Level::Warn,
        sandbox::Level::Error => ports::Level::Error,
    };
    ports::LogLine { at_ms: line.at_ms, level, message: line.message.clone() }
}

fn effect(effect: sandbox::Effect) -> ports::Effect {
    let kind = match effect.kind {
        sandbox::EffectKind::Export => ports::EffectKind::Export,
        sandbox::EffectKind::Respond => ports::EffectKind::Respond,
        sandbox::EffectKind::Exit => ports::EffectKind::Exit,
        sandbox::EffectKind::SendHttp => ports::EffectKind::SendHttp,
        sandbox::EffectKind::SendEmail => ports::EffectKind::SendEmail,
        sandbox::EffectKind::SendS3 => ports::EffectKind::SendS3,
        sandbox::EffectKind::SendEmit => ports::EffectKind::SendEmit,
        sandbox::EffectKind::SendSse => ports::EffectKind::SendSse,
    };
    ports::Effect { kind, parameters: effect.parameters }
}

fn fault(fault: sandbox::Fault) -> ports::Fault {
    match fault {
        sandbox::Fault::Threw(thrown) => ports::Fault::Threw(translate_thrown(thrown)),
        sandbox::Fault::OutOfFuel { limit } => ports::Fault::OutOfFuel { limit },
        sandbox::Fault::Deadline { limit } => ports::Fault::Deadline { limit },
        sandbox::Fault::OutOfMemory { limit_bytes } => ports::Fault::OutOfMemory { limit_bytes },
        sandbox::Fault::TooMuchOutput { what, limit } => ports::Fault::TooMuchOutput { what: what.to_string(), limit },
        sandbox::Fault::Diverged { asked, recorded } => ports::Fault::Diverged { asked, recorded },
        sandbox::Fault::RecordingEnded => ports::Fault::RecordingEnded,
        sandbox::Fault::Trap { reason } => ports::Fault::Trap { reason },
    }
}

fn translate_thrown(thrown: sandbox::Thrown) -> ports::Thrown {
    let sandbox::Thrown { name, message, stack, code, file, line, column, cause } = thrown;
    let cause = cause.map(|cause| Box::new(translate_thrown(*cause)));
    ports::Thrown { name, message, stack, code, file, line, column, cause }
}
