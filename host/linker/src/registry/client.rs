//! Asks the registry: packuments (with ETag and a cache) and tarballs (with integrity and a cache),
//! each with retries.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::{archive, cache::Cache, integrity, packument::Packument, substitutes};
use crate::{
    config::{Config, Limits},
    error::{LimitKind, LinkError},
    fetch::{Fetch, FetchError, FetchResponse},
    memory::{Budget, LinkBudget, Memory, NoRoom, Reserved, Room},
    registry::{Files, Registry},
    workers::Workers,
};

/// The form without readmes and the like, a tenth of the size; the rest is for registries that have
/// only the full one.
const ACCEPT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*";

/// Before the second and third try. Registries in trouble recover in seconds or not at all.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// Bodies up to this take a sixteenth of the default budget, so that sixteen are under way at a time.
const SMALL_BYTES: u64 = 16 << 20;

#[derive(Clone)]
pub(crate) struct Client {
    fetch: Arc<dyn Fetch>,
    config: Arc<Config>,
    cache: Cache,
    budget: Budget,
    links: LinkBudget,
    workers: Arc<Workers>,
    /// The tenant that links.
    tenant: Arc<str>,
    memory: Arc<LinkMemory>,
}

/// The memory budgets of one link.
struct LinkMemory {
    packuments: Memory,
    files: Memory,
    room: Arc<Room>,
}

/// A package's files, and how many bytes came over the network for them.
pub(crate) struct Delivery {
    pub(crate) files: Files,
    pub(crate) downloaded_bytes: u64,
}

// === impl Client ===

impl Client {
    pub(crate) fn new(config: Arc<Config>, fetch: Arc<dyn Fetch>) -> Self {
        let cache = Cache::new(config.cache_folder.clone(), config.cache_bytes);
        let budget = Budget::new(config.transfer_bytes);
        let links = LinkBudget::new(config.link_bytes, config.max_concurrent_links);
        let memory = Arc::new(LinkMemory::new(&config.limits, &links));
        let workers = Arc::new(Workers::new());
        Self { fetch, config, cache, budget, links, workers, tenant: "".into(), memory }
    }

    /// For one link of a tenant, with nothing taken yet.
    pub(crate) fn for_link(&self, tenant: &Arc<str>) -> Self {
        let memory = Arc::new(LinkMemory::new(&self.config.limits, &self.links));
        Self { tenant: tenant.clone(), memory, ..self.clone() }
    }

    /// The room of the link that this client is for.
    pub(crate) fn room(&self) -> &Arc<Room> {
        &self.memory.room
    }

    /// What all links keep at the moment.
    pub(crate) fn link_bytes(&self) -> u64 {
        self.links.used()
    }

    /// Whether the operator's credentials are used for a package. What they open is cached apart, so that the cache
    /// gives nothing to tenants who may not use them.
    fn may_authenticate(&self, package: &str) -> bool {
        self.config.credentials.iter().any(|rule| rule.allows(&self.tenant, package))
    }

    fn cache_key(&self, package: &str, key: &str) -> String {
        if self.may_authenticate(package) { format!("authenticated {key}") } else { key.to_owned() }
    }

    /// `None` when the registry knows no such package.
    pub(crate) async fn packument(&self, name: &str) -> Result<Option<Packument>, LinkError> {
        if let Some(packument) = substitutes::packument(name) {
            return Ok(Some(packument));
        }
        let url = self.registry().packument_url(name).ok_or_else(|| unconfigured(name))?;
        let key = self.cache_key(name, url.as_str());
        let (cache, cached_key, fresh_for) = (self.cache.clone(), key.clone(), self.config.packument_fresh_for);
        let cached = self.off_thread(move || {
            let cached = cache.packument(&cached_key)?;
            let packument = if cached.age < fresh_for { Packument::parse(&cached.body) } else { None };
            Some((cached, packument))
        });
        let cached = match cached.await? {
            Some((cached, Some(packument))) => {
                self.keep_packument(cached.body.len() as u64).await?;
                return Ok(Some(packument));
            }
            cached => cached.map(|(cached, _)| cached),
        };
        let mut headers = vec![("accept".to_owned(), ACCEPT.to_owned())];
        if let Some(cached) = cached.as_ref().filter(|cached| !cached.etag.is_empty()) {
            headers.push(("if-none-match".to_owned(), cached.etag.clone()));
        }
        let limit = (LimitKind::PackumentBytes, self.config.limits.packument_bytes);
        let (response, reserved) = self.transfer(&url, headers, (name, name), limit).await?;
        let (body, etag) = match (response.status, cached) {
            (404, _) => return Ok(None),
            (304, Some(cached)) => (cached.body, cached.etag),
            (200, _) => (response.body.clone(), response.header("etag").unwrap_or_default().to_owned()),
            (status, _) => return Err(LinkError::RegistryStatus { url: shown(&url), status }),
        };
        let size_bytes = body.len() as u64;
        let cache = self.cache.clone();
        let packument = self.off_thread(move || {
            // Also after a 304: the file's time says when it was last known to be current.
            Packument::parse(&body).inspect(|_| cache.keep_packument(&key, &etag, &body))
        });
        let packument = packument.await?;
        // Before the link's room, for which this may have to wait.
        drop(reserved);
        self.keep_packument(size_bytes).await?;
        packument.map(Some).ok_or_else(|| LinkError::RegistryAnswer { url: shown(&url) })
    }

    async fn keep_packument(&self, bytes: u64) -> Result<(), LinkError> {
        self.memory.packuments.take(bytes)?;
        self.room().reserve_waiting(bytes).await?.keep(bytes).map_err(NoRoom::into_error)
    }

    /// Without asking the registry.
    pub(crate) async fn cached_package(&self, name: &str, integrity: &str) -> Result<Option<Files>, LinkError> {
        if let Some(files) = substitutes::files(integrity) {
            return Ok(Some(files));
        }
        let (cache, key, memory) = (self.cache.clone(), self.cache_key(name, integrity), self.memory.clone());
        let Some(size_bytes) = cache.package_bytes(&key) else { return Ok(None) };
        let reserved = self.room().reserve_waiting(size_bytes).await?;
        let read = self.off_thread(move || {
            let mut taken = memory.files.begin();
            taken.take(size_bytes)?;
            let files = cache.package(&key);
            let kept_bytes = files.as_ref().map_or(0, archive::size_of);
            taken.keep(kept_bytes);
            reserved.keep(kept_bytes).map_err(NoRoom::into_error)?;
            Ok(files)
        });
        read.await?
    }

    /// `package` is `name@version`, for messages.
    pub(crate) async fn package(
        &self,
        package: &str,
        tarball: &str,
        integrity_text: &str,
    ) -> Result<Delivery, LinkError> {
        if let Some(files) = self.cached_package(name_of(package), integrity_text).await? {
            return Ok(Delivery { files, downloaded_bytes: 0 });
        }
        let (bytes, reserved, mut room) = self.tarball_with_room(package, tarball, integrity_text).await?;
        let downloaded_bytes = bytes.len() as u64;
        let (cache, limits, memory) = (self.cache.clone(), self.config.limits.clone(), self.memory.clone());
        let key = self.cache_key(name_of(package), integrity_text);
        let package = package.to_owned();
        let unpacked = self.off_thread(move || {
            let mut cover = |bytes| room.cover(bytes).map_err(NoRoom::into_error);
            let files = archive::unpack(&package, &bytes, &limits, &memory.files, &mut cover)?;
            room.keep(archive::size_of(&files)).map_err(NoRoom::into_error)?;
            cache.keep_package(&key, &files);
            Ok(files)
        });
        let files = unpacked.await??;
        drop(reserved);
        Ok(Delivery { files, downloaded_bytes })
    }

    /// With room for what is in it. A link that has to wait for that does not keep the download, because the link that has
    /// the room may need the transfer budget to end.
    async fn tarball_with_room(
        &self,
        package: &str,
        tarball: &str,
        integrity_text: &str,
    ) -> Result<(Bytes, OwnedSemaphorePermit, Reserved), LinkError> {
        let (bytes, transfer) = self.tarball(package, tarball, integrity_text).await?;
        let stated = |bytes: &Bytes| archive::stated_bytes(bytes).min(self.config.limits.unpacked_bytes);
        match self.room().reserve(stated(&bytes)) {
            Ok(room) => return Ok((bytes, transfer, room)),
            Err(error @ NoRoom::Never { .. }) => return Err(error.into_error()),
            Err(NoRoom::BeyondShare) => drop((bytes, transfer)),
        }
        self.room().enlarge().await?;
        let (bytes, transfer) = self.tarball(package, tarball, integrity_text).await?;
        let room = self.room().reserve(stated(&bytes)).map_err(NoRoom::into_error)?;
        Ok((bytes, transfer, room))
    }

    /// A damaged download is tried once more: it may have been cut off on the way.
    async fn tarball(
        &self,
        package: &str,
        address: &str,
        integrity_text: &str,
    ) -> Result<(Bytes, OwnedSemaphorePermit), LinkError> {
        let name = name_of(package);
        let answer = || LinkError::RegistryAnswer { url: address.to_owned() };
        let url = self.registry().tarball_url(name, address).ok_or_else(answer)?;
        if !self.registry().is_own(&url) {
            let host = url.host_str().unwrap_or_default().to_owned();
            return Err(LinkError::ForeignTarball { package: package.to_owned(), host });
        }
        let limit = (LimitKind::TarballBytes, self.config.limits.tarball_bytes);
        for _ in 0..2 {
            let (response, reserved) = self.transfer(&url, Vec::new(), (name, package), limit).await?;
            if response.status != 200 {
                return Err(LinkError::RegistryStatus { url: shown(&url), status: response.status });
            }
            let (body, text) = (response.body.clone(), integrity_text.to_owned());
            if self.off_thread(move || integrity::is_met(&text, &body)).await? {
                return Ok((response.body, reserved));
            }
        }
        Err(LinkError::IntegrityMismatch { package: package.to_owned(), wanted: integrity_text.to_owned() })
    }

    /// Most bodies are small: a small part of the budget is enough for them, and a large one is asked for again when
    /// there is room for it.
    async fn transfer(
        &self,
        url: &Url,
        mut headers: Vec<(String, String)>,
        (name, subject): (&str, &str),
        (kind, limit): (LimitKind, u64),
    ) -> Result<(FetchResponse, OwnedSemaphorePermit), LinkError> {
        if let Some(value) = self.registry().authorization(url).filter(|_| self.may_authenticate(name)) {
            headers.push(("authorization".to_owned(), value.to_owned()));
        }
        let small = SMALL_BYTES.min(limit);
        let reserved = self.budget.reserve(small).await?;
        match self.get(url, &headers, subject, (kind, small)).await {
            Err(LinkError::OverLimit { .. }) if small < limit => drop(reserved),
            answered => return answered.map(|response| (response, reserved)),
        }
        let reserved = self.budget.reserve(limit).await?;
        let response = self.get(url, &headers, subject, (kind, limit)).await?;
        Ok((response, reserved))
    }

    #[expect(clippy::disallowed_methods, reason = "back-off between attempts at the registry; tests pause the runtime")]
    async fn get(
        &self,
        url: &Url,
        headers: &[(String, String)],
        subject: &str,
        (kind, limit): (LimitKind, u64),
    ) -> Result<FetchResponse, LinkError> {
        let mut pauses = BACK_OFF.iter();
        loop {
            let outcome = self.fetch.get(url.as_str(), headers, limit).await;
            let is_passing = match &outcome {
                Ok(response) => response.status >= 500 || matches!(response.status, 408 | 429),
                Err(error) => matches!(error, FetchError::Unreachable { .. }),
            };
            if is_passing && let Some(pause) = pauses.next() {
                tokio::time::sleep(*pause).await;
                continue;
            }
            return outcome.map_err(|cause| match cause {
                FetchError::TooLarge { .. } => LinkError::OverLimit { kind, subject: subject.to_owned(), limit },
                cause => LinkError::RegistryUnreachable { url: shown(url), cause },
            });
        }
    }

    fn registry(&self) -> &Registry {
        &self.config.registry
    }

    pub(crate) async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LinkError> {
        self.workers.run(work).await
    }
}

/// Of `name@version`.
fn name_of(package: &str) -> &str {
    package.rsplit_once('@').map_or(package, |(name, _)| name)
}

// === impl LinkMemory ===

impl LinkMemory {
    fn new(limits: &Limits, links: &LinkBudget) -> Self {
        Self {
            room: links.room(),
            packuments: Memory::new(LimitKind::PackumentsBytes, limits.packuments_bytes),
            files: Memory::new(LimitKind::TotalBytes, limits.total_bytes),
        }
    }
}

/// For messages: no credentials and no query.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn unconfigured(name: &str) -> LinkError {
    let cause = "no npm registry is configured: set NPM_CONFIG_REGISTRY, write a .npmrc, or install npm".to_owned();
    LinkError::RegistryUnreachable { url: name.to_owned(), cause: FetchError::Refused { cause } }
}

#[cfg(test)]
mod tests;
