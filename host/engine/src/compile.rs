//! Compiles the shim for a target: its code to machine code, and its data to the memory that a first instance starts with.

use sha2::{Digest, Sha256};
use wasmtime::OptLevel;

use crate::split::{self, Split, SplitError};

/// What code is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// As in the name of its file: architecture and operating system, which is all that matters to the code.
    pub name: &'static str,
    triple: &'static str,
    /// What its processors have beyond the architecture's first.
    features: &'static [&'static str],
}

/// A compiled shim.
pub struct Compiled {
    /// An ELF object, as wasmtime loads it.
    pub code: Vec<u8>,
    pub first_memory: Vec<u8>,
    /// Hashes of what it was made of and of what was made, one on a line.
    pub record: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Split(#[from] SplitError),
    #[error("the shim could not be compiled: {0:#}")]
    Compile(#[source] wasmtime::Error),
    #[error("Cargo.lock names no wasmtime")]
    NoVersion,
}

// === impl Target ===

impl Target {
    /// All that the shim can be compiled for, the committed ones first.
    pub const ALL: &[Self] = &[
        Self { name: "x86_64-linux", triple: "x86_64-unknown-linux-gnu", features: &[] },
        Self { name: "aarch64-linux", triple: "aarch64-unknown-linux-gnu", features: &[] },
        Self { name: "x86_64-macos", triple: "x86_64-apple-darwin", features: &[] },
        Self { name: "aarch64-macos", triple: "aarch64-apple-darwin", features: &[] },
    ];

    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|target| target.name == name)
    }
}

/// Compiles `shim`. The same shim, target and `lock` (the text of `Cargo.lock`) give the same bytes on every machine.
pub fn compile(shim: &[u8], target: &Target, lock: &str) -> Result<Compiled, Error> {
    let Split { code, memory: first_memory } = split::split(shim)?;
    let mut settings = crate::settings();
    // A target that is named has no features but those that are enabled: nothing of the machine that compiles.
    settings.cranelift_opt_level(OptLevel::Speed).target(target.triple).map_err(Error::Compile)?;
    for feature in target.features {
        #[expect(unsafe_code, reason = "the only way to name a feature of a processor")]
        // SAFETY: wasmtime checks when it loads the code that the processor has the feature.
        unsafe {
            settings.cranelift_flag_enable(feature);
        }
    }
    let compiler = wasmtime::Engine::new(&settings).map_err(Error::Compile)?;
    let code = compiler.precompile_module(&code).map_err(Error::Compile)?;
    let record = [
        ("shim.wasm", hash(shim)),
        ("wasmtime", version_of_wasmtime(lock).ok_or(Error::NoVersion)?.to_owned()),
        ("first-memory", hash(&first_memory)),
        (target.name, hash(&code)),
    ];
    let record = record.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
    Ok(Compiled { code, first_memory, record })
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn version_of_wasmtime(lock: &str) -> Option<&str> {
    let entry = lock.split("[[package]]").find(|entry| entry.contains("name = \"wasmtime\"\n"))?;
    entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}
