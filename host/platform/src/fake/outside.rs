//! A linker that takes the code as it is, and an outside world of a few fixed answers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use store::Tenant;

use crate::ports::{
    ComponentSource, Dependency, Fetched, LinkError, Linked, Linker, Outbound, OutboundError, Posted, Posting, Program,
    progress::{self, Progress},
};

/// One module, no packages. Code that contains `syntax error` does not link, `registry down` finds no registry,
/// and packages are those it says it depends on.
#[derive(Default)]
pub struct PlainLinker;

/// Texts by address, and answers to postings by address; what was posted is kept.
#[derive(Default)]
pub struct StaticOutbound {
    texts: Mutex<HashMap<String, String>>,
    statuses: Mutex<HashMap<String, u16>>,
    bodies: Mutex<HashMap<String, String>>,
    posted: Mutex<Vec<Posting>>,
    refused: Mutex<HashSet<String>>,
    responder: Mutex<Option<Responder>>,
}

/// Answers calls as a service does.
pub type Responder = Arc<dyn Fn(Posting) -> BoxFuture<'static, Result<Posted, OutboundError>> + Send + Sync>;

#[async_trait]
impl Linker for PlainLinker {
    async fn link(&self, _tenant: &str, component: ComponentSource) -> Result<Linked, LinkError> {
        let fails = |code, is_unavailable| LinkError {
            code,
            message: format!("{}:1:1: {code}", component.filename),
            file: Some(component.filename.clone()),
            line: Some(1),
            column: Some(1),
            is_unavailable,
        };
        if component.source.contains("syntax error") {
            return Err(fails("syntax_error", false));
        }
        if component.source.contains("registry down") {
            return Err(fails("registry_unreachable", true));
        }
        let dependencies = named_dependencies(&component.source);
        if !dependencies.is_empty() {
            progress::report(Progress::Resolving { packages: dependencies.len() });
        }
        let mut program = Program::single(&component.filename, component.source);
        for (path, source) in component.files {
            program.modules.extend(Program::single(&path, source).modules);
        }
        Ok(Linked { program, dependencies, warnings: Vec::new() })
    }
}

/// `depends on a@1.2.3 b@2` in a text stands for a tree of packages.
fn named_dependencies(source: &str) -> Vec<Dependency> {
    let listed =
        source.split_once("depends on ").map_or("", |(_, listed)| listed.split('"').next().unwrap_or_default());
    let packages = listed.split_whitespace().filter_map(|package| package.rsplit_once('@'));
    packages
        .map(|(name, version)| Dependency {
            name: name.to_owned(),
            version: version.to_owned(),
            integrity: format!("sha512-{name}"),
            location: format!("node_modules/{name}"),
        })
        .collect()
}

// === impl StaticOutbound ===

impl StaticOutbound {
    pub fn serve(&self, url: &str, text: &str) {
        lock(&self.texts).insert(url.to_owned(), text.to_owned());
    }

    /// The status that postings to an address are answered with; 200 unless told.
    pub fn answer(&self, url: &str, status: u16) {
        lock(&self.statuses).insert(url.to_owned(), status);
    }

    /// The body of those answers; empty unless told.
    pub fn answer_text(&self, url: &str, body: &str) {
        lock(&self.bodies).insert(url.to_owned(), body.to_owned());
    }

    /// What answers calls from now on.
    pub fn respond(&self, responder: Responder) {
        *lock(&self.responder) = Some(responder);
    }

    /// An address that may not be reached from here.
    pub fn refuse(&self, url: &str) {
        lock(&self.refused).insert(url.to_owned());
    }

    pub fn posted(&self) -> Vec<Posting> {
        lock(&self.posted).clone()
    }
}

#[async_trait]
impl Outbound for StaticOutbound {
    fn check(&self, url: &str) -> Result<(), OutboundError> {
        match lock(&self.refused).contains(url) {
            true => Err(OutboundError::Refused { reason: "this address is refused".to_owned() }),
            false => Ok(()),
        }
    }

    async fn fetch_text(&self, _tenant: &Tenant, url: &str, limit_bytes: usize) -> Result<Fetched, OutboundError> {
        match lock(&self.texts).get(url) {
            None => Err(OutboundError::Status { status: 404 }),
            Some(text) if text.len() > limit_bytes => Err(OutboundError::TooLarge { limit_bytes }),
            Some(text) => Ok(Fetched { text: text.clone(), url: url.to_owned() }),
        }
    }

    async fn post(&self, _tenant: &Tenant, posting: Posting) -> Result<Posted, OutboundError> {
        let status = lock(&self.statuses).get(&posting.url).copied().unwrap_or(200);
        let body = lock(&self.bodies).get(&posting.url).cloned().unwrap_or_default().into_bytes();
        let excerpt = body.into_iter().take(posting.excerpt_bytes).collect();
        lock(&self.posted).push(posting);
        Ok(Posted { status, headers: Vec::new(), excerpt })
    }

    async fn call(&self, tenant: &Tenant, posting: Posting) -> Result<Posted, OutboundError> {
        let responder = lock(&self.responder).clone();
        match responder {
            Some(responder) => {
                lock(&self.posted).push(posting.clone());
                responder(posting).await
            }
            None => self.post(tenant, posting).await,
        }
    }
}

fn lock<Value>(mutex: &Mutex<Value>) -> std::sync::MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
