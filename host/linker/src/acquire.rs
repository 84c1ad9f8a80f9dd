//! Gets what a component needs: packuments until a tree can be planned, then the packages in it.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use futures_util::{FutureExt, StreamExt, stream, stream::FuturesUnordered};

use crate::{
    config::Config,
    error::{LimitKind, LinkError},
    linked::{Dependency, Warning},
    manifest::OwnManifest,
    progress::{Progress, ProgressFn},
    registry::{Client, Files, Packument, Spec, size_of},
    requirements::Requirements,
    tree::{Packuments, Plan, Planned, edge_specs, plan},
};

/// Requests to the registry at a time.
const CONCURRENCY: usize = 8;

/// By location.
pub(crate) type Packages = BTreeMap<String, Arc<Files>>;

/// Chooses versions and places for everything the component asks for.
pub(crate) async fn resolve(
    client: &Client,
    config: &Config,
    (requirements, manifest): (&Requirements, &OwnManifest),
    progress: ProgressFn<'_>,
) -> Result<Plan, LinkError> {
    let mut crawl = Crawl {
        config,
        manifest,
        packuments: Packuments::new(),
        waiting: HashMap::new(),
        seen: HashSet::new(),
        queue: VecDeque::new(),
    };
    requirements.all().for_each(|(folder, text)| crawl.want(folder, text));
    loop {
        crawl.run(client, progress).await?;
        let (packuments, planned) =
            plan_off_thread(client, std::mem::take(&mut crawl.packuments), requirements, config).await?;
        crawl.packuments = packuments;
        match planned? {
            Planned::Done(plan) => return Ok(plan),
            Planned::Need(names) => crawl.queue.extend(names),
        }
    }
}

/// Large trees take a while, and the threads that serve requests should not.
async fn plan_off_thread(
    client: &Client,
    packuments: Packuments,
    requirements: &Requirements,
    config: &Config,
) -> Result<(Packuments, Result<Planned, LinkError>), LinkError> {
    let (requirements, node_version) = (requirements.clone(), config.node_version.clone());
    let package_limit = config.limits.package_count;
    let planning = client.off_thread(move || {
        let planned = plan(&requirements, &packuments, &node_version, package_limit);
        (packuments, planned)
    });
    planning.await
}

/// Follows every dependency to every version it may mean, ahead of the plan: the plan can then be made
/// in one go, and the registry is asked for many things at a time.
struct Crawl<'c> {
    config: &'c Config,
    manifest: &'c OwnManifest,
    packuments: Packuments,
    /// From a package to what is wanted of it.
    waiting: HashMap<String, Vec<Spec>>,
    seen: HashSet<(String, String)>,
    queue: VecDeque<String>,
}

// === impl Crawl ===

impl Crawl<'_> {
    fn want(&mut self, name: &str, text: &str) {
        // What does not come from the registry is the plan's to refuse.
        let Some(spec) = Spec::parse(name, text) else { return };
        if !self.seen.insert((name.to_owned(), text.to_owned())) {
            return;
        }
        if let Some(packument) = self.packuments.get(&spec.package).cloned() {
            self.follow(&spec, packument.as_deref());
            return;
        }
        let waiting = self.waiting.entry(spec.package.clone()).or_default();
        if waiting.is_empty() {
            self.queue.push_back(spec.package.clone());
        }
        waiting.push(spec);
    }

    fn follow(&mut self, spec: &Spec, packument: Option<&Packument>) {
        let manifest = packument.and_then(|packument| spec.wanted.pick(packument, &self.config.node_version));
        for (name, text) in manifest.iter().flat_map(|manifest| edge_specs(manifest)) {
            self.want(&name, &text);
        }
    }

    async fn run(&mut self, client: &Client, progress: ProgressFn<'_>) -> Result<(), LinkError> {
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < CONCURRENCY
                && let Some(name) = self.queue.pop_front()
            {
                running.push(async move { (client.packument(&name).await, name) });
            }
            let Some((packument, name)) = running.next().await else { return Ok(()) };
            let packument = packument?.map(|packument| Arc::new(packument.preferring(self.manifest.locked(&name))));
            self.packuments.insert(name.clone(), packument.clone());
            if self.packuments.len() > self.config.limits.package_count {
                let limit = self.config.limits.package_count as u64;
                let subject = "the component's tree of packages".to_owned();
                return Err(LinkError::OverLimit { kind: LimitKind::Packages, subject, limit });
            }
            for spec in self.waiting.remove(&name).unwrap_or_default() {
                self.follow(&spec, packument.as_deref());
            }
            progress(Progress::Resolving { packages: self.packuments.len() });
        }
    }
}

/// A package to get. `tarball` is unknown for what comes from a lock, until it turns out to be needed.
pub(crate) struct PackageRequest {
    pub(crate) dependency: Dependency,
    pub(crate) tarball: Option<String>,
    pub(crate) is_optional: bool,
}

pub(crate) struct Acquired {
    pub(crate) packages: Packages,
    pub(crate) warnings: Vec<Warning>,
}

// === impl Acquired ===

impl Acquired {
    /// Of the files, each package once.
    pub(crate) fn size_bytes(&self) -> u64 {
        let mut seen = HashSet::new();
        let distinct = self.packages.values().filter(|files| seen.insert(Arc::as_ptr(files)));
        distinct.map(|files| size_of(files)).sum()
    }
}

pub(crate) async fn download(
    client: &Client,
    wishes: &[PackageRequest],
    progress: ProgressFn<'_>,
) -> Result<Acquired, LinkError> {
    let wanted: Vec<&PackageRequest> = wishes.iter().filter(|wish| !wish.dependency.is_skipped).collect();
    // The same package may lie in several places.
    let mut places: BTreeMap<&str, Vec<&PackageRequest>> = BTreeMap::new();
    wanted.iter().for_each(|wish| places.entry(&wish.dependency.integrity).or_default().push(wish));
    let of = places.len();
    let mut acquired = Acquired { packages: Packages::new(), warnings: Vec::new() };
    let (mut bytes, mut count) = (0, 0);
    // Boxed at once: the compiler does not see that a stream which makes futures of borrowed wishes is `Send`, and a link
    // is spawned.
    let mut pending = Vec::with_capacity(of);
    for wishes in places.into_values() {
        pending.push(async move { (deliver(client, &wishes).await, wishes) }.boxed());
    }
    let mut deliveries = stream::iter(pending).buffer_unordered(CONCURRENCY);
    while let Some((delivery, wishes)) = deliveries.next().await {
        count += 1;
        match delivery {
            Ok((files, downloaded_bytes)) => {
                bytes += downloaded_bytes;
                let files = Arc::new(files);
                let locations = wishes.iter().map(|wish| (wish.dependency.location.clone(), Arc::clone(&files)));
                acquired.packages.extend(locations);
            }
            Err(_) if wishes.iter().all(|wish| wish.is_optional) => {
                acquired.warnings.extend(wishes.iter().map(|wish| skipped(wish)));
            }
            Err(error) => return Err(error),
        }
        progress(Progress::Downloading { packages: count, of, bytes });
    }
    Ok(acquired)
}

fn skipped(wish: &PackageRequest) -> Warning {
    let dependency = &wish.dependency;
    Warning::OptionalDependency {
        name: dependency.name.clone(),
        range: dependency.range.clone(),
        from: dependency.from.clone(),
    }
}

async fn deliver(client: &Client, wishes: &[&PackageRequest]) -> Result<(Files, u64), LinkError> {
    let Some(wish) = wishes.first() else { return Err(LinkError::Interrupted) };
    let Dependency { name, version, integrity, .. } = &wish.dependency;
    if let Some(files) = client.cached_package(name, integrity).await? {
        return Ok((files, 0));
    }
    let tarball = match &wish.tarball {
        Some(tarball) => tarball.clone(),
        None => find_tarball(client, &wish.dependency).await?,
    };
    let delivery = client.package(&format!("{name}@{version}"), &tarball, integrity).await?;
    Ok((delivery.files, delivery.downloaded_bytes))
}

async fn find_tarball(client: &Client, dependency: &Dependency) -> Result<String, LinkError> {
    let Dependency { name, version, .. } = dependency;
    let from = "the lock".to_owned();
    let packument = client.packument(name).await?;
    let packument = packument.ok_or_else(|| LinkError::PackageNotFound { name: name.clone(), from: from.clone() })?;
    let manifest = packument.manifest(version);
    let manifest = manifest.ok_or_else(|| LinkError::VersionNotFound {
        name: name.clone(),
        wanted: version.clone(),
        from,
        close: Vec::new(),
    })?;
    Ok(manifest.dist.tarball.clone())
}
