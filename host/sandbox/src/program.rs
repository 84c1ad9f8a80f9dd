//! A program to load: a component and its packages as a table of modules.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::services::ServiceError;

/// A component, linked: every module it can reach, by path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    /// Path of the module whose exports are the component.
    pub entry: String,
    pub modules: BTreeMap<String, Module>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Module {
    pub kind: ModuleKind,
    pub source: Arc<str>,
    /// Where a specifier in this module leads, when that is not what the path says.
    #[serde(default)]
    pub imports: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModuleKind {
    CommonJs,
    Json,
}

/// Where the text of a program is, when it is not in memory: most runs need none of it, because their image holds what they
/// use. An implementer reads it anew each time it is asked; a run asks once.
#[async_trait]
pub trait ReadProgram: Send + Sync {
    async fn read(&self) -> Result<Arc<Program>, ServiceError>;
}

/// A program as a run has it. Cheap to clone.
#[derive(Clone)]
pub enum Sources {
    Whole(Arc<Program>),
    Stored(Arc<dyn ReadProgram>),
    #[doc(hidden)]
    Packed(Arc<Packed>),
}

/// A program in a file, read when it is first asked for.
pub struct Packed {
    file: File,
    unpack: fn(&File) -> Option<Program>,
    unpacked: OnceLock<Option<Arc<Program>>>,
}

// === impl Sources ===

impl Sources {
    /// The program; nothing if its file cannot be read.
    pub(crate) async fn read(&self) -> Result<Option<Arc<Program>>, ServiceError> {
        match self {
            Self::Whole(program) => Ok(Some(program.clone())),
            Self::Stored(stored) => stored.read().await.map(Some),
            Self::Packed(packed) => {
                let unpack = || (packed.unpack)(&packed.file).map(Arc::new);
                Ok(packed.unpacked.get_or_init(unpack).clone())
            }
        }
    }
}

// === impl Packed ===

impl Packed {
    pub(crate) fn new(file: File, unpack: fn(&File) -> Option<Program>) -> Self {
        Self { file, unpack, unpacked: OnceLock::new() }
    }
}

// === impl Program ===

impl Program {
    /// A component of one file.
    pub fn single(path: &str, source: impl Into<Arc<str>>) -> Self {
        let module = Module { kind: ModuleKind::CommonJs, source: source.into(), imports: BTreeMap::new() };
        Self { entry: path.to_owned(), modules: BTreeMap::from([(path.to_owned(), module)]) }
    }

    /// Names the program by everything that decides what its image will hold, in hex.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part(&self.entry);
        for (path, module) in &self.modules {
            part(path);
            part(module.kind.name());
            part(&module.source);
            for (specifier, target) in &module.imports {
                part(specifier);
                part(target);
            }
            part("");
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The table without source texts, as the guest's `load` takes it; it asks for each text when it needs it.
    pub(crate) fn to_table(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Table<'a> {
            entry: &'a str,
            modules: Vec<Row<'a>>,
        }
        #[derive(Serialize)]
        struct Row<'a> {
            path: &'a str,
            kind: ModuleKind,
            imports: &'a BTreeMap<String, String>,
        }
        let modules = self
            .modules
            .iter()
            .map(|(path, module)| Row { path, kind: module.kind, imports: &module.imports })
            .collect();
        serde_json::to_string(&Table { entry: &self.entry, modules })
    }
}

// === impl ModuleKind ===

impl ModuleKind {
    fn name(self) -> &'static str {
        match self {
            Self::CommonJs => "commonjs",
            Self::Json => "json",
        }
    }
}
