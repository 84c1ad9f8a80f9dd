//! Tests of feed.

use bytes::Bytes;
use futures_util::FutureExt;

use super::{Appended, Bounds, Feed, Live, Taken};
use crate::{EntryId, Op, Tenant};

const BOUNDS: Bounds = Bounds { emitter_bytes: 10_000, tenant_bytes: 20_000, total_bytes: 30_000 };

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

/// Entries of 1000 bytes and a little more.
fn publish(feed: &Feed, tenant: &Tenant, emitter: &str, ids: std::ops::Range<u32>) {
    let entry = |sequence| Appended {
        tenant: tenant.clone(),
        emitter: emitter.to_owned(),
        stream: "default".to_owned(),
        id: EntryId::new(1, sequence),
        value: Bytes::from(vec![b'x'; 1000]),
    };
    feed.publish(ids.map(entry).collect());
}

/// The sequence numbers that can be taken; `u32::MAX` for a loss.
fn taken(live: &mut Live) -> Vec<u32> {
    let mut found = Vec::new();
    loop {
        match live.take() {
            Some(Taken::Entry(entry)) => found.push(entry.id.sequence()),
            Some(Taken::Lost) => {
                found.push(u32::MAX);
                return found;
            }
            None => return found,
        }
    }
}

fn held_bytes(feed: &Feed) -> usize {
    feed.shared.held_bytes.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn every_reader_gets_what_is_published_after_it_joined() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let mut first = feed.join(&a, "e");
    publish(&feed, &a, "e", 0..2);
    let mut second = feed.join(&a, "e");
    publish(&feed, &a, "e", 2..3);
    publish(&feed, &a, "other", 3..4);
    publish(&feed, &tenant("b"), "e", 4..5);

    assert_eq!(taken(&mut first), [0, 1, 2]);
    assert_eq!(taken(&mut second), [2]);
    assert_eq!(held_bytes(&feed), 0, "what all have taken is gone");
}

#[test]
fn a_reader_is_woken_by_what_comes() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let mut live = feed.join(&a, "e");

    assert!(live.ready().now_or_never().is_none());
    publish(&feed, &a, "e", 0..1);
    assert!(live.ready().now_or_never().is_some());
    assert_eq!(taken(&mut live), [0]);
    assert!(live.ready().now_or_never().is_none());
    feed.lose(&a, "e");
    assert!(live.ready().now_or_never().is_some());
}

#[test]
fn a_reader_that_is_too_slow_is_told_and_holds_nothing() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let (mut slow, mut quick) = (feed.join(&a, "e"), feed.join(&a, "e"));
    for round in 0..5 {
        publish(&feed, &a, "e", round * 5..round * 5 + 5);
        assert_eq!(taken(&mut quick).len(), 5);
        assert!(held_bytes(&feed) <= BOUNDS.emitter_bytes);
    }

    assert_eq!(held_bytes(&feed), 0, "only the slow one wanted them");
    assert_eq!(taken(&mut slow), [u32::MAX]);
    publish(&feed, &a, "e", 90..91);
    assert_eq!(taken(&mut slow), [u32::MAX], "and nothing follows");
    assert_eq!(taken(&mut quick), [90]);
}

#[test]
fn a_loss_is_told_to_the_readers_of_its_time() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let mut before = feed.join(&a, "e");
    publish(&feed, &a, "e", 0..1);

    feed.lose(&a, "e");
    let mut after = feed.join(&a, "e");
    publish(&feed, &a, "e", 1..2);

    assert_eq!(taken(&mut before), [u32::MAX]);
    assert_eq!(taken(&mut after), [1]);
}

#[test]
fn the_tenant_that_holds_most_gives_way() {
    let (feed, large, small) = (Feed::new(BOUNDS), tenant("large"), tenant("small"));
    let mut hoards: Vec<Live> = (0..3).map(|number| feed.join(&large, &format!("e{number}"))).collect();
    let mut modest = feed.join(&small, "e");
    publish(&feed, &small, "e", 0..8);
    for number in 0..3 {
        publish(&feed, &large, &format!("e{number}"), 0..8);
    }

    assert!(held_bytes(&feed) <= BOUNDS.total_bytes);
    assert_eq!(taken(&mut modest).len(), 8);
    let losses = hoards.iter_mut().filter_map(|hoard| taken(hoard).pop()).filter(|last| *last == u32::MAX);
    assert_eq!(losses.count(), 1, "one log is enough");
}

#[test]
fn all_tenants_together_stay_within_the_total() {
    let feed = Feed::new(BOUNDS);
    let tenants: Vec<Tenant> = (0..5).map(|number| tenant(&format!("t{number}"))).collect();
    let mut lives: Vec<Live> = tenants.iter().map(|tenant| feed.join(tenant, "e")).collect();
    for tenant in &tenants {
        publish(&feed, tenant, "e", 0..8);
        assert!(held_bytes(&feed) <= BOUNDS.total_bytes);
    }

    let whole = lives.iter_mut().map(taken).filter(|taken| taken.len() == 8);
    assert!(whole.count() >= 2);
}

#[test]
fn one_rendering_serves_all_readers_and_is_counted_until_the_last_lets_go() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let mut readers = [feed.join(&a, "e"), feed.join(&a, "e")];
    publish(&feed, &a, "e", 0..1);

    let [first, second] = readers.each_mut().map(|reader| match reader.take() {
        Some(Taken::Entry(entry)) => entry.rendered(|_| vec![b'y'; 500]),
        other => panic!("{other:?}"),
    });
    drop(readers);

    assert_eq!((&first[..], first.as_ptr()), (&[b'y'; 500][..], second.as_ptr()), "one copy");
    assert!(held_bytes(&feed) > 1500);
    drop(first);
    assert!(held_bytes(&feed) > 1500);
    drop(second);
    assert_eq!(held_bytes(&feed), 0);
}

#[test]
fn entries_that_connections_hold_count_as_well() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let mut reader = feed.join(&a, "e");
    let mut held = Vec::new();
    for round in 0..5 {
        publish(&feed, &a, "e", round * 5..round * 5 + 5);
        while let Some(Taken::Entry(entry)) = reader.take() {
            held.push(entry);
        }
    }

    assert!(held_bytes(&feed) <= BOUNDS.tenant_bytes + 6000, "{}", held_bytes(&feed));
    assert!(matches!(reader.take(), Some(Taken::Lost)));
}

#[test]
fn what_is_read_from_before_counts_and_waits_for_room() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let reader = feed.join(&a, "e");

    let mut held = Vec::new();
    while reader.turn_to_read().now_or_never().unwrap().is_some() {
        held.push(reader.adopt(EntryId::FIRST, "default", Bytes::from(vec![0; 5000])));
    }

    assert_eq!(held.len(), 4);
    held.pop();
    assert!(reader.turn_to_read().now_or_never().unwrap().is_some());
}

#[test]
fn an_emitter_without_readers_costs_nothing() {
    let (feed, a) = (Feed::new(BOUNDS), tenant("a"));
    let append = Op::Append { emitter: "e".into(), stream: "default".into(), value: "v".into(), keep: 1 };
    let (operations, entries) = ([append], [EntryId::FIRST]);

    assert_eq!(feed.note(&a, &operations, &entries).len(), 0);
    let live = feed.join(&a, "e");
    assert_eq!(feed.note(&a, &operations, &entries).len(), 1);
    assert_eq!(feed.note(&tenant("b"), &operations, &entries).len(), 0);
    drop(live);

    assert_eq!(feed.note(&a, &operations, &entries).len(), 0);
    assert!(feed.is_idle() && feed.shared.lock().is_empty());
}
