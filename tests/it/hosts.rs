//! Several servers on one store: what they cost on Redis, what happens when one or the store fails, and restarts behind a balancer.

mod bounds;
mod images;
mod quotas;
mod upgrades;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rig::balancer::Balancer;
use rig::client::Client;
use rig::port::lasting_port;
use rig::postgres::Postgres;
use rig::receiver::{Answer, Receiver};
use rig::redis::Redis;
use rig::served::{DataFolder, Served};
use serde_json::json;

use crate::flow::{EMIT_BODY, World};

/// What is promised, and something for a machine that does everything else as well.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(5 + 3);
const TOLD_WITHIN: Duration = Duration::from_millis(2000 + 1000);

/// What hosts share.
trait Keeper {
    fn url(&self) -> String;

    /// `STOP` lets it hang, `CONT` lets it go on.
    fn signal(&self, signal: &str);
}

impl Keeper for Redis {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn signal(&self, signal: &str) {
        Self::signal(self, signal);
    }
}

impl Keeper for Postgres {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn signal(&self, signal: &str) {
        Self::signal(self, signal);
    }
}

/// A test of each check on Redis, and one on PostgreSQL.
macro_rules! on_shared_stores {
    ($($check:ident),+ $(,)?) => {
        mod on_redis {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::$check(super::redis().await).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::$check(super::postgres().await).await;
            })+
        }
    };
}

on_shared_stores!(
    hosts_that_start_at_once_on_an_empty_store_all_start,
    work_of_a_host_that_died_is_taken_over_within_seconds,
    a_store_that_hangs_is_told_and_found_again,
    hosts_say_in_which_settings_they_differ,
    a_rolling_restart_behind_a_balancer_refuses_nothing,
);

async fn postgres() -> Postgres {
    tokio::task::spawn_blocking(Postgres::start).await.unwrap()
}

async fn redis() -> Redis {
    tokio::task::spawn_blocking(Redis::start).await.unwrap()
}

/// A server on the store, and a client of it.
async fn host(keeper: &impl Keeper, options: &[&str]) -> World {
    let mut place = DataFolder::in_store(Some(keeper.url()));
    place.options.extend(options.iter().map(|option| (*option).to_owned()));
    host_at(place).await
}

/// The same in a folder that is there, at a port that stays its own.
async fn host_at(mut place: DataFolder) -> World {
    place.listen = format!("127.0.0.1:{}", lasting_port());
    let served = place.start().await;
    let client = served.client();
    World { place, served, client }
}

/// Round trips to Redis that the hosts have made so far.
async fn round_trips(hosts: &[World]) -> u64 {
    let mut total = 0;
    for host in hosts {
        let text = host.client.get("/metrics").await.unwrap().text();
        let count = text.lines().find_map(|line| line.strip_prefix("wellspring_redis_request_seconds_count "));
        total += count.unwrap().trim().parse::<u64>().unwrap();
    }
    total
}

/// Round trips of an event, and of an event that is delivered to a webhook. What hosts do for themselves meanwhile is
/// bounded by one a second each, and left out.
async fn costs(count: usize) -> (f64, f64) {
    const EVENTS: u32 = 100;
    let redis = redis().await;
    let mut hosts = Vec::new();
    for _ in 0..count {
        hosts.push(host(&redis, &[]).await);
    }
    let first = &hosts[0];
    let plain = first.endpoint(EMIT_BODY).await;
    let heard = first.endpoint(EMIT_BODY).await;
    let mut webhook = first.webhook(&heard, |_| Answer::status(200)).await;
    // What is read once is read.
    first.trigger(&plain, &json!(0)).await;
    first.trigger(&heard, &json!(0)).await;
    webhook.inbox.next().await;
    let mut costs = Vec::new();
    for is_heard in [false, true] {
        let (before, begun) = (round_trips(&hosts).await, Instant::now());
        for number in 0..EVENTS {
            if is_heard {
                first.trigger(&heard, &json!(number)).await;
                webhook.inbox.next().await;
            } else {
                first.trigger(&plain, &json!(number)).await;
            }
        }
        // With two for each host whose `/metrics` is read.
        let idle = (begun.elapsed().as_secs_f64() + 2.0) * count as f64;
        let made = (round_trips(&hosts).await - before) as f64;
        costs.push((made - idle).max(0.0) / f64::from(EVENTS));
    }
    (costs[0], costs[1])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_costs_the_same_however_many_hosts_there_are() {
    let (one, three) = (costs(1).await, costs(3).await);

    println!("round trips of an event: {:.2} with one host, {:.2} with three", one.0, three.0);
    println!("round trips of an event with a webhook: {:.2} with one host, {:.2} with three", one.1, three.1);
    for (event, delivered) in [one, three] {
        // The commit; once a second the quota is read anew, and the source.
        assert!(event <= 1.2, "{event}");
        assert!(delivered <= event + 4.0, "{delivered}");
    }
}

/// As a new deployment starts its replicas.
async fn hosts_that_start_at_once_on_an_empty_store_all_start(keeper: impl Keeper) {
    let hosts = <[World; 3]>::from(tokio::join!(host(&keeper, &[]), host(&keeper, &[]), host(&keeper, &[])));

    for host in &hosts {
        let keys = host.client.get("/v1/users/me/keys").await.unwrap().data();
        assert_eq!(keys.as_array().map(Vec::len), Some(1), "{keys}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_host_sends_one_command_a_second() {
    const LOOKED_AT: Duration = Duration::from_secs(12);
    let redis = redis().await;
    let hosts = [host(&redis, &[]).await];
    // What a start does besides is done when a whole second passes with no more than an idle host sends.
    let settled = async || {
        let before = round_trips(&hosts).await;
        pass(Duration::from_secs(1)).await;
        // With the two questions of the reading before.
        round_trips(&hosts).await - before <= 2 + 2
    };
    until(settled).await;

    let (before, begun) = (round_trips(&hosts).await, Instant::now());
    pass(LOOKED_AT).await;
    let made = (round_trips(&hosts).await - before) as f64;

    let a_second = made / begun.elapsed().as_secs_f64();
    println!("commands a second of an idle host: {a_second:.2}");
    // Each of the two readings of `/metrics` asks the store twice, how much waits and how large it is; that does not count.
    assert!(a_second <= 1.1 + 4.0 / LOOKED_AT.as_secs_f64(), "{a_second}");
}

async fn work_of_a_host_that_died_is_taken_over_within_seconds(keeper: impl Keeper) {
    let (first, second) = (host(&keeper, &[]).await, host(&keeper, &[]).await);
    let (receiver, mut inbox) = Receiver::with_inbox(|_| Answer::status(200)).await;
    let run = |name: &str| {
        let url = receiver.url(name);
        format!("async run() {{ await fetch('{url}'); await new Promise((resolve) => setTimeout(resolve, 29000)); }}")
    };
    let all: BTreeSet<String> = ["/accepted", "/delivered", "/responded", "/workflow"].map(str::to_owned).into();
    let (emitter, listener) = (first.endpoint(EMIT_BODY).await, first.endpoint(&run("/delivered")).await);
    first.subscribe(&emitter.id, &listener.id, "").await;
    let accepted = first.endpoint(&run("/accepted")).await;
    first.trigger(&accepted, &json!(1)).await;
    // Its client is answered in the middle of the run.
    let responds = run("/responded").replacen("async run() {", "async run() { this.http.respond({status: 200});", 1);
    let responding = first.deploy("http: {type: '$.interface.http', customResponse: true}", &responds).await;
    first.trigger(&responding, &json!(1)).await;
    let step = json!({"namespace": "asks", "code": format!("export default {{ {} }}", run("/workflow"))});
    let workflow = json!({"settings": {"name": "w"}, "triggers": [{"type": "http"}], "steps": [step]});
    let workflow = first.client.post("/v1/workflows", &workflow).await.unwrap().data();
    let endpoint = workflow["triggers"][0]["endpoint_url"].as_str().unwrap();
    assert_eq!(first.client.trigger(endpoint, &json!(1)).await.unwrap().status, 200);
    first.trigger(&emitter, &json!(1)).await;
    let mut begun = BTreeSet::new();
    while begun != all {
        begun.insert(inbox.next().await.path);
    }

    first.served.kill().await;
    let died = Instant::now();
    inbox.rest();
    let mut again = BTreeSet::new();
    while again != all {
        again.insert(inbox.next().await.path);
    }

    println!("taken over after {:?}", died.elapsed());
    assert!(died.elapsed() < TAKEN_OVER_WITHIN, "{:?}", died.elapsed());
    let hosts = second.client.get("/v1/admin/hosts").await.unwrap().data();
    assert_eq!(hosts.as_array().map(Vec::len), Some(1), "{hosts}");
    assert_eq!(hosts[0]["is_this_one"], json!(true));
}

async fn a_store_that_hangs_is_told_and_found_again(keeper: impl Keeper) {
    let world = host(&keeper, &[]).await;
    let source = world.endpoint(EMIT_BODY).await;
    world.trigger(&source, &json!(1)).await;

    keeper.signal("STOP");
    let begun = Instant::now();
    let refused = world.client.trigger(&source.endpoint, &json!(2)).await.unwrap();
    let took = begun.elapsed();
    let ready = world.client.get("/readyz").await.unwrap();
    keeper.signal("CONT");

    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(took < TOLD_WITHIN, "{took:?}");
    assert_eq!(ready.status, 503);
    until(async || world.client.get("/readyz").await.is_ok_and(|reply| reply.status == 200)).await;
    world.trigger(&source, &json!(3)).await;
}

async fn hosts_say_in_which_settings_they_differ(keeper: impl Keeper) {
    let (_first, second) = (host(&keeper, &[]).await, host(&keeper, &["--keep-events", "7"]).await);

    let hosts = second.client.get("/v1/admin/hosts").await.unwrap().data();

    let differs: Vec<_> = hosts.as_array().unwrap().iter().map(|host| host["differs_in"].clone()).collect();
    assert!(differs.contains(&json!(["keep_events"])) && differs.contains(&json!([])), "{hosts}");
    until(async || second.served.said().contains("is set differently")).await;
}

async fn a_rolling_restart_behind_a_balancer_refuses_nothing(keeper: impl Keeper) {
    let options = ["--drain-seconds", "3"];
    let mut hosts = vec![host(&keeper, &options).await, host(&keeper, &options).await];
    let backends = hosts.iter().map(|host| host.served.url.trim_start_matches("http://").to_owned()).collect();
    let balancer = Balancer::of(backends).start().await;
    let source = hosts[0].endpoint(EMIT_BODY).await;
    let key = source.endpoint.rsplit('/').next().unwrap().to_owned();
    let endpoint = format!("{}/e/{key}", balancer.url());

    let is_over = Arc::new(AtomicBool::new(false));
    let sending: Vec<_> = (0..8)
        .map(|_| {
            let (client, endpoint, is_over) = (Client::new(&balancer.url(), ""), endpoint.clone(), is_over.clone());
            tokio::spawn(async move {
                let (mut sent, mut wrong) = (0_u32, Vec::new());
                while !is_over.load(Ordering::Relaxed) {
                    sent += 1;
                    match client.trigger(&endpoint, &json!({"n": sent})).await {
                        Ok(reply) if reply.status == 200 => {}
                        Ok(reply) => wrong.push(format!("{} {}", reply.status, reply.text())),
                        Err(error) => wrong.push(error.to_string()),
                    }
                }
                (sent, wrong)
            })
        })
        .collect();
    for _ in 0..2 {
        let World { place, served, .. } = hosts.remove(0);
        assert!(drained(served).await);
        let served = place.start().await;
        until(async || served.client().get("/readyz").await.is_ok_and(|reply| reply.status == 200)).await;
        hosts.push(World { client: served.client(), place, served });
        // As whatever restarts hosts one by one waits between them.
        balancer.all_are_up().await;
    }
    is_over.store(true, Ordering::Relaxed);

    let (mut sent, mut wrong) = (0, Vec::new());
    for sender in sending {
        let (of_one, wrong_of_one) = sender.await.unwrap();
        sent += of_one;
        wrong.extend(wrong_of_one);
    }
    println!("{sent} requests, {} refused", wrong.len());
    assert!(sent > 100 && wrong.is_empty(), "{} of {sent}, such as {:?}", wrong.len(), wrong.first());
}

/// Lets time pass that something is measured over: a rate is of real time.
async fn pass(time: Duration) {
    let mut ticks = tokio::time::interval(time);
    ticks.tick().await;
    ticks.tick().await;
}

async fn drained(served: Served) -> bool {
    served.stop().await.success()
}

async fn until(holds: impl AsyncFn() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it comes to hold");
}
