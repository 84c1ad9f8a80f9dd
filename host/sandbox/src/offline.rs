//! The world while a component loads: a clock and randomness, and nothing to reach.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::outcome::{LogLine, Write};
use crate::services::{FetchError, FetchRequest, FetchResponse, Reply, ServiceError, Services};

/// When the base image is made, wherever that is.
const ALWAYS_MS: f64 = 1_700_000_000_000.0;

/// An image is taken once and run many times, so loading may compute but not talk.
#[derive(Default)]
pub(crate) struct Offline {
    /// In place of the system's randomness and clock.
    repeated: Option<Mutex<blake3::OutputReader>>,
}

impl Offline {
    /// Always the same moment and, for the same secret, the same randomness: hosts that share the secret make the same memory of the same
    /// code, and others cannot tell what it is. Runs ask for a time and randomness of their own.
    pub(crate) fn repeatable(secret: &[u8; 32]) -> Self {
        let drawn = blake3::Hasher::new_keyed(secret).update(b"base").finalize_xof();
        Self { repeated: Some(Mutex::new(drawn)) }
    }
}

#[async_trait]
impl Services for Offline {
    #[expect(clippy::disallowed_methods, reason = "the clock of runs without a host: building and describing")]
    fn now_ms(&self) -> f64 {
        if self.repeated.is_some() {
            return ALWAYS_MS;
        }
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0)
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        if let Some(drawn) = &self.repeated {
            return drawn.lock().unwrap_or_else(PoisonError::into_inner).fill(buffer);
        }
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
