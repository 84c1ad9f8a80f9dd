//! One of the hosts, and what is done to it.

use std::path::Path;
use std::time::Duration;

use super::pass;
use crate::client::Client;
use crate::network::Namespace;
use crate::redis::Deployment;
use crate::served::{DataFolder, KEY, Served, binary};
use crate::wire::Wire;

/// Where Debian's package `faketime` has the library that changes what time a process reads.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const READY_WITHIN: Duration = Duration::from_secs(60);

pub(super) struct Host {
    place: DataFolder,
    served: Option<Served>,
    between: Between,
    pub(super) client: Client,
    pub(super) is_older: bool,
}

/// What is between a host and Redis, and can be cut.
enum Between {
    /// To a server that is alone.
    Wire(Wire),
    Network(Namespace),
    Nothing,
}

// === impl Host ===

impl Host {
    pub(super) async fn new(
        redis: &Deployment,
        (listen, namespace): (&str, Option<Namespace>),
        public_url: &str,
    ) -> Self {
        let (address, between) = match (redis, namespace) {
            (redis, Some(namespace)) => (redis.address(), Between::Network(namespace)),
            (Deployment::Alone(redis), None) => {
                let wire = Wire::to(redis.port()).await;
                (format!("redis://{}", wire.address()), Between::Wire(wire))
            }
            (others, None) => (others.address(), Between::Nothing),
        };
        let mut place = DataFolder::in_store(Some(address));
        place.listen = listen.to_owned();
        if let Between::Network(namespace) = &between {
            place.namespace = Some(namespace.name.clone());
        }
        // Everything is kept for the reckoning; a request whose run was lost is run again soon.
        let options = ["--keep-events", "1000000", "--http-deadline-ms", "5000", "--drain-seconds", "2"];
        place.options.extend(options.map(str::to_owned));
        let options = ["--public-url", public_url, "--durability", redis.durability()];
        place.options.extend(options.map(str::to_owned));
        // A long storm is more than a day of most tenants.
        let options = ["--daily-invocations-quota", "1000000000", "--daily-compute-time-quota", "1000000000"];
        place.options.extend(options.map(str::to_owned));
        place.options.extend(["--db-source-bytes", "268435456"].map(str::to_owned));
        let client = Client::new(&format!("http://{listen}"), KEY);
        Self { place, served: None, between, client, is_older: false }
    }

    /// From its first start on it is the program of an earlier version.
    pub(super) fn be_older(&mut self, program: &Path) {
        self.place.take_program(program);
        self.is_older = true;
    }

    /// From its next start on it is the present program.
    pub(super) fn upgrade(&mut self) {
        self.place.take_program(binary());
        self.is_older = false;
    }

    /// Patient: it answers when a run is committed. Otherwise it answers a slow one before, and goes on.
    pub(super) async fn start(&mut self, is_patient: bool) {
        let mut options = self.place.options.clone();
        options.extend(["--accept-after-ms", if is_patient { "60000" } else { "5" }].map(str::to_owned));
        self.served = Some(self.place.start_with(&options).await);
    }

    pub(super) async fn kill(&mut self) {
        if let Some(served) = self.served.take() {
            served.kill().await;
        }
    }

    pub(super) async fn stop(&mut self) {
        if let Some(served) = self.served.take() {
            served.stop().await;
        }
    }

    pub(super) async fn pause_for(&self, ms: u64) {
        let served = self.served.as_ref().expect("it runs");
        served.signal("STOP").await;
        pass(ms).await;
        served.signal("CONT").await;
    }

    pub(super) async fn cut_off_for(&self, ms: u64) {
        match &self.between {
            Between::Wire(wire) => {
                wire.cut();
                pass(ms).await;
                wire.mend();
            }
            Between::Network(namespace) => {
                namespace.cut_off();
                pass(ms).await;
                namespace.mend();
            }
            Between::Nothing => unreachable!("there is nothing to cut"),
        }
    }

    /// From its next start on its clock is off by so much.
    pub(super) fn skew(&mut self, seconds: i32) {
        self.place.environment.clear();
        if seconds == 0 {
            return;
        }
        assert!(Path::new(FAKETIME).exists(), "there is no {FAKETIME}: install the package faketime");
        let environment = [
            ("LD_PRELOAD", FAKETIME.to_owned()),
            ("FAKETIME", format!("{seconds:+}s")),
            // A wrong clock is one that people set; how long something takes is measured by another.
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        self.place.environment.extend(environment.map(|(name, value)| (name.to_owned(), value)));
    }

    pub(super) async fn is_ready(&self) {
        let ready = async {
            while !self.client.get("/readyz").await.is_ok_and(|reply| reply.status == 200) {
                pass(50).await;
            }
        };
        let is_ready = tokio::time::timeout(READY_WITHIN, ready).await.is_ok();
        assert!(is_ready, "a host does not become ready:\n{}", self.said());
    }

    /// Prints what it has said.
    pub(super) fn tell(&self) {
        eprintln!("what the host at {} said:\n{}", self.place.listen, self.said());
    }

    fn said(&self) -> String {
        self.served.as_ref().map(Served::said).unwrap_or_default()
    }
}
