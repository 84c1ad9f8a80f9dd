//! `wellspring serve`: the whole platform in one process.

mod banner;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use platform::flow::{Flow, Worker};
use platform::manage::first_start;
use platform::ports::{Entropy, SystemClock, SystemEntropy};
use platform::vault::{KeyRing, Vault};
use platform::{Platform, Programs, Secret};
use sandbox::Sandbox;
use server::front;
use server::ingress::{self, Ingress};
use server::stream::{self, Streams};
use server::{ApiLimits, App, Metrics};
use store::Store;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::wiring::linking::Linking;
use crate::wiring::network::NetworkArguments;
use crate::wiring::sandboxing::Sandboxing;
use crate::wiring::sending::Sending;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where to listen. Port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7717", env = "WELLSPRING_LISTEN")]
    listen: SocketAddr,
    /// The folder everything is kept in; made if it is not there
    #[arg(long, value_name = "FOLDER", default_value = ".wellspring", env = "WELLSPRING_DATA")]
    data: PathBuf,
    /// Keep what tenants own in Redis instead: `redis://host:port/db`, or `redis+cluster://host:port,host:port`
    #[arg(long, value_name = "URL", env = "WELLSPRING_STORE")]
    store: Option<String>,
    /// What clients reach this server at, when that is not where it listens
    #[arg(long, value_name = "URL", env = "WELLSPRING_PUBLIC_URL")]
    public_url: Option<String>,
    /// Endpoints of sources are also found at `<key>.<DOMAIN>`
    #[arg(long, value_name = "DOMAIN", env = "WELLSPRING_WILDCARD_DOMAIN")]
    wildcard_domain: Option<String>,
    /// The admin's API key, on the first start only; without it one is made up
    #[arg(long, env = "WELLSPRING_API_KEY", hide_env_values = true, hide = true)]
    api_key: Option<String>,
    /// Keys that encrypt credentials, in base64, the current one first; without it they are in a file of the data folder
    #[arg(long, env = "WELLSPRING_ENCRYPTION_KEYS", hide_env_values = true, hide = true)]
    encryption_keys: Option<String>,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    make_private_folder(&arguments.data)?;
    let listener = TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("cannot listen at {}; choose another with --listen", arguments.listen))?;
    let url = arguments.public_url.clone().unwrap_or(format!("http://{}", listener.local_addr()?));
    let platform = open_platform(&arguments, &url).await?;
    let chosen_key = arguments.api_key.clone().map(Secret::new);
    let started = first_start::start(&platform, chosen_key.as_ref())
        .await
        .context("the data folder does not belong to this server: is the encryption key the one it was made with?")?;
    let (handle, worker) = Flow::new(platform.clone(), platform::flow::Config::default());
    let ingress = ingress::Config { wildcard_domain: arguments.wildcard_domain.clone(), ..ingress::Config::default() };
    let front_stop = CancellationToken::new();
    let streams = Streams::new(platform.clone(), stream::Config::default(), front_stop.clone());
    let app = App::new(server::Parts {
        platform: platform.clone(),
        plugins: vec![Arc::new(streams), Arc::new(Ingress::new(platform, handle, ingress))],
        metrics: Arc::new(Metrics::default()),
        limits: ApiLimits::default(),
    });
    banner::print(&url, &started);
    serve_until_asked_to_stop(listener, app, worker, front_stop).await?;
    Ok(ExitCode::SUCCESS)
}

/// Stops on Ctrl-C or SIGTERM: first the front, so that nothing new comes in, then the worker.
async fn serve_until_asked_to_stop(
    listener: TcpListener,
    app: Arc<App>,
    worker: Worker,
    front_stop: CancellationToken,
) -> Result<()> {
    let work_stop = CancellationToken::new();
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let stopper = front_stop.clone();
    let signals = async move {
        // Either is enough; both are cancel-safe.
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        eprintln!("stopping; what is under way is finished first");
        stopper.cancel();
    };
    let working = tokio::spawn(worker.run(work_stop.clone()));
    let (served, ()) = tokio::join!(front::serve(listener, app, front::Config::default(), front_stop), signals);
    work_stop.cancel();
    working.await.context("the worker ended with a panic")?;
    served.context("the server stopped")
}

async fn open_platform(arguments: &Arguments, url: &str) -> Result<Platform> {
    let outbound = arguments.network.open()?;
    let cache = arguments.data.join("cache");
    let config = sandbox::Config { cache_folder: Some(cache.clone()), ..sandbox::Config::default() };
    let sandbox = Sandbox::open(config).await.context("the sandbox did not start")?;
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    Ok(Platform::new(platform::Parts {
        store: open_store(arguments).await?,
        sandbox: Arc::new(Sandboxing::new(sandbox, outbound.clone())),
        linker: Arc::new(Linking::new(&cache, arguments.network.open_for_packages()?)),
        outbound: Arc::new(Sending(outbound)),
        clock: Arc::new(SystemClock),
        vault: Vault::new(open_keys(arguments, &*entropy)?, entropy.clone()),
        entropy,
        programs: Programs::default(),
        config: platform::Config::new(url),
    }))
}

async fn open_store(arguments: &Arguments) -> Result<Arc<dyn Store>> {
    if let Some(url) = &arguments.store {
        let redis = store::redis::Redis::connect(url, "wellspring").await;
        return Ok(Arc::new(redis.context("cannot use the Redis given with --store")?));
    }
    let path = arguments.data.join("store.db");
    let embedded = store::embedded::Embedded::open(&path);
    Ok(Arc::new(embedded.with_context(|| format!("cannot use the store {}", path.display()))?))
}

fn open_keys(arguments: &Arguments, entropy: &dyn Entropy) -> Result<KeyRing> {
    let ring = match &arguments.encryption_keys {
        Some(keys) => KeyRing::parse(keys),
        None => KeyRing::open_file(&arguments.data.join("encryption.key"), entropy),
    };
    ring.context("cannot use the encryption key")
}

/// The folder holds keys and compiled code: nobody else may read or write it.
fn make_private_folder(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot make the data folder {}", path.display()))
}
