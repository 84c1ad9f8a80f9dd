//! What hosts that share a PostgreSQL promise each other, on a real server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::link::Question;
use super::{Postgres, is_address};
use crate::contract::certificates::certificates;
use crate::contract::servers::{PostgresServer, connect_postgres, namespace, postgres_server};
use crate::contract::{World, job, text};
use crate::{
    Batch, Beat, CommitError, Directory, Error, LeaseRequest, Lookup, Op, Options, Origin, Reads, Shares, Store, Taken,
    Tenant, Wake, Work,
};

/// Two hosts on one schema.
async fn two() -> (World, Arc<Postgres>) {
    let schema = namespace();
    let other = Arc::new(connect_postgres(&schema).await);
    (World::new(Arc::new(connect_postgres(&schema).await), ()), other)
}

fn count() -> Op {
    Op::Count { counter: "runs".into(), amount: 1, expires_ms: None }
}

fn append(value: &str) -> Op {
    Op::Append { emitter: "e".into(), stream: "default".into(), value: text(value), keep: 9 }
}

/// Ends every connection to a server, as a restart of it does.
async fn break_connections(server: &PostgresServer) {
    let (client, connection) = tokio_postgres::connect(&server.address(), tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'wellspring'";
    client.batch_execute(end).await.unwrap();
    drop(client);
    driver.await.unwrap().unwrap();
}

#[test]
fn an_address_says_which_engine_it_is() {
    assert!(is_address("postgres://a@b/c") && is_address("postgresql://a@b/c"));
    assert!(!is_address("redis://a") && !is_address("postgres.example.com"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_start_at_once_on_an_empty_server_all_start() {
    let schema = namespace();

    let hosts: Vec<_> = (0..6)
        .map(|_| {
            let schema = schema.clone();
            tokio::spawn(async move { connect_postgres(&schema).await })
        })
        .collect();

    for host in hosts {
        assert_eq!(host.await.unwrap().partitions(), crate::PARTITIONS);
    }
}

#[tokio::test]
async fn what_cannot_be_an_installation_is_refused_with_its_reason() {
    let address = postgres_server().address();
    let open = async |address: &str, options| Postgres::open(address, options).await.err();
    let with = |prefix: &str| Options { prefix: prefix.to_owned(), ..Options::default() };

    assert!(matches!(open("postgres://[", with("a")).await, Some(Error::PostgresAddress)));
    assert!(matches!(open(&address, with("a\"b")).await, Some(Error::Prefix)));
    assert!(matches!(open(&address, with(&"a".repeat(64))).await, Some(Error::PostgresPrefix)));
    assert!(open(&address, with(&format!("{}{}", namespace(), "a".repeat(63))[..63])).await.is_none());
    let replica = Options { durability: crate::Durability::Replica, ..with("a") };
    assert!(matches!(open(&address, replica).await, Some(Error::PostgresReplica)));
    let tls = crate::Tls { ca: Some(Vec::new()), client: None };
    assert!(matches!(open(&address, Options { tls, ..with("a") }).await, Some(Error::PlainAddress)));
    let refused = open("postgres://test@127.0.0.1:1/postgres", with("a")).await;
    assert!(matches!(refused, Some(Error::Postgres(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_count_together_and_a_job_is_leased_to_one_of_them() {
    let (world, other) = two().await;
    let commit = |store: Arc<dyn Store>| {
        let batch = world.batch(1000).then(count()).then(job(None, 0, "x"));
        tokio::spawn(async move {
            for _ in 0..50 {
                store.commit(batch.clone()).await.unwrap();
            }
        })
    };
    let hosts: [Arc<dyn Store>; 2] = [world.store.clone(), other.clone()];
    for committing in hosts.clone().map(commit) {
        committing.await.unwrap();
    }
    assert_eq!(world.store.counters(&world.tenant, &["runs".into()]).await.unwrap(), [100]);

    let request = LeaseRequest { now_ms: 2000, lease_ms: 1000, max: 7 };
    let partitions = world.partition();
    let lease = |store: Arc<dyn Store>| {
        let partitions = partitions.clone();
        tokio::spawn(async move {
            let mut jobs = Vec::new();
            loop {
                let leased = store.lease_jobs(&partitions, request, Shares::default()).await.unwrap().items;
                if leased.is_empty() {
                    return jobs;
                }
                jobs.extend(leased.into_iter().map(|job| job.lease.job.0));
            }
        })
    };
    let mut jobs = Vec::new();
    for leasing in hosts.map(lease) {
        jobs.extend(leasing.await.unwrap());
    }
    jobs.sort_unstable();
    jobs.dedup();
    assert_eq!(jobs.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_hosts_are_told_of_work_that_is_due_later_or_has_no_room() {
    let (world, other) = two().await;
    let partition = world.tenant.partition(world.store.partitions());
    let mut work = other.pulse().work();
    other.pulse().take();
    work.mark_unchanged();

    world.try_commit(1000, vec![], vec![job(None, 1000, "now")]).await.unwrap();
    world.try_commit(1000, vec![], vec![job(None, 9000, "later")]).await.unwrap();
    work.changed().await.unwrap();
    assert_eq!(other.pulse().take().partitions, [Wake { partition, due_ms: 9000, origin: Origin::There }]);

    world.store.pulse().set_busy(true);
    world.try_commit(1000, vec![], vec![job(None, 1000, "no room")]).await.unwrap();
    work.changed().await.unwrap();
    assert_eq!(other.pulse().take().partitions, [Wake { partition, due_ms: 1000, origin: Origin::Busy }]);
}

#[tokio::test]
async fn a_host_that_is_told_more_than_it_can_hold_hears_what_comes_after() {
    let (world, other) = two().await;
    let mut work = other.pulse().work();
    let (client, connection) =
        tokio_postgres::connect(&postgres_server().address(), tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    // Distinct, because the server tells the same only once in a transaction.
    let schema = &other.place.schema;
    let flood =
        format!("SELECT count(pg_notify('{schema}', 'flood ' || number)) FROM generate_series(1, 20000) number");
    client.batch_execute(&flood).await.unwrap();

    let mut is_heard = false;
    for due_ms in 9000..9100 {
        other.pulse().take();
        work.mark_unchanged();
        world.try_commit(1000, vec![], vec![job(None, due_ms, "later")]).await.unwrap();
        is_heard = tokio::time::timeout(Duration::from_secs(1), work.changed()).await.is_ok()
            && !other.pulse().take().partitions.is_empty();
        if is_heard {
            break;
        }
    }

    assert!(is_heard);
    drop(client);
    driver.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_on_one_host_gets_what_another_commits_and_is_told_of_a_gap() {
    let server = PostgresServer::start();
    let open = async || Postgres::open(&server.address(), Options::default()).await.unwrap();
    let (writer, reader) = (open().await, open().await);
    let tenant = Tenant::parse("u_a").unwrap();
    let mut live = reader.follow(&tenant, "e").await.unwrap();

    let commit = async |value: &str| writer.commit(Batch::new(&tenant, 1).then(append(value))).await;
    let id = commit("a").await.unwrap().entries[0];
    live.ready().await;
    let Some(Taken::Entry(entry)) = live.take() else { panic!("an entry") };
    assert_eq!((entry.id, &entry.value[..]), (id, &b"a"[..]));

    break_connections(&server).await;
    live.ready().await;
    assert!(matches!(live.take(), Some(Taken::Lost)));
    commit("b").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_another_host_changes_is_read_anew() {
    let (world, other) = two().await;
    let put = |value: &str| Op::PutRecord { kind: "k".into(), id: "a".into(), alias: None, value: text(value) };
    let recent = async |store: &dyn Store| store.recent_record(&world.tenant, "k", "a").await.unwrap();
    assert_eq!(recent(&*other).await, None, "that it is not there is remembered too");

    world.commit(vec![put("one")]).await;
    assert_eq!(recent(&*world.store).await.unwrap().value, text("one"), "what a host commits counts there at once");
    let begun = Instant::now();
    while recent(&*other).await.is_none() {
        assert!(begun.elapsed() < Duration::from_secs(5));
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_made_once_while_connections_break() {
    let server = PostgresServer::start();
    let store = Arc::new(Postgres::open(&server.address(), Options::default()).await.unwrap());
    let (tenant, is_over) = (Tenant::parse("u_a").unwrap(), Arc::new(AtomicBool::new(false)));
    let committers = (0..8).map(|_| {
        let (store, batch, is_over) = (store.clone(), Batch::new(&tenant, 1).then(count()), is_over.clone());
        tokio::spawn(async move {
            let (mut made, mut unknown) = (0, 0);
            while !is_over.load(Ordering::Relaxed) {
                match store.commit(batch.clone()).await {
                    Ok(_) => made += 1,
                    Err(CommitError::Unavailable(_)) => unknown += 1,
                    Err(error) => panic!("{error:?}"),
                }
            }
            (made, unknown)
        })
    });
    let committers: Vec<_> = committers.collect();

    for _ in 0..20 {
        break_connections(&server).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let (mut made, mut unknown) = (0, 0);
    for committer in committers {
        let counted = committer.await.unwrap();
        (made, unknown) = (made + counted.0, unknown + counted.1);
    }

    let counted = store.counters(&tenant, &["runs".into()]).await.unwrap()[0];
    assert!(
        made > 0 && (made..=made + unknown).contains(&counted),
        "{made} made, {unknown} unknown, {counted} counted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_told_in_time_and_used_again() {
    let server = PostgresServer::start();
    let options = Options { patience: Duration::from_millis(500), ..Options::default() };
    let store = Postgres::open(&server.address(), options).await.unwrap();
    let batch = || Batch::new(&Tenant::parse("u_a").unwrap(), 1).then(count());
    store.commit(batch()).await.unwrap();

    server.signal("STOP");
    let begun = Instant::now();
    let refused = store.commit(batch()).await;
    assert!(matches!(refused, Err(CommitError::Unavailable(_))), "{refused:?}");
    assert!(store.look_up("key").await.is_err());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let (begun, asked) = (Instant::now(), 20);
    for _ in 0..asked {
        assert!(store.look_up("key").await.is_err());
    }
    assert!(
        begun.elapsed() < Duration::from_millis(500) * asked / 2,
        "most are refused at once: {:?}",
        begun.elapsed()
    );
    server.signal("CONT");

    let begun = Instant::now();
    while store.commit(batch()).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn hosts_that_come_and_go_are_known_and_settle_on_a_layout() {
    let (world, other) = two().await;
    let beat = async |store: &dyn Store, host: &'static str, known, reads| {
        store.beat(Beat { host, about: b"about", known, gone_after_ms: 60_000, reads }).await
    };

    let first = beat(&*world.store, "a", 0, 2).await.unwrap().unwrap();
    assert_eq!((first.layout, first.members.map(|members| members.len())), (2, Some(1)));
    let second = beat(&*other, "b", first.version, 3).await.unwrap().unwrap();
    let hosts: Vec<String> = second.members.unwrap().into_iter().map(|member| member.host).collect();
    assert_eq!((second.layout, hosts), (2, vec!["a".to_owned(), "b".to_owned()]), "what all of them read");
    let same = beat(&*world.store, "a", second.version, 2).await.unwrap().unwrap();
    assert_eq!((same.version, same.members), (second.version, None), "nothing changed");
    assert_eq!(other.members(60_000).await.unwrap().len(), 2);

    world.store.leave("a").await.unwrap();
    let alone = beat(&*other, "b", second.version, 3).await.unwrap().unwrap();
    assert_eq!((alone.layout, alone.members.map(|members| members.len())), (3, Some(1)));
    let refused = beat(&*world.store, "a", 0, 2).await;
    assert!(matches!(refused, Err(Error::NewerLayout { written: 3, reads: 2 })), "{refused:?}");
    assert!(other.settle_layout(2).await.is_err());
    assert!(alone.now_us > 1_600_000_000_000_000);
}

#[tokio::test]
async fn hosts_talk_and_lend_through_the_store() {
    let (world, other) = two().await;
    let (here, there) = (world.store.neighbours().unwrap(), other.neighbours().unwrap());
    let mut heard = there.listen();

    here.say("image: 1:2").await.unwrap();
    let said = heard.recv().await.unwrap();
    assert_eq!((said.host.as_str(), said.text.as_str()), (here.own(), "image: 1:2"));
    assert_eq!((there.is_lent("x").await.unwrap(), there.borrow("x").await.unwrap()), (false, None));
    here.lend("x", text("bytes"), 60_000).await.unwrap();
    here.lend("x", text("others"), 60_000).await.unwrap();
    assert_eq!(there.borrow("x").await.unwrap(), Some(text("bytes")), "what lies there stays");
    here.lend("gone", text("bytes"), 0).await.unwrap();
    assert!(!there.is_lent("gone").await.unwrap());
}

#[tokio::test]
async fn what_is_required_of_a_list_is_judged_after_deletions() {
    let (world, _) = two().await;
    let put = |id: &str| Op::PutRecord { kind: "k".into(), id: id.into(), alias: None, value: text("") };
    world.commit(vec![put("a"), put("b")]).await;
    let newest = world.store.record(&world.tenant, "k", Lookup::Id("a")).await.unwrap().map(|record| record.position);
    let is_one = crate::Precondition::ListIs { kind: "k".into(), newest, total: 1 };
    let delete = world.batch(1).then(Op::DeleteRecord { kind: "k".into(), id: "b".into() });

    // Together, so that they are in one group when that is allowed.
    let (deleted, required) =
        tokio::join!(world.store.commit(delete), world.store.commit(world.batch(1).require(is_one).then(put("c"))));

    deleted.unwrap();
    required.unwrap();
}

#[tokio::test]
async fn tls_needs_the_right_authority() {
    let made = certificates();
    let settings = ["ssl=on", "ssl_cert_file=../server.crt", "ssl_key_file=../server.key"];
    let server = PostgresServer::start_with(&settings, |folder| {
        std::fs::write(folder.join("server.crt"), &made.server.0).unwrap();
        let key = folder.join("server.key");
        std::fs::write(&key, &made.server.1).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    });
    let address = server.address().replace("127.0.0.1", "localhost");
    let with = async |address: &str, ca: Option<&str>| {
        let tls = crate::Tls { ca: ca.map(|ca| ca.as_bytes().to_vec()), client: None };
        Postgres::open(address, Options { tls, ..Options::default() }).await
    };
    let is_sealed = async |store: Postgres| {
        let rows = store.hosts.ask(Question::of("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).await;
        rows.unwrap()[0].get::<_, bool>(0)
    };
    let sealed = format!("{address}?sslmode=require");

    let store = with(&sealed, Some(&made.authority)).await.unwrap();
    let plain = with(&address, None).await.unwrap();

    assert_eq!((is_sealed(store).await, is_sealed(plain).await), (true, false));
    assert!(with(&sealed, None).await.is_err(), "the system does not know the authority");
    assert!(matches!(with(&sealed, Some("no certificate")).await, Err(Error::Postgres(_))));
}
