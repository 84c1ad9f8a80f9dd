//! Worker processes where there are none: what locks them is Linux's.

use std::ffi::OsString;
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::Limits;
use crate::outcome::{LogLine, Outcome, Usage};
use crate::program::Program;
use crate::sandbox::{Error, Image, LoadError, Task};
use crate::services::Services;
use crate::snapshot::Snapshot;

#[derive(Debug, Clone)]
pub struct Processes {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub groups: NonZeroUsize,
    pub threads: usize,
    pub memory_bytes: u64,
    pub margin: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub name: String,
    pub missing: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub what: String,
    pub refused: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub layers: Vec<Layer>,
    pub probes: Vec<Probe>,
}

#[derive(Debug, Clone)]
pub struct WorkerSettings {
    pub parent: u32,
    pub threads: usize,
    pub memory_bytes: u64,
    pub builds: bool,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum Ended {
    #[error("worker processes need Linux")]
    NeedsLinux,
}

/// There is none.
pub(crate) enum Workers {}

pub(crate) struct WorkerBounds {
    pub(crate) warm_slots: usize,
    pub(crate) held_image_bytes: u64,
}

pub fn main(_: &WorkerSettings) -> ExitCode {
    ExitCode::FAILURE
}

impl Workers {
    pub(crate) async fn open(_: Processes, _: Arc<Snapshot>, _: WorkerBounds) -> Result<Self, Error> {
        Err(Error::Worker(Ended::NeedsLinux))
    }

    pub(crate) async fn run(&self, _: &Image, _: &Task<'_>, _: Arc<dyn Services>) -> Result<Outcome, Error> {
        match *self {}
    }

    pub(crate) async fn build(
        &self,
        _: &Arc<Program>,
        _: Limits,
        _: &mut Usage,
    ) -> Result<(Vec<u8>, String, Vec<LogLine>), LoadError> {
        match *self {}
    }

    pub(crate) fn report(&self) -> &Report {
        match *self {}
    }

    pub(crate) fn failures(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn process_id(&self, _: &str) -> Option<u32> {
        match *self {}
    }
}
