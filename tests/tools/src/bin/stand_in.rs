//! The whole API on stand-ins: no sandbox, nothing stored. For trying clients, and for fuzzing the API alone.
//!
//! `cargo run -p tools --bin stand-in -- 127.0.0.1:7718` prints the key and serves until it is interrupted. The code
//! of a component is its own description as JSON, as in `platform::fake`.

use std::sync::Arc;

use platform::fake::World;
use server::{ApiLimits, App, Metrics, Parts, front};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7718".to_owned());
    let world = World::default();
    let admin = world.admin().await;
    println!("{}", admin.presented_key.expose());
    let (platform, metrics) = (world.platform.clone(), Arc::<Metrics>::default());
    let app = App::new(Parts {
        platform,
        plugins: Vec::new(),
        metrics,
        limits: ApiLimits::default(),
        trusted_proxies: Vec::new(),
    });
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let interrupted = async move {
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
    };
    let listener = TcpListener::bind(address).await?;
    let (served, ()) = tokio::join!(front::serve(listener, app, front::Config::default(), shutdown), interrupted);
    served
}
