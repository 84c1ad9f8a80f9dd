//! Where a store may be: behind Sentinels, behind TLS, beside other installations, with replicas.

use std::path::Path;
use std::time::Duration;

use super::{count, tenant};
use crate::contract::certificates::certificates;
use crate::contract::servers::{Server, connect, free_port};
use crate::redis::Redis;
use crate::{Batch, CommitError, Durability, Error, Options, Reads, Store, Tls};

async fn counted(store: &Redis) -> Result<i64, CommitError> {
    let committed = store.commit(Batch::new(&tenant(), 1).then(count())).await?;
    Ok(committed.counters.first().copied().unwrap_or_default())
}

async fn until_counted(store: &Redis) -> i64 {
    let counted = async {
        loop {
            if let Ok(count) = counted(store).await {
                return count;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), counted).await.expect("it takes commits again")
}

/// Asks now and then, because each question is a process.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn replica_of(primary: &Server) -> Server {
    Server::start(
        free_port(),
        &["--replicaof", "127.0.0.1", &primary.port().to_string(), "--repl-diskless-sync-delay", "0"],
    )
}

fn has_replica(primary: &Server) -> bool {
    primary.command(&["INFO", "replication"]).contains("state=online")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_replica_that_sentinels_promote_is_found() {
    let primary = Server::start(free_port(), &["--repl-diskless-sync-delay", "0"]);
    let replica = replica_of(&primary);
    until(|| has_replica(&primary)).await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sentinel.conf");
    let port = primary.port();
    let watch = format!(
        "sentinel monitor main 127.0.0.1 {port} 1\nsentinel down-after-milliseconds main 500\n\
         sentinel failover-timeout main 3000\n"
    );
    std::fs::write(&config, watch).unwrap();
    let sentinel = Server::sentinel(free_port(), &config);
    let address = format!("redis+sentinel://127.0.0.1:{}/main", sentinel.port());
    let store = Redis::open(&address, Options::default()).await.unwrap();
    assert_eq!(counted(&store).await.unwrap(), 1);
    let info = || sentinel.command(&["INFO", "sentinel"]);
    until(|| info().contains("slaves=1")).await;
    // Replication does not wait: what the replica has not read dies with the primary.
    until(|| offset(&primary) == offset(&replica)).await;

    primary.signal("KILL");

    assert!(until_counted(&store).await >= 2, "what was committed before is there");
}

#[tokio::test]
async fn a_commit_waits_for_a_replica_when_it_is_told_to() {
    let primary = Server::start(free_port(), &["--repl-diskless-sync-delay", "0"]);
    let options = Options { durability: Durability::Replica, patience: Duration::from_secs(2), ..Options::default() };
    let store = Redis::open(&primary.address(), options).await.unwrap();

    let alone = counted(&store).await;
    assert!(matches!(alone, Err(CommitError::Unavailable(_))), "{alone:?}");
    let replica = replica_of(&primary);
    until(|| has_replica(&primary)).await;

    let with_replica = until_counted(&store).await;
    assert!(with_replica >= 2, "the first was applied, and not confirmed: {with_replica}");
    replica.signal("STOP");
    let hanging = counted(&store).await;
    assert!(matches!(hanging, Err(CommitError::Unavailable(_))), "{hanging:?}");
    let keeping = store.keeping().await.unwrap();
    assert_eq!(keeping[0].1.replicas, Some(1));
    assert_eq!((keeping[0].1.appends, keeping[0].1.eviction.as_deref()), (Some(false), Some("noeviction")));
}

#[tokio::test]
async fn installations_with_different_prefixes_share_a_server() {
    let own = Server::start(free_port(), &[]);
    let with = async |prefix: &str| {
        Redis::open(&own.address(), Options { prefix: prefix.to_owned(), ..Options::default() }).await
    };
    let (one, other) = (with("one").await.unwrap(), with("other").await.unwrap());

    assert_eq!((counted(&one).await.unwrap(), counted(&other).await.unwrap()), (1, 1));
    assert_eq!(one.counters(&tenant(), &["runs".into()]).await.unwrap(), [1]);
    for bad in ["", "a{b}", "a:b", &"x".repeat(65)] {
        assert!(matches!(with(bad).await.err(), Some(Error::Prefix)), "{bad}");
    }
}

#[tokio::test]
async fn a_user_that_may_use_its_prefix_alone_is_enough() {
    let own = Server::start(free_port(), &[]);
    let rights = ["~app:*", "&app:*", "+@all", "-@admin", "-@dangerous", "+info", "+keys"];
    own.command(&[&["ACL", "SETUSER", "app", "on", ">secret"][..], &rights].concat());
    let at = |prefix: &str| {
        let options = Options { prefix: prefix.to_owned(), ..Options::default() };
        let address = format!("redis://app:secret@127.0.0.1:{}", own.port());
        async move { Redis::open(&address, options).await }
    };

    let store = at("app").await.unwrap();

    assert_eq!(counted(&store).await.unwrap(), 1);
    assert!(at("other").await.is_err(), "keys of others are not its own");
}

/// A certificate and its key, written where `redis-server` reads them.
fn write(folder: &Path, name: &str, certificate: &str, key: &str) -> (String, String) {
    let path = |ending: &str| folder.join(format!("{name}.{ending}")).display().to_string();
    std::fs::write(path("crt"), certificate).unwrap();
    std::fs::write(path("key"), key).unwrap();
    (path("crt"), path("key"))
}

#[tokio::test]
async fn tls_needs_the_right_authority_and_the_certificate_of_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let made = certificates();
    let (certificate, key) = write(folder.path(), "server", &made.server.0, &made.server.1);
    let (ca, _) = write(folder.path(), "ca", &made.authority, "");
    let tls_port = free_port();
    let port = tls_port.to_string();
    let files = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-ca-cert-file", &ca];
    let _own = Server::start(free_port(), &[&["--tls-port", &port][..], &files].concat());
    let with = async |tls: Tls| {
        Redis::open(&format!("rediss://localhost:{tls_port}"), Options { tls, ..Options::default() }).await
    };
    let client = Some((made.client.0.into_bytes(), made.client.1.into_bytes()));
    let ca = Some(made.authority.into_bytes());

    let store = with(Tls { ca: ca.clone(), client: client.clone() }).await.unwrap();

    assert_eq!(counted(&store).await.unwrap(), 1);
    assert!(with(Tls { ca, client: None }).await.is_err(), "the server asks for a certificate");
    assert!(with(Tls { ca: None, client }).await.is_err(), "the system does not know the authority");
}

#[tokio::test]
async fn a_server_is_listed_with_how_it_keeps_data() {
    let own = Server::start(free_port(), &["--appendonly", "yes", "--appendfsync", "always"]);
    let store = connect(&own.address(), "ws").await;

    let (_, keeping) = store.keeping().await.unwrap().remove(0);

    assert_eq!((keeping.appends, keeping.syncs.as_deref(), keeping.can_write), (Some(true), Some("always"), true));
}

/// How much of what was written it has.
fn offset(server: &Server) -> Option<String> {
    let info = server.command(&["INFO", "replication"]);
    info.lines().find_map(|line| line.strip_prefix("master_repl_offset:")).map(|offset| offset.trim().to_owned())
}
