//! Package texts while deploys and deletions meet, and while hosts die, on every engine: whatever comes in between at
//! whichever commit, a program that was committed finds its texts, and what none refers to goes in the end.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use futures_util::FutureExt;
use store::embedded::Embedded;
use store::fake::Memory;
use store::redis::Redis;
use store::{Op, Page, Store, Tenant};

use crate::fake::{CommitFault, World, meddled, on_store};
use crate::ports::Program;
use crate::programs::holds::{release, save};
use crate::records::{Origin, PackageHold, PackageText, Stored, names};
use crate::{Error, Platform};

/// Long after every deploy has ended.
const HOURS_MS: u64 = 5 * 3600 * 1000;

/// A program of a tenant, with one package.
#[derive(Clone)]
struct Deployed {
    platform: Platform,
    tenant: Tenant,
    program: Program,
}

// === impl Deployed ===

impl Deployed {
    fn new(platform: &Platform, tenant: &str, (name, text): (&str, &str)) -> Self {
        let mut program = Program::single("/component/entry.js", name);
        program.modules.extend(Program::single("/node_modules/axios/index.js", text).modules);
        Self { platform: platform.clone(), tenant: Tenant::parse(tenant).unwrap(), program }
    }

    fn through(&self, platform: &Platform) -> Self {
        Self { platform: platform.clone(), ..self.clone() }
    }

    /// As a deploy does: anew after a conflict.
    async fn deploy(&self) -> Result<(), Error> {
        loop {
            let saving = save(&self.platform, &self.tenant, &self.program).await?;
            let mut batch = self.platform.batch(&self.tenant);
            (batch.preconditions, batch.operations) = (saving.preconditions, saving.operations);
            match self.platform.store.commit(batch).await {
                Err(store::CommitError::Conflict { .. }) => {}
                settled => return settled.map(drop).map_err(Error::from),
            }
        }
    }

    async fn delete(&self) {
        let (kind, id) = ("program".to_owned(), self.program.digest());
        let batch = self.platform.batch(&self.tenant).then(Op::DeleteRecord { kind, id });
        self.platform.store.commit(batch).await.unwrap();
    }

    async fn release(&self) -> Result<(), Error> {
        let text = Program::single("index.js", self.program.modules["/node_modules/axios/index.js"].source.clone());
        let digest = PackageText::new(&text.modules).unwrap().digest;
        release(&self.tenant, &self.platform, &[digest]).await
    }

    /// It is read anew, and is what was deployed.
    async fn check(&self, case: &str) {
        let fresh = on_store(&self.platform, self.platform.store.clone());
        let read = fresh.program(&self.tenant, Origin::Own, &self.program.digest()).stored.read().await;
        assert_eq!(*read.unwrap_or_else(|error| panic!("{case}: {error:?}")), self.program, "{case}");
    }
}

/// What is left of packages: texts, and holds of two tenants.
async fn left(platform: &Platform) -> [u64; 4] {
    let count =
        async |tenant: &Tenant, kind: &str| platform.store.records(tenant, kind, Page::newest(1)).await.unwrap().total;
    let [a, b] = ["u_a", "u_b"].map(|tenant| Tenant::parse(tenant).unwrap());
    let packages = names::packages();
    [
        count(&packages, "package").await,
        count(&packages, "package_text").await,
        count(&a, PackageHold::KIND).await,
        count(&b, PackageHold::KIND).await,
    ]
}

/// Before the n-th commit of one a whole other is done, for every n, until there are fewer commits.
async fn check_meetings(world: &World, platform: &Platform) {
    for other_tenant in ["u_a", "u_b"] {
        for number in 0.. {
            let text = format!("text {number}");
            let last = Deployed::new(platform, "u_a", ("last", &text));
            let next = Deployed::new(platform, other_tenant, ("next", &text));
            last.deploy().await.unwrap();
            last.delete().await;

            let coming = next.clone();
            let (meddling, store) = meddled(platform, move |at| {
                let coming = coming.clone();
                async move {
                    if at == number {
                        coming.deploy().await.unwrap();
                    }
                    CommitFault::None
                }
                .boxed()
            });
            last.through(&meddling).release().await.unwrap();
            let is_done = store.commits() <= number;
            if is_done {
                next.deploy().await.unwrap();
            }
            next.check(&format!("a deploy of {other_tenant} before commit {number} of a release")).await;
            clear(world, &[&last, &next]).await;
            assert_eq!(left(platform).await, [0; 4], "commit {number}");
            if is_done {
                break;
            }
        }
        for number in 0.. {
            let text = format!("other text {number}");
            let last = Deployed::new(platform, other_tenant, ("last", &text));
            let next = Deployed::new(platform, "u_a", ("next", &text));
            last.deploy().await.unwrap();
            last.delete().await;

            let going = last.clone();
            let (meddling, store) = meddled(platform, move |at| {
                let going = going.clone();
                async move {
                    if at == number {
                        going.release().await.unwrap();
                    }
                    CommitFault::None
                }
                .boxed()
            });
            next.through(&meddling).deploy().await.unwrap();
            let is_done = store.commits() <= number;
            if is_done {
                next.deploy().await.unwrap();
            }
            next.check(&format!("a release of {other_tenant} before commit {number} of a deploy")).await;
            clear(world, &[&last, &next]).await;
            assert_eq!(left(platform).await, [0; 4], "commit {number}");
            if is_done {
                break;
            }
        }
    }
}

/// Deletes the programs, and performs the chores of their packages when deploys are long over.
async fn clear(world: &World, deployed: &[&Deployed]) {
    for one in deployed {
        one.delete().await;
    }
    world.clock.advance(HOURS_MS);
    for one in deployed {
        one.release().await.unwrap();
    }
}

/// A host dies at the n-th commit of a deploy or of a release, before it or after, for every n; another host goes on.
async fn check_deaths(world: &World, platform: &Platform) {
    for (releases, dies_after) in [(false, false), (false, true), (true, false), (true, true)] {
        for number in 0.. {
            let (text, tenant) = (format!("text {number}"), if releases { "u_b" } else { "u_a" });
            let other = Deployed::new(platform, "u_a", ("other", &text));
            let dying = Deployed::new(platform, tenant, ("dying", &text));
            if releases {
                other.deploy().await.unwrap();
                dying.deploy().await.unwrap();
                dying.delete().await;
            }

            let (mortal, store) = meddled(platform, move |at| {
                let fate = match at.cmp(&number) {
                    std::cmp::Ordering::Less => CommitFault::None,
                    std::cmp::Ordering::Equal if dies_after => CommitFault::AnswerLost,
                    _ => CommitFault::HostDied,
                };
                std::future::ready(fate).boxed()
            });
            let through = dying.through(&mortal);
            let died = if releases { through.release().await } else { through.deploy().await };
            let is_done = store.commits() <= number;
            assert_eq!(died.is_ok(), is_done, "{died:?}");

            let case = format!("a host that died at commit {number}, releasing: {releases}, after it: {dies_after}");
            if releases {
                dying.release().await.unwrap();
                other.check(&case).await;
            } else {
                other.deploy().await.unwrap();
                other.check(&case).await;
            }
            clear(world, &[&dying, &other]).await;
            assert_eq!(left(platform).await, [0; 4], "{case}");
            if is_done {
                break;
            }
        }
    }
}

async fn check(store: Arc<dyn Store>) {
    let world = World::default();
    let platform = on_store(&world.platform, store);
    check_meetings(&world, &platform).await;
    check_deaths(&world, &platform).await;
}

#[tokio::test]
async fn packages_of_committed_programs_are_there_in_memory() {
    check(Arc::new(Memory::default())).await;
}

#[tokio::test]
async fn packages_of_committed_programs_are_there_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    check(Arc::new(Embedded::open(&folder.path().join("store.db")).unwrap())).await;
}

#[tokio::test]
async fn packages_of_committed_programs_are_there_on_redis() {
    let server = RedisServer::start();
    check(Arc::new(server.connect().await)).await;
}

/// A server that ends with the test.
struct RedisServer {
    process: Child,
    port: u16,
}

// === impl RedisServer ===

impl RedisServer {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("redis-server is needed: `just test` installs it and runs the tests");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("Ready to accept connections")));
        assert!(is_ready, "redis-server did not start");
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, port }
    }

    async fn connect(&self) -> Redis {
        Redis::connect(&format!("redis://127.0.0.1:{}", self.port), "test").await.unwrap()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
