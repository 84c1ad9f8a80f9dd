//! A linked component: every module it can reach, as text. Code is the truth, images are a cache of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::SandboxError;

/// Stored with the deploy; the same program gives the same image anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Path of the module whose exports are the component.
    pub entry: String,
    pub modules: BTreeMap<String, Module>,
}

/// A program by its digest. A run whose image is at hand needs none of the text, so it is read only when it is asked for.
#[derive(Clone)]
pub struct ProgramHandle {
    pub digest: Arc<str>,
    pub stored: Arc<dyn ReadProgram>,
}

/// Obligations: what is read has the digest of the handle; it is read anew each time, so callers hold it no longer than
/// they need it.
#[async_trait]
pub trait ReadProgram: Send + Sync {
    async fn read(&self) -> Result<Arc<Program>, SandboxError>;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub kind: ModuleKind,
    pub source: Arc<str>,
    /// Where a specifier in this module leads, when that is not what the path says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub imports: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModuleKind {
    CommonJs,
    Json,
}

// === impl ProgramHandle ===

impl ProgramHandle {
    /// Of a program that is not stored.
    pub fn of(program: Arc<Program>) -> Self {
        struct Held(Arc<Program>);
        #[async_trait]
        impl ReadProgram for Held {
            async fn read(&self) -> Result<Arc<Program>, SandboxError> {
                Ok(self.0.clone())
            }
        }
        Self { digest: program.digest().into(), stored: Arc::new(Held(program)) }
    }
}

// === impl Program ===

impl Program {
    /// A component of one file.
    pub fn single(path: &str, source: impl Into<Arc<str>>) -> Self {
        let module = Module { kind: ModuleKind::CommonJs, source: source.into(), imports: BTreeMap::new() };
        Self { entry: path.to_owned(), modules: BTreeMap::from([(path.to_owned(), module)]) }
    }

    /// The component's own source text.
    pub fn entry_source(&self) -> &str {
        self.modules.get(&self.entry).map_or("", |module| &module.source)
    }

    /// Of all modules.
    pub fn text_bytes(&self) -> usize {
        self.modules.values().map(|module| module.source.len()).sum()
    }

    /// Names the program by its content, in hex: equal programs are stored once.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        let mut part = |text: &str| {
            // The length first, so that no two programs run together into the same bytes.
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part(&self.entry);
        for (path, module) in &self.modules {
            part(path);
            part(if module.kind == ModuleKind::Json { "json" } else { "commonjs" });
            part(&module.source);
            for (specifier, target) in &module.imports {
                part(specifier);
                part(target);
            }
            part("");
        }
        hex::encode(hasher.finalize())
    }
}
