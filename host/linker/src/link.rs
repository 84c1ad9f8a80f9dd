//! The linker: from a component's source to its table of modules, stage by stage.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::{
    acquire::{self, Acquired, PackageRequest},
    config::Config,
    entry::{Entry, OwnFiles},
    error::LinkError,
    fetch::Fetch,
    graph::{self, Survey, Table, Terms},
    linked::{Dependency, Linked, Warning},
    manifest::OwnManifest,
    modules::stack,
    progress::{Progress, ProgressFn},
    registry::{Client, Spec},
    requirements::Requirements,
    tree::Plan,
    volume::Volume,
};

/// Cheap to clone; clones share the cache and the number of links under way.
#[derive(Clone)]
pub struct Linker {
    config: Arc<Config>,
    client: Client,
    permits: Arc<Semaphore>,
    tenant: Arc<str>,
}

/// Tells the linking thread that its caller was cancelled.
struct CancelOnDrop(Arc<AtomicBool>);

// === impl Linker ===

impl Linker {
    pub fn new(config: Config, fetch: Arc<dyn Fetch>) -> Self {
        let permits = Arc::new(Semaphore::new(config.max_concurrent_links.max(1)));
        let config = Arc::new(config);
        Self { client: Client::new(Arc::clone(&config), fetch), config, permits, tenant: "".into() }
    }

    /// What links keep in memory at the moment, and what they may keep.
    pub fn memory_bytes(&self) -> (u64, u64) {
        (self.client.link_bytes(), self.config.link_bytes)
    }

    /// For the components of a tenant: decides which credentials are used.
    #[must_use]
    pub fn of_tenant(&self, tenant: &str) -> Self {
        Self { tenant: tenant.into(), ..self.clone() }
    }

    /// Resolves the component's packages as of now, and links.
    pub fn link<'a>(&'a self, entry: &'a Entry, progress: ProgressFn<'a>) -> BoxFuture<'a, Result<Linked, LinkError>> {
        Box::pin(async move {
            let job = self.begin(entry).await?;
            let plan = self.plan(&job, progress).await?;
            let wishes = wishes_of(&plan);
            self.complete(job, wishes, plan.warnings, progress).await
        })
    }

    /// Chooses versions and places, without downloading or linking.
    pub async fn resolve(&self, entry: &Entry, progress: ProgressFn<'_>) -> Result<Vec<Dependency>, LinkError> {
        let job = self.begin(entry).await?;
        let plan = self.plan(&job, progress).await?;
        Ok(wishes_of(&plan).into_iter().map(|wish| wish.dependency).collect())
    }

    async fn plan(&self, job: &Job, progress: ProgressFn<'_>) -> Result<Plan, LinkError> {
        let plan = acquire::resolve(&job.client, &self.config, (&job.requirements, &job.manifest), progress).await;
        let plan = plan.map_err(|error| job.survey.locate(error))?;
        job.manifest.check(&plan)?;
        Ok(plan)
    }

    /// Links with exactly the packages of an earlier link. Fails if the component asks for others.
    pub async fn relink(
        &self,
        entry: &Entry,
        lock: &[Dependency],
        progress: ProgressFn<'_>,
    ) -> Result<Linked, LinkError> {
        let job = self.begin(entry).await?;
        for (folder, range) in &job.requirements.required {
            let location = format!("node_modules/{folder}");
            let spec = Spec::parse(folder, range);
            let covers = |dependency: &Dependency| {
                let fits = |spec: &Spec| spec.fits(&dependency.name, &dependency.version);
                dependency.location == location && spec.as_ref().is_some_and(fits)
            };
            if !lock.iter().any(covers) {
                return Err(LinkError::LockOutdated { name: folder.clone(), range: range.clone() });
            }
        }
        let wish = |dependency: &Dependency| PackageRequest {
            dependency: dependency.clone(),
            tarball: None,
            is_optional: false,
        };
        self.complete(job, lock.iter().map(wish).collect(), Vec::new(), progress).await
    }

    async fn begin(&self, entry: &Entry) -> Result<Job, LinkError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| LinkError::Interrupted)?;
        let own = Arc::new(entry.lay_out()?);
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let terms = Terms {
            es_modules: self.config.es_modules,
            limits: self.config.limits.clone(),
            is_cancelled: Arc::clone(&is_cancelled),
        };
        let (terms, files) = (Arc::new(terms), Arc::clone(&own));
        let shared = Arc::clone(&terms);
        let survey = stack::run(move || graph::survey(&shared, &files)).await??;
        let manifest = OwnManifest::find(&own)?;
        let requirements = Requirements::new(&survey.requests, &manifest);
        let client = self.client.for_link(&self.tenant);
        Ok(Job {
            client,
            own,
            survey,
            manifest,
            requirements,
            terms,
            _permit: permit,
            _cancel: CancelOnDrop(is_cancelled),
        })
    }

    async fn complete(
        &self,
        job: Job,
        wishes: Vec<PackageRequest>,
        warnings: Vec<Warning>,
        progress: ProgressFn<'_>,
    ) -> Result<Linked, LinkError> {
        let acquired = acquire::download(&job.client, &wishes, progress).await?;
        let mut warnings: BTreeSet<Warning> = warnings.into_iter().chain(acquired.warnings.iter().cloned()).collect();
        let entry = job.own.entry.clone();
        // Before it happens: what is parsed and rewritten of the packages takes about as much again.
        let text_bytes = job.client.room().reserve_waiting(acquired.size_bytes()).await?;
        let table = job.walk(acquired, progress).await;
        drop(text_bytes);
        let table = table?;
        warnings.extend(table.warnings);
        progress(Progress::Done { packages: wishes.len(), modules: table.modules.len() });
        Ok(Linked {
            entry,
            modules: table.modules,
            dependencies: wishes.into_iter().map(|wish| wish.dependency).collect(),
            warnings: warnings.into_iter().collect(),
        })
    }
}

/// A link under way, with the component's own files looked through.
struct Job {
    client: Client,
    own: Arc<OwnFiles>,
    survey: Survey,
    manifest: OwnManifest,
    requirements: Requirements,
    terms: Arc<Terms>,
    _permit: tokio::sync::OwnedSemaphorePermit,
    _cancel: CancelOnDrop,
}

// === impl Job ===

impl Job {
    async fn walk(self, acquired: Acquired, progress: ProgressFn<'_>) -> Result<Table, LinkError> {
        let count = Arc::new(AtomicUsize::new(0));
        // The client has the link's room: it is given back when the walk is over.
        let Self { client: _client, own, survey, manifest: _, requirements, terms, _permit, _cancel } = self;
        let shared = Arc::clone(&count);
        progress(Progress::Linking { modules: 0 });
        let table = stack::run(move || {
            let volume = Volume::new(&own.files, &acquired.packages);
            let report = |modules| shared.store(modules, Ordering::Relaxed);
            graph::walk(&terms, &own.entry, volume, &requirements, survey.parsed, &report)
        });
        let table = table.await?;
        progress(Progress::Linking { modules: count.load(Ordering::Relaxed) });
        table
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn wishes_of(plan: &Plan) -> Vec<PackageRequest> {
    let wish = |package: &crate::tree::PlannedPackage| PackageRequest {
        dependency: Dependency {
            location: package.location.clone(),
            name: package.manifest.name.clone(),
            version: package.manifest.version.clone(),
            range: package.range.clone(),
            integrity: package.manifest.integrity(),
            from: package.from.clone(),
            is_skipped: package.is_skipped,
        },
        tarball: Some(package.manifest.dist.tarball.clone()),
        is_optional: package.is_optional,
    };
    plan.packages.iter().map(wish).collect()
}

#[cfg(test)]
mod tests;
