//! Servers that hang, shards that are gone: what still works, and how soon the rest is told.

use std::time::{Duration, Instant};

use super::{count, tenant};
use crate::contract::job;
use crate::contract::servers::{Server, address_of, connect, free_port, start_cluster};
use crate::redis::Redis;
use crate::{Batch, CommitError, LeaseRequest, Next, Partition, Shares, Store, Tenant, Work};

/// A caller is told within two seconds; the rest is for a busy machine.
const TOLD_WITHIN: Duration = Duration::from_millis(2500);
const BACK_WITHIN: Duration = Duration::from_secs(20);

async fn is_committed(store: &Redis, tenant: &Tenant) -> bool {
    store.commit(Batch::new(tenant, 1).then(count()).then(job(None, 0, "a"))).await.is_ok()
}

async fn until_committed(store: &Redis) {
    let back = async {
        while !is_committed(store, &tenant()).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BACK_WITHIN, back).await.expect("it comes back");
}

/// One of each partition.
fn tenants(store: &Redis) -> Vec<Tenant> {
    let of = |partition: Partition| {
        let mut all = (0..).map(|number| Tenant::parse(&format!("u_{number}")).unwrap());
        all.find(|tenant| tenant.partition(store.partitions) == partition).unwrap()
    };
    Partition::all(store.partitions).into_iter().map(of).collect()
}

#[tokio::test]
async fn a_server_that_hangs_is_told_soon_then_at_once_and_found_again() {
    let own = Server::start(free_port(), &[]);
    let store = connect(&own.address(), "ws").await;
    assert!(is_committed(&store, &tenant()).await);

    own.signal("STOP");
    let begun = Instant::now();
    let first = store.commit(Batch::new(&tenant(), 1).then(count())).await;
    let first_took = begun.elapsed();
    let second = store.commit(Batch::new(&tenant(), 1).then(count())).await;
    let second_took = begun.elapsed() - first_took;
    own.signal("CONT");

    assert!(matches!(first, Err(CommitError::Unavailable(_))), "{first:?}");
    assert!(first_took < TOLD_WITHIN, "{first_took:?}");
    assert!(matches!(second, Err(CommitError::Unavailable(crate::Error::NotAnswering))), "{second:?}");
    assert!(second_took < Duration::from_millis(100), "{second_took:?}");
    until_committed(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_is_gone_stops_no_other() {
    let nodes = start_cluster();
    let store = connect(&address_of(&nodes), "ws").await;
    let tenants = tenants(&store);
    for tenant in &tenants {
        assert!(is_committed(&store, tenant).await, "all shards are there");
    }

    nodes[1].signal("STOP");

    let begun = Instant::now();
    let committing = tenants.iter().map(|tenant| is_committed(&store, tenant));
    let committed = futures_util::future::join_all(committing).await;
    assert!(begun.elapsed() < TOLD_WITHIN, "{:?}", begun.elapsed());
    let healthy = committed.iter().filter(|is_committed| **is_committed).count();
    assert!((6..tenants.len()).contains(&healthy), "{committed:?}");

    let begun = Instant::now();
    let request = LeaseRequest { now_ms: 5, lease_ms: 1000, max: 64 };
    let leased = store.lease(&Partition::all(store.partitions), request, Shares::default()).await.unwrap();
    assert!(begun.elapsed() < TOLD_WITHIN, "{:?}", begun.elapsed());
    let failed = leased.looked.iter().filter(|looked| looked.next == Next::Failed).count();
    assert_eq!(failed, tenants.len() - healthy, "{:?}", leased.looked);
    assert_eq!(leased.jobs.len(), 2 * healthy, "each healthy shard has its jobs worked on");

    // From now on the others are not slowed down by it at all.
    let begun = Instant::now();
    for (tenant, was_committed) in tenants.iter().zip(&committed) {
        assert_eq!(is_committed(&store, tenant).await, *was_committed);
    }
    assert!(begun.elapsed() < TOLD_WITHIN, "{:?}", begun.elapsed());

    nodes[1].signal("CONT");
    let all = async {
        for tenant in &tenants {
            while !is_committed(&store, tenant).await {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(BACK_WITHIN, all).await.expect("the shard is found again");
}

#[tokio::test]
async fn a_killed_server_is_told_soon_and_found_again_on_its_port() {
    let port = free_port();
    let first = Server::start(port, &[]);
    let store = connect(&first.address(), "ws").await;
    assert!(is_committed(&store, &tenant()).await);

    drop(first);
    let begun = Instant::now();
    assert!(!is_committed(&store, &tenant()).await);
    assert!(begun.elapsed() < TOLD_WITHIN, "{:?}", begun.elapsed());

    let _second = Server::start(port, &[]);
    until_committed(&store).await;
}
