//! The port to listen at, and the way to the package registry.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use linker::Registry;
use outbound::{Request, Response};
use tokio::net::TcpListener;

use super::Finding;
use crate::wiring::network::NetworkArguments;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Signed webhooks are refused by their receivers at five minutes; well before it something is wrong.
const DRIFT_SECONDS: u64 = 30;

pub(super) async fn check_port(listen: SocketAddr) -> Finding {
    match TcpListener::bind(listen).await {
        Ok(_) => Finding::ok("port", format!("{listen} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_ours(listen).await => {
            Finding::ok("port", format!("a Wellspring server answers at {listen}"))
        }
        Err(error) => {
            Finding::fail("port", format!("cannot listen at {listen}: {error}"), "choose another with --listen")
        }
    }
}

/// Whether what listens there is one of us.
async fn is_ours(listen: SocketAddr) -> bool {
    let Ok(client) = remote::Client::new(&format!("http://{listen}"), None) else {
        return false;
    };
    matches!(tokio::time::timeout(TIMEOUT, client.server_version()).await, Ok(Some(_)))
}

/// Components without packages need no registry, so this warns and does not fail.
#[expect(clippy::disallowed_methods, reason = "measures the machine")]
pub(super) async fn check_registry(network: &NetworkArguments) -> Vec<Finding> {
    let advice = "components that use npm packages cannot be deployed; see `npm config get registry`, and proxies";
    let reading = tokio::task::spawn_blocking(|| Registry::from_npm_configuration(None)).await;
    let registry = reading.unwrap_or_else(|_| Registry::from_texts(&[], &|_| None));
    let Some(url) = registry.address().cloned() else {
        return vec![Finding::warn("registry", "npm's configuration names none", "npm config set registry <address>")];
    };
    let begun = Instant::now();
    let asked = async {
        let outbound = network.open_for_packages(&registry).map_err(|error| error.to_string())?;
        let request = Request::get(url.as_str()).map_err(|error| error.to_string())?;
        outbound.send(request).await.map_err(|error| error.to_string())
    };
    match tokio::time::timeout(TIMEOUT, asked).await {
        Ok(Ok(response)) if response.status.as_u16() < 500 => {
            let says = format!("{url} answers within {} ms", begun.elapsed().as_millis());
            vec![Finding::ok("registry", says)].into_iter().chain(drift(&response)).collect()
        }
        Ok(Ok(response)) => vec![Finding::warn("registry", format!("{url} answers {}", response.status), advice)],
        Ok(Err(error)) => vec![Finding::warn("registry", format!("{url} cannot be reached: {error}"), advice)],
        Err(_) => vec![Finding::warn("registry", format!("{url} does not answer"), advice)],
    }
}

/// How far this clock is from the other side's, when that says what time it is.
#[expect(clippy::disallowed_methods, reason = "measures the machine")]
fn drift(response: &Response) -> Option<Finding> {
    let (_, date) = response.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"))?;
    let theirs = httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()?;
    let ours = SystemTime::now();
    let apart = ours.duration_since(theirs).unwrap_or_else(|earlier| earlier.duration());
    let says = format!("{} s from the registry's", apart.as_secs());
    Some(match apart.as_secs() {
        ..=DRIFT_SECONDS => Finding::ok("clock", says),
        _ => Finding::warn("clock", says, "synchronise the clock: receivers of signed webhooks refuse wrong times"),
    })
}
