//! `wellspring serve`: the whole platform in one process.

mod background;
mod banner;
mod hosting;
mod memory;
mod process;
mod socket;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use platform::flow::{self, Flow, Worker};
use platform::manage::chores::ChoreRunner;
use platform::manage::first_start::{self, Started};
use platform::manage::keys::run_record_uses;
use platform::ports::Telemetry;
use platform::{Platform, Secret};
use server::connect::Connecting;
use server::console::Console;
use server::front;
use server::ingress::{self, Ingress, TrustedProxy};
use server::stream::{self, Streams};
use server::{ApiLimits, App, Metrics, operator_socket};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use self::background::Background;
use self::hosting::{Hosting, Starting};
use self::memory::MemoryWatch;
use crate::failure::Misuse;
use crate::logging;
use crate::settings::{DataSettings, Settings, Tuning};
use crate::wiring::assembly::{
    Secrets, lock_folder, lock_folder_to_read, make_private_folder, of_store, open_platform,
};
use crate::wiring::exporting::{self, Exporter};
use crate::wiring::network::NetworkArguments;

pub(crate) use hosting::{Ending, asked_to_stop};
pub(crate) use socket::socket_of;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the settings that count, as a file for `--config`, and end
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    options: Options,
}

/// What a server is told, by `serve` and by `dev`.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    data: DataSettings,
    #[command(flatten)]
    tuning: Tuning,
    /// The admin's API key, on the first start only; without it one is made up
    #[arg(long, env = "WELLSPRING_API_KEY", hide_env_values = true, hide = true)]
    api_key: Option<String>,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    network: NetworkArguments,
}

/// A server that listens and is not yet serving.
pub(crate) struct Server {
    pub(crate) platform: Platform,
    listener: TcpListener,
    socket: Option<(UnixListener, PathBuf)>,
    app: Arc<App>,
    worker: Worker,
    background: Background,
    hosting: Hosting,
    exporter: Option<Exporter>,
    memory: MemoryWatch,
    stop: CancellationToken,
    /// Held until the server has ended.
    _folder_lock: std::fs::File,
}

pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let settings = arguments.options.settings()?;
    if arguments.print_config {
        remote::output::line(settings.to_toml()?.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    logging::start(settings.log_format);
    let server = open(&arguments.options, &settings, true).await?;
    let stop = server.stop_token();
    server.serve_until(asked_to_stop(stop)).await?;
    Ok(ExitCode::SUCCESS)
}

/// Opens everything and prints where it is; `shows_example` says what to try first.
pub(crate) async fn open(options: &Options, settings: &Settings, shows_example: bool) -> Result<Server> {
    let proxies = settings.trusted_proxy.iter().map(|proxy| proxy.parse::<TrustedProxy>());
    let trusted_proxies = proxies.collect::<Result<Vec<_>, _>>().map_err(Misuse::of)?;
    make_private_folder(&settings.data)?;
    let is_looked_at = settings.read_only && settings.store.is_none();
    let folder_lock = if is_looked_at { lock_folder_to_read(&settings.data) } else { lock_folder(&settings.data) }?;
    let listener = listen(settings).await?;
    let address = listener.local_addr()?;
    let url = settings.public_url.clone().unwrap_or(format!("http://{address}"));
    let starting = Starting::answer(listener);
    let (recording, exporter) = settings.otlp_endpoint.as_deref().map(exporting::open).transpose()?.unzip();
    if let Some(recording) = &recording {
        exporting::own_log::export_to(recording);
    }
    let telemetry = recording.clone().map(|recording| recording as Arc<dyn Telemetry>);
    let background = Background::start().context("the runtime of background work did not start")?;
    let parts = (&*url, telemetry, Some(background.elsewhere()));
    let (platform, sandbox) = open_platform(settings, &options.secrets, &options.network, parts).await?;
    // Before the others are told of this host: a start that is refused here leaves nothing behind.
    hosting::check_durability(&platform, settings).await?;
    hosting::check_not_left_behind(&platform, settings).await?;
    hosting::check_there_is_something_to_read(&platform).await?;
    hosting::join(&platform, settings, &url).await?;
    let chosen_key = options.api_key.clone().map(Secret::new);
    let started = first_start::start(&platform, chosen_key.as_ref()).await;
    let started = started.map_err(of_store)?;
    if first_start::has_unfinished_rotation(&platform).await? {
        logging::warn("a rotation of the encryption key is unfinished\nhint: wellspring rotate-key --resume");
    }
    let flow = flow::Config { grace_ms: settings.accept_after_ms, ..hosting::flow_config(settings) };
    let (handle, worker) = Flow::new(platform.clone(), Arc::new(ChoreRunner(platform.clone())), flow);
    let wildcard_domain = settings.wildcard_domain.clone();
    let ingress =
        ingress::Config { wildcard_domain, trusted_proxies: trusted_proxies.clone(), ..ingress::Config::default() };
    let stop = CancellationToken::new();
    let streams = Arc::new(Streams::new(
        platform.clone(),
        stream::Config { streams: settings.share.get("streams"), ..stream::Config::default() },
        stop.clone(),
    ));
    let metrics = Arc::<Metrics>::default();
    let (of_flow, of_streams, hosting) = (handle.clone(), streams.clone(), handle.clone());
    let memory = MemoryWatch::new(settings.budget(), platform.clone(), sandbox.clone());
    let of_memory = memory.clone();
    metrics.show(move || of_memory.families());
    metrics.show(move || [of_flow.families(), of_streams.families(), sandbox.families(), process::families()].concat());
    metrics.show(move || recording.as_ref().map(|recording| recording.families()).unwrap_or_default());
    server::watchdog::start(metrics.clone()).context("the watchdog did not start")?;
    let app = App::new(server::Parts {
        platform: platform.clone(),
        plugins: vec![
            streams,
            Arc::new(Ingress::new(platform.clone(), handle, ingress)),
            Arc::new(Connecting::new(platform.clone(), trusted_proxies.clone())),
            Arc::new(Console),
        ],
        metrics: metrics.clone(),
        limits: ApiLimits::default(),
        trusted_proxies,
    });
    let socket = socket::open(&settings.data).await;
    let link = sign_in_link(&platform, &started, &url).await;
    let (listener, drain) = (starting.end().await?, settings.drain());
    if platform.is_read_only() {
        logging::say("read-only: what would change something is refused, and timers and deliveries wait");
    }
    // From here on what connects waits to be served: nothing is told to try again that the banner has invited.
    banner::print(&url, &started, options.api_key.is_some(), shows_example, &link);
    let hosting = Hosting { handle: hosting, drain, settings: settings.clone(), stop: stop.clone() };
    Ok(Server {
        platform,
        listener,
        socket,
        app,
        worker,
        background,
        hosting,
        exporter,
        memory,
        stop,
        _folder_lock: folder_lock,
    })
}

/// Where the console is: on the first start with a token that signs in, once. It is in the fragment of the address,
/// which browsers send to no server and write into no log.
async fn sign_in_link(platform: &Platform, started: &Started, url: &str) -> String {
    let token = match started {
        Started::First(key) => first_start::link(platform, key).await.ok(),
        Started::Again => None,
    };
    match token {
        Some(token) => format!("{url}/console/sign-in#{}   (signs in once, within 15 minutes)", token.expose()),
        None => format!("{url}/console/"),
    }
}

async fn listen(settings: &Settings) -> Result<TcpListener> {
    TcpListener::bind(settings.listen)
        .await
        .with_context(|| format!("cannot listen at {}; choose another with --listen", settings.listen))
}

/// Stores programs of an older form by package. Whatever happens, they are read as they are.
async fn convert(platform: Platform, stop: CancellationToken) {
    if platform.is_read_only() {
        return;
    }
    if let Err(error) = platform::convert_programs(&platform, &stop).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "stored programs were not converted");
    }
}

// === impl Options ===

impl Options {
    pub(crate) fn settings(&self) -> Result<Settings> {
        Ok(Settings::decide(&self.data, &self.tuning).map_err(Misuse::of)?)
    }
}

// === impl Server ===

impl Server {
    /// How this machine reaches it.
    pub(crate) fn local_url(&self) -> Result<String> {
        let mut address = self.listener.local_addr()?;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        Ok(format!("http://{address}"))
    }

    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Stops when `end` comes: first the front, so that nothing new comes in, then the worker.
    #[expect(clippy::disallowed_methods, reason = "awaited by `stop`, in the order of a shutdown")]
    pub(crate) async fn serve_until(self, end: impl Future<Output = Result<Ending>>) -> Result<()> {
        let Self { platform, listener, socket, app, worker, background, hosting, exporter, memory, stop, _folder_lock } =
            self;
        let (work_stop, export_stop) = (CancellationToken::new(), CancellationToken::new());
        let exporting = exporter.map(|exporter| tokio::spawn(exporter.run(export_stop.clone())));
        let working = background.spawn(worker.run(work_stop.clone()));
        let converting = tokio::spawn(convert(platform.clone(), work_stop.clone()));
        let watching = tokio::spawn(memory.run(work_stop.clone()));
        let recording = tokio::spawn(run_record_uses(platform.clone(), work_stop.clone()));
        let beating_stop = CancellationToken::new();
        let beating = tokio::spawn(hosting.clone().beat(platform.clone(), beating_stop.clone()));
        let watching_store = tokio::spawn(hosting.clone().watch_store(platform.clone(), work_stop.clone()));
        let ended = async {
            let ended = end.await;
            app.drain();
            if let Ok(Ending::Drain) = ended {
                hosting::wait_to_drain(hosting.drain).await;
            }
            stop.cancel();
            ended.map(drop)
        };
        let operator = async {
            if let Some((listener, path)) = socket {
                operator_socket::serve(listener, app.clone(), stop.clone()).await;
                remove(&path);
            }
        };
        let front = front::serve(listener, app.clone(), front::Config::default(), stop.clone());
        let (served, ended, ()) = tokio::join!(front, ended, operator);
        work_stop.cancel();
        working.await.context("the worker ended with a panic")?;
        // After the worker: until then other hosts count on this one.
        beating_stop.cancel();
        beating.await.context("the heartbeat ended with a panic")?;
        watching_store.await.context("the watch over the store ended with a panic")?;
        watching.await.context("the watch over memory ended with a panic")?;
        recording.await.context("recording the uses of keys ended with a panic")?;
        converting.await.context("converting stored programs ended with a panic")?;
        // After all runs: a refresh that was begun for one has an answer to store.
        platform.finish_refreshes().await;
        // Last, because all that went before may have made spans and logged.
        export_stop.cancel();
        if let Some(exporting) = exporting {
            exporting.await.context("the export of traces and logs ended with a panic")?;
        }
        served.context("the server stopped")?;
        ended
    }
}

/// A socket that is left behind is taken over by the next start.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}
