//! Assembles a platform from settings: the only file that chooses the store, keys and sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use platform::ports::{Clock, Entropy, NoRelays, StoreClock, SystemClock, SystemEntropy, Telemetry};
use platform::vault::{KeyRing, Vault};
use platform::{Platform, Programs};
use sandbox::{Elsewhere, Sandbox};
use store::postgres::{Postgres, is_address as is_postgres};
use store::redis::Redis;
use store::transfer::Server;
use store::{Options, ReadOnly, Sharing, Store};

use super::exchanging;
use super::idle::NoSandbox;
use super::linking::Linking;
use super::network::NetworkArguments;
use super::relays::OwnRelays;
use super::sandboxing::Sandboxing;
use super::sending::Sending;
use crate::settings::{Settings, without_password};

/// Secrets of the operator: from the environment, never in the file of settings.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Secrets {
    /// Keys that encrypt credentials, in base64, the current one first; without it they are in a file of the data folder
    #[arg(long, env = "WELLSPRING_ENCRYPTION_KEYS", hide_env_values = true, hide = true, global = true)]
    pub(crate) encryption_keys: Option<String>,
    /// The secret key of the object store of `$.send.s3`
    #[arg(long, env = "WELLSPRING_S3_SECRET_ACCESS_KEY", hide_env_values = true, hide = true, global = true)]
    pub(crate) s3_secret_access_key: Option<String>,
}

/// Everything in working order: what `serve` needs. With the sandbox, for its numbers.
pub(crate) async fn open_platform(
    settings: &Settings,
    secrets: &Secrets,
    network: &NetworkArguments,
    (url, telemetry, aside): (&str, Option<Arc<dyn Telemetry>>, Option<Elsewhere>),
) -> Result<(Platform, Arc<Sandboxing>)> {
    let outbound = network.open_for_server(settings, url).await?;
    let relays = Arc::new(OwnRelays::open(settings, secrets)?);
    // The store first: what is wrong with it is told at once, and not after the engine was compiled.
    let store = open_store(settings).await?;
    let clock = clock_of(&*store);
    let cache = settings.data.join("cache");
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let vault = open_vault(settings, secrets, entropy.clone())?;
    let budget = settings.budget();
    let config = sandbox::Config {
        cache_folder: Some(cache.clone()),
        cache_key: vault.derive("cache"),
        runs: settings.share.get("runs"),
        run_bytes: budget.runs(settings.share.get("run_bytes"), settings.memory_bytes as u64),
        image_bytes: settings.share.get("image_bytes"),
        held_image_bytes: budget.part("images"),
        waiting_runs: settings.share.get("waiting_runs"),
        isolation: super::isolation::of(settings),
        aside,
        ..sandbox::Config::default()
    };
    let sandbox = Sandbox::open(config).await.context("the sandbox did not start")?;
    if let Some(neighbours) = store.neighbours() {
        exchanging::begin(&sandbox, neighbours);
    }
    let sandbox = Arc::new(Sandboxing::new(sandbox, outbound.clone()));
    let platform = Platform::new(platform::Parts {
        store,
        sandbox: sandbox.clone(),
        linker: Arc::new(Linking::new(&cache, network.clone(), settings.credentials()?).within(budget)),
        outbound: Arc::new(Sending(outbound)),
        relays,
        clock,
        vault,
        entropy,
        telemetry,
        programs: Programs::with_limit(usize::try_from(budget.part("programs"))?),
        config: config_of(settings, url),
    });
    Ok((platform, sandbox))
}

/// The store and the keys alone: what an operator's command needs while no server runs.
pub(crate) async fn open_idle_platform(settings: &Settings, secrets: &Secrets) -> Result<Platform> {
    let (entropy, network): (Arc<dyn Entropy>, _) = (Arc::new(SystemEntropy), NetworkArguments::default());
    let store = open_store(settings).await?;
    Ok(Platform::new(platform::Parts {
        clock: clock_of(&*store),
        store,
        sandbox: Arc::new(NoSandbox),
        linker: Arc::new(Linking::new(&settings.data.join("cache"), network.clone(), Vec::new())),
        outbound: Arc::new(Sending(network.open()?)),
        relays: Arc::new(NoRelays),
        vault: open_vault(settings, secrets, entropy.clone())?,
        entropy,
        telemetry: None,
        programs: Programs::default(),
        config: config_of(settings, "http://localhost"),
    }))
}

pub(crate) async fn open_store(settings: &Settings) -> Result<Arc<dyn Store>> {
    let store = open_engine(settings).await?;
    let store = if settings.read_only { Arc::new(ReadOnly::new(store)) } else { store };
    // Before anything is read: what a newer version wrote is neither misread nor overwritten.
    store.settle_layout(settings.reads_layout()).await?;
    Ok(store)
}

async fn open_engine(settings: &Settings) -> Result<Arc<dyn Store>> {
    if let Some(url) = &settings.store {
        let server = open_server(url, settings.store_options()?).await?;
        if server.is_moving().await? {
            bail!("a move into this store is unfinished: run `wellspring migrate` or `restore` again first");
        }
        return Ok(match server {
            Server::Redis(redis) => Arc::from(redis as Box<dyn Store>),
            Server::Postgres(postgres) => Arc::from(postgres as Box<dyn Store>),
        });
    }
    let (path, read_only) = (store_file(settings), settings.read_only);
    // It reads and perhaps recovers a log, which may take its time. Not on a thread of the runtime: the store's threads would
    // give way as those may.
    let opening = admission::on_own_thread("store-opening", move || {
        let opened = store::embedded::Embedded::open(&path).and_then(|store| {
            if read_only {
                store.share()?;
            }
            Ok(store)
        });
        opened.with_context(|| format!("cannot use the store {}", path.display()))
    });
    Ok(Arc::new(opening.await??))
}

/// What hosts share: the address says which engine it is.
pub(crate) async fn open_server(url: &str, options: Options) -> Result<Server> {
    let opened = async {
        Ok::<_, store::Error>(if is_postgres(url) {
            Server::Postgres(Box::new(Postgres::open(url, options).await?))
        } else {
            Server::Redis(Box::new(Redis::open(url, options).await?))
        })
    };
    opened.await.with_context(|| format!("cannot use the store at {}", without_password(url)))
}

/// Hosts that share a store share its clock; the first heartbeat sets it.
fn clock_of(store: &dyn Store) -> Arc<dyn Clock> {
    match store.sharing() {
        Sharing::Alone => Arc::new(SystemClock),
        Sharing::Server | Sharing::Cluster => Arc::new(StoreClock::new()),
    }
}

pub(crate) fn store_file(settings: &Settings) -> PathBuf {
    settings.data.join("store.db")
}

pub(crate) fn key_file(settings: &Settings) -> PathBuf {
    settings.data.join("encryption.key")
}

pub(crate) fn open_vault(settings: &Settings, secrets: &Secrets, entropy: Arc<dyn Entropy>) -> Result<Vault> {
    let vault = match &secrets.encryption_keys {
        Some(keys) => KeyRing::parse(keys).map(|ring| Vault::new(ring, entropy)),
        None => Vault::open_file(&key_file(settings), entropy),
    };
    vault.context("cannot use the encryption key")
}

/// Why a store cannot be used: its secrets do not open, or something that has nothing to do with the key.
pub(crate) fn of_store(error: platform::Error) -> anyhow::Error {
    let why = match &error {
        platform::Error::Vault(_) => {
            "the store does not belong to this server: is the encryption key the one it was made with?"
        }
        _ => "the store cannot be used",
    };
    anyhow::Error::new(error).context(why)
}

/// The folder holds keys and compiled code: no other user may read or write it, whatever it was before.
pub(crate) fn make_private_folder(path: &Path) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let cannot = || format!("cannot make the data folder {}", path.display());
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(cannot)?;
    let mode = std::fs::metadata(path).with_context(cannot)?.permissions().mode();
    if mode & 0o077 != 0 {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode & 0o700))
            .with_context(|| format!("{} can be read by other users, and that cannot be changed", path.display()))?;
    }
    Ok(())
}

/// Keeps a second server off the folder, whichever store it uses: both would write its cache and its keys.
pub(crate) fn lock_folder(path: &Path) -> Result<std::fs::File> {
    let file = path.join("server.lock");
    let locked = store::lock_file(&file).with_context(|| format!("cannot lock {}", file.display()))?;
    locked.with_context(|| {
        format!("another server uses the folder {}; give this one its own with --data", path.display())
    })
}

/// For what only reads the store in the folder: as many as like, while no server writes.
pub(crate) fn lock_folder_to_read(path: &Path) -> Result<std::fs::File> {
    let file = path.join("server.lock");
    let locked = store::lock_file_with_others(&file).with_context(|| format!("cannot lock {}", file.display()))?;
    locked.with_context(|| {
        format!("a server uses the folder {}: stop it, or start it again with --read-only", path.display())
    })
}

fn config_of(settings: &Settings, url: &str) -> platform::Config {
    let (limits, mut shares, audit) = (settings.limits(), settings.share.platform(), settings.audit());
    let budget = settings.budget();
    shares.request_bytes = budget.within(shares.request_bytes, "requests");
    shares.deploys = budget.deploys(shares.deploys);
    let (wildcard_domain, default_quotas) = (settings.wildcard_domain.clone(), settings.quotas());
    platform::Config { limits, shares, audit, wildcard_domain, default_quotas, ..platform::Config::new(url) }
}

#[cfg(test)]
mod tests {
    use super::of_store;

    #[test]
    fn a_store_that_fails_is_not_blamed_on_the_key() {
        let key = of_store(platform::vault::VaultError::Damaged.into());
        let other = of_store(platform::Error::Changed);

        assert!(key.to_string().contains("encryption key"), "{key:#}");
        assert!(!format!("{other:#}").contains("key"), "{other:#}");
    }
}
