//! The world while a component loads: a clock and randomness, and nothing to reach.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::outcome::{LogLine, Write};
use crate::services::{FetchError, FetchRequest, FetchResponse, Reply, ServiceError, Services};

/// An image is taken once and run many times, so loading may compute but not talk.
pub(crate) struct Offline;

#[async_trait]
impl Services for Offline {
    #[expect(clippy::disallowed_methods, reason = "the clock of runs without a host: building and describing")]
    fn now_ms(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0)
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        // Without the system's randomness zeros are returned: what loads is no secret, and runs ask for their own.
        let _ = getrandom::fill(buffer);
    }

    async fn db_get(&self, _key: &str) -> Result<Option<String>, ServiceError> {
        Ok(None)
    }

    async fn before_request(&self, _writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        Ok(Vec::new())
    }

    async fn credentials(&self, _prop: &str) -> Option<String> {
        None
    }

    fn reply(&self, _reply: Reply) {}

    fn observe(&self, _line: &LogLine) {}

    async fn fetch(&self, _request: FetchRequest) -> Result<FetchResponse, FetchError> {
        Err(FetchError {
            code: "offline".into(),
            message: "the network cannot be used while a component loads; send requests from run or a hook".into(),
        })
    }
}
