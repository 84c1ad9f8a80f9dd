//! Hosts of a test, with a store that is a map and a channel, and virtual time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::broadcast;

use super::*;

const IMAGE: &str = "abc";

/// What the hosts share.
#[derive(Clone)]
struct Hub {
    channel: broadcast::Sender<Said>,
    lent: Arc<Mutex<HashMap<String, Bytes>>>,
    uploads: Arc<AtomicUsize>,
    hosts: Arc<AtomicUsize>,
}

/// One host's way to the others: a channel without what it says itself.
struct Voice {
    hub: Hub,
    own: String,
    heard: broadcast::Sender<Said>,
}

#[derive(Clone, Default)]
struct Disk(Arc<Mutex<HashSet<String>>>);

struct Host {
    exchange: Arc<Exchange>,
    disk: Disk,
}

impl Hub {
    fn new() -> Self {
        let channel = broadcast::Sender::new(64);
        Self { channel, lent: Arc::default(), uploads: Arc::default(), hosts: Arc::default() }
    }

    fn host(&self, own: &str) -> Host {
        self.hosts.fetch_add(1, Ordering::Relaxed);
        let (heard, mut all, name) = (broadcast::Sender::new(64), self.channel.subscribe(), own.to_owned());
        let voice = Arc::new(Voice { hub: self.clone(), own: own.to_owned(), heard: heard.clone() });
        tokio::spawn(async move {
            while let Ok(said) = all.recv().await {
                if said.host != name {
                    let _ = heard.send(said);
                }
            }
        });
        let disk = Disk::default();
        Host { exchange: exchange(disk.clone(), voice), disk }
    }
}

#[async_trait]
impl Neighbours for Voice {
    fn own(&self) -> &str {
        &self.own
    }

    async fn are_any(&self) -> Result<bool, store::Error> {
        Ok(self.hub.hosts.load(Ordering::Relaxed) > 1)
    }

    async fn say(&self, text: &str) -> Result<(), store::Error> {
        let _ = self.hub.channel.send(Said { host: self.own.clone(), text: text.to_owned() });
        Ok(())
    }

    fn listen(&self) -> broadcast::Receiver<Said> {
        self.heard.subscribe()
    }

    async fn lend(&self, name: &str, bytes: Bytes, _for_ms: u64) -> Result<(), store::Error> {
        self.hub.uploads.fetch_add(1, Ordering::Relaxed);
        self.hub.lent.lock().unwrap().entry(name.to_owned()).or_insert(bytes);
        Ok(())
    }

    async fn is_lent(&self, name: &str) -> Result<bool, store::Error> {
        Ok(self.hub.lent.lock().unwrap().contains_key(name))
    }

    async fn borrow(&self, name: &str) -> Result<Option<Bytes>, store::Error> {
        Ok(self.hub.lent.lock().unwrap().get(name).cloned())
    }
}

#[async_trait]
impl Lends for Disk {
    async fn lend(&self, image: &str) -> Option<Bytes> {
        self.0.lock().unwrap().contains(image).then(|| Bytes::copy_from_slice(image.as_bytes()))
    }
}

impl Disk {
    fn keep(&self, image: &str) {
        self.0.lock().unwrap().insert(image.to_owned());
    }
}

impl Host {
    /// As the sandbox does it: asks, and builds what is nowhere, which takes so long. Whether it was built here.
    async fn make(&self, building: Duration) -> bool {
        let asked = self.exchange.ask(IMAGE).await;
        if asked.lent.is_none() {
            tokio::time::sleep(building).await;
        }
        self.disk.keep(IMAGE);
        asked.lent.is_none()
    }
}

#[tokio::test(start_paused = true)]
async fn an_image_that_another_host_has_is_lent_once() {
    let hub = Hub::new();
    let hosts = ["a", "b", "c", "d"].map(|name| hub.host(name));
    hosts[0].disk.keep(IMAGE);
    hosts[1].disk.keep(IMAGE);
    hosts[2].disk.keep(IMAGE);
    let begun = Instant::now();

    let asked = hosts[3].exchange.ask(IMAGE).await;

    assert_eq!(asked.lent.unwrap(), IMAGE);
    assert!(begun.elapsed() < Duration::from_millis(2 * SPREAD_MS), "{:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(hub.uploads.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn what_no_host_has_is_built_after_a_moment_and_at_once_by_a_host_alone() {
    let hub = Hub::new();
    let alone = hub.host("a");
    let begun = Instant::now();
    assert!(alone.exchange.ask(IMAGE).await.lent.is_none());
    assert_eq!(begun.elapsed(), Duration::ZERO);

    let _other = hub.host("b");
    assert!(alone.exchange.ask(IMAGE).await.lent.is_none());
    assert_eq!(begun.elapsed(), PATIENCE);
}

#[tokio::test(start_paused = true)]
async fn of_hosts_that_miss_an_image_at_once_one_builds_it() {
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        let hub = Hub::new();
        let hosts = order.map(|name| hub.host(name));
        let second = Duration::from_secs(1);

        let built = tokio::join!(hosts[0].make(second), hosts[1].make(second), hosts[2].make(second));

        let count = [built.0, built.1, built.2].into_iter().filter(|is_built| *is_built).count();
        assert_eq!((count, hub.uploads.load(Ordering::Relaxed)), (1, 1), "{order:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_comes_while_another_asks_or_builds_waits_for_it() {
    // While the first still asks, the second may have the lesser id.
    for (names, later) in [(["a", "b"], 20), (["b", "a"], 20), (["a", "b"], 500), (["b", "a"], 500)] {
        let hub = Hub::new();
        let [first, second] = names.map(|name| hub.host(name));
        let delayed = async {
            tokio::time::sleep(Duration::from_millis(later)).await;
            second.make(Duration::from_secs(1)).await
        };

        let (one, other) = tokio::join!(first.make(Duration::from_secs(1)), delayed);

        assert_eq!([one, other].into_iter().filter(|is_built| *is_built).count(), 1, "{names:?} {later}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_build_it_leaves_it_to_the_next() {
    let hub = Hub::new();
    let [first, second] = ["a", "b"].map(|name| hub.host(name));
    let failing = async {
        let asked = first.exchange.ask(IMAGE).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(asked);
    };
    let begun = Instant::now();

    let ((), is_built) = tokio::join!(failing, second.make(Duration::ZERO));

    assert!(is_built && begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_builder_that_is_gone_is_not_waited_for_forever() {
    let hub = Hub::new();
    let (_gone, waiting) = (hub.host("a"), hub.host("b"));
    let begun = Instant::now();
    let vanishing = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let _ = hub.channel.send(Said { host: "x".to_owned(), text: format!("building {IMAGE}") });
    };

    let (asked, ()) = tokio::join!(waiting.exchange.ask(IMAGE), vanishing);

    assert!(asked.lent.is_none());
    assert_eq!(begun.elapsed(), PATIENCE_WITH_BUILDER);
}

#[tokio::test(start_paused = true)]
async fn a_host_lends_four_images_at_once() {
    let hub = Hub::new();
    let lender = hub.host("a");
    for image in 0..LENT_AT_ONCE + 1 {
        lender.disk.keep(&image.to_string());
        let _ = hub.channel.send(Said { host: "b".to_owned(), text: format!("want {image}") });
    }

    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(hub.uploads.load(Ordering::Relaxed), LENT_AT_ONCE);
}
