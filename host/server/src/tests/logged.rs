//! What the log says of a request: its route, and nothing that a client wrote into the path or the query.

use std::io;
use std::sync::{Arc, Mutex};

use platform::fake::World;
use tracing::Dispatch;

use super::front::Endpoint;
use super::wire::Wire;
use crate::front::Config;
use crate::{ApiLimits, Plugin};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_names_the_route_and_never_the_path() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let logging = Dispatch::new(subscriber);
    // With only one dispatcher, `tracing` caches the interest of the first thread that meets a call site for all threads:
    // what a test on another thread meets first would never be logged.
    let _second = Dispatch::new(tracing_subscriber::fmt().with_writer(io::sink).finish());
    // For this thread, on which the server of the test runs.
    let _logging = tracing::dispatcher::set_default(&logging);
    let plugins: Vec<Arc<dyn Plugin>> = vec![Arc::new(Endpoint)];
    let wire = Wire::start(World::default(), ApiLimits::default(), Config::default(), plugins).await;

    for path in ["/e/s3cret", "/v1/sources/s3cret?key=s3cret", "/s3cret"] {
        wire.get(path).await;
    }

    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for route in ["/e/{key}", "/v1/sources/{id}"] {
        assert!(logged.contains(&format!("http.route=\"{route}\"")), "{route}: {logged}");
    }
    assert!(!logged.contains("s3cret"), "{logged}");
}
