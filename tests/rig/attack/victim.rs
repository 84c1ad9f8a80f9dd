//! A tenant that only wants its requests answered.

use std::time::{Duration, Instant};

use serde_json::json;

use super::machine::{Place, on_another};
use crate::client::Client;

/// Requests at the same time: a modest tenant.
const AT_ONCE: usize = 2;

pub(super) struct Timed {
    pub(super) count: usize,
    pub(super) failures: usize,
    pub(super) p99_ms: f64,
}

pub(super) async fn time(endpoint: &str, time: Duration) -> Timed {
    let endpoint = endpoint.to_owned();
    on_another(Place::First, move || async move { requests(&Client::new("", ""), &endpoint, time).await }).await
}

async fn requests(client: &Client, endpoint: &str, time: Duration) -> Timed {
    let until = Instant::now() + time;
    let one = || async {
        let (mut times, mut failures) = (Vec::new(), 0);
        while Instant::now() < until {
            let begun = Instant::now();
            let answered = client.trigger(endpoint, &json!({"n": times.len()})).await;
            times.push(begun.elapsed());
            failures += usize::from(!answered.is_ok_and(|reply| reply.status == 200));
        }
        (times, failures)
    };
    let all = futures_util::future::join_all((0..AT_ONCE).map(|_| one())).await;
    let failures = all.iter().map(|(_, failures)| failures).sum();
    let mut times: Vec<Duration> = all.into_iter().flat_map(|(times, _)| times).collect();
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).or(times.last()).copied().unwrap_or_default();
    Timed { count: times.len(), failures, p99_ms: p99.as_secs_f64() * 1000.0 }
}
