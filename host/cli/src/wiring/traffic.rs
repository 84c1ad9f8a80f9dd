//! The requests of one run, counted as they pass.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::outcome::{RequestMade, Traffic};
use domain::runs::{LISTED_MAXIMUM, NAME_BYTES_MAXIMUM, cut};
use futures_util::StreamExt;
use sandbox::{FetchBody, FetchError, FetchRequest, FetchRequestBody, FetchResponse};
use tokio::time::Instant;
use url::Url;

#[derive(Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Traffic>>);

/// A request under way; the position is its own among those that are listed.
pub(super) struct Metered {
    meter: Meter,
    position: usize,
    started: Instant,
}

// === impl Meter ===

impl Meter {
    #[expect(clippy::disallowed_methods, reason = "how long a real request took, which no test fakes")]
    pub(super) fn start(&self, request: &FetchRequest, conceal: impl FnOnce(String) -> String) -> Metered {
        let mut traffic = self.lock();
        traffic.requests_made += 1;
        if let FetchRequestBody::Whole(body) = &request.body {
            traffic.sent_bytes += body.len() as u64;
        }
        let position = traffic.requests.len();
        if position < LISTED_MAXIMUM {
            let url = Url::parse(&request.url).ok();
            let part = |part: Option<&str>| cut(part.unwrap_or_default(), NAME_BYTES_MAXIMUM);
            traffic.requests.push(RequestMade {
                method: request.method.clone(),
                host: part(url.as_ref().and_then(Url::host_str)),
                // Some services take a token in the path.
                path: conceal(part(url.as_ref().map(Url::path))),
                status: None,
                error: None,
                ms: 0,
            });
        }
        Metered { meter: self.clone(), position, started: Instant::now() }
    }

    pub(super) fn take(&self) -> Traffic {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Traffic> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Metered ===

impl Metered {
    /// Notes how the request went, and counts the body as it is read.
    pub(super) fn finish(self, response: Result<FetchResponse, FetchError>) -> Result<FetchResponse, FetchError> {
        let ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some(made) = self.meter.lock().requests.get_mut(self.position) {
            made.ms = ms;
            match &response {
                Ok(response) => made.status = Some(response.status),
                Err(error) => made.error = Some(error.code.clone()),
            }
        }
        response.map(|response| FetchResponse { body: counted(self.meter, response.body), ..response })
    }
}

fn counted(meter: Meter, body: FetchBody) -> FetchBody {
    body.inspect(move |chunk| {
        if let Ok(chunk) = chunk {
            meter.lock().received_bytes += chunk.len() as u64;
        }
    })
    .boxed()
}
