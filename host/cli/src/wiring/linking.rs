//! The platform's linker port, on the real linker; packages come through the egress client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use linker::{Blame, CredentialRule, Entry, Linker, Registry};
use metrics::Family;
use platform::ports::progress::{self, Progress};
use platform::ports::{self, ComponentSource, Dependency, LinkError, Linked};
use tokio::sync::OnceCell;

use super::network::NetworkArguments;
use super::packages::Packages;
use crate::settings::Budget;

/// Less would refuse components with large packages, however idle the server is.
const LINK_BYTES_MINIMUM: u64 = 128 << 20;
const TRANSFER_BYTES_MINIMUM: u64 = 64 << 20;

pub(crate) struct Linking {
    cache: PathBuf,
    network: NetworkArguments,
    credentials: Vec<CredentialRule>,
    budget: Option<Budget>,
    /// Made when the first component is linked: reading npm's configuration may mean asking npm, and a start should not wait.
    linker: OnceCell<Linker>,
}

// === impl Linking ===

impl Linking {
    /// `credentials` say whom those of npm's configuration are used for.
    pub(crate) fn new(cache: &Path, network: NetworkArguments, credentials: Vec<CredentialRule>) -> Self {
        Self { cache: cache.join("packages"), network, credentials, budget: None, linker: OnceCell::new() }
    }

    /// The same within a memory budget.
    pub(crate) fn within(self, budget: Budget) -> Self {
        Self { budget: Some(budget), ..self }
    }

    async fn linker(&self) -> Result<&Linker, LinkError> {
        self.linker
            .get_or_try_init(|| async {
                let reading = tokio::task::spawn_blocking(|| Registry::from_npm_configuration(None));
                let registry = reading.await.unwrap_or_else(|_| Registry::from_texts(&[], &|_| None));
                let outbound = self.network.open_for_packages(&registry).map_err(|error| unavailable(&error))?;
                let credentials = self.credentials.clone();
                let default = linker::Config::new(self.cache.clone(), registry);
                let (transfer_bytes, link_bytes) = match self.budget {
                    Some(budget) => (
                        budget.part("packages").max(TRANSFER_BYTES_MINIMUM),
                        budget.part("deploys").max(LINK_BYTES_MINIMUM),
                    ),
                    None => (u64::MAX, u64::MAX),
                };
                let transfer_bytes = transfer_bytes.min(default.transfer_bytes);
                let link_bytes = link_bytes.min(default.link_bytes);
                let config = linker::Config { credentials, transfer_bytes, link_bytes, ..default };
                Ok(Linker::new(config, Arc::new(Packages(outbound))))
            })
            .await
    }
}

#[async_trait]
impl ports::Linker for Linking {
    async fn link(&self, tenant: &str, component: ComponentSource) -> Result<Linked, LinkError> {
        let ComponentSource { filename, source, files } = component;
        let linked = self
            .linker()
            .await?
            .of_tenant(tenant)
            .link(&Entry { filename, source, files }, &|reached| progress::report(stage(&reached)))
            .await
            .map_err(|error| fail(&error))?;
        Ok(told(linked))
    }

    fn families(&self) -> Vec<Family> {
        let (held, limit) = self.linker.get().map(Linker::memory_bytes).unwrap_or_default();
        let help = "What deploys that are being linked hold in memory, and what they may hold";
        let family = Family::gauge("wellspring_link_bytes", help).sample(&[("bytes", "held")], held);
        vec![family.sample(&[("bytes", "limit")], limit)]
    }
}

/// A component that asks for no packages; none for others. Asking npm where packages come from would take longer than a run.
pub(crate) async fn link_alone(component: &ComponentSource) -> Result<Option<Linked>, LinkError> {
    let ComponentSource { filename, source, files } = component.clone();
    let linked = linker::link_alone(&Entry { filename, source, files }).await;
    Ok(linked.map_err(|error| fail(&error))?.map(told))
}

fn told(linked: linker::Linked) -> Linked {
    let modules = linked.modules.into_iter().map(|(path, module)| (path, translate(module))).collect();
    let dependencies = linked.dependencies.into_iter().filter(|dependency| !dependency.is_skipped);
    Linked {
        program: ports::Program { entry: linked.entry, modules },
        dependencies: dependencies.map(list).collect(),
        warnings: linked.warnings.iter().filter_map(warning).collect(),
    }
}

/// Of the component's own files. What packages try for and lack is theirs, and there are many such.
fn warning(warning: &linker::Warning) -> Option<String> {
    match warning {
        linker::Warning::ComputedRequire { path, line } => Some(format!(
            "{path}:{line}: `require` of something computed finds no file here: begin it with a folder of the component, as in \
             require(\"./handlers/\" + name), or write the paths out"
        )),
        _ => None,
    }
}

fn list(dependency: linker::Dependency) -> Dependency {
    let linker::Dependency { name, version, integrity, location, .. } = dependency;
    Dependency { name, version, integrity, location }
}

fn stage(reached: &linker::Progress) -> Progress {
    match *reached {
        linker::Progress::Resolving { packages } => Progress::Resolving { packages },
        linker::Progress::Downloading { packages, of, bytes } => Progress::Downloading { packages, of, bytes },
        linker::Progress::Linking { modules } => Progress::Linking { modules },
        linker::Progress::Done { packages, modules } => Progress::Loading { packages, modules },
    }
}

fn translate(module: linker::Module) -> ports::Module {
    let kind = match module.kind {
        linker::ModuleKind::Json => ports::ModuleKind::Json,
        // ES modules were lowered: the guest has one loader.
        linker::ModuleKind::CommonJs | linker::ModuleKind::Esm => ports::ModuleKind::CommonJs,
    };
    ports::Module { kind, source: module.source, imports: module.imports }
}

/// Something of the operator's is wrong.
fn unavailable(error: &anyhow::Error) -> LinkError {
    let message = format!("packages cannot be fetched: {error:#}");
    LinkError { code: "registry_unreachable", message, file: None, line: None, column: None, is_unavailable: true }
}

fn fail(error: &linker::LinkError) -> LinkError {
    let location = error.location();
    LinkError {
        code: error.code(),
        message: format!("{error}; {}", error.hint()),
        file: location.as_ref().map(|location| location.path.clone()),
        line: location.as_ref().and_then(|location| location.line),
        column: location.as_ref().and_then(|location| location.column),
        is_unavailable: error.blame() == Blame::Unavailable,
    }
}
