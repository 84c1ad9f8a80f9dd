//! A slot is what its snapshot says, whatever was done to it before.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use ::engine::{GUARD_BYTES, PAGE_BYTES, RESERVED_BYTES};
use futures_util::FutureExt;
use proptest::prelude::*;

use super::slot::Slot;
use super::{Lent, Numbered, RESTORED_ASIDE_BYTES, Slots};
use crate::region::MACHINE_PAGE_BYTES;
use crate::snapshot::Snapshot;

fn snapshot(pages: usize, salt: usize) -> Arc<Snapshot> {
    // Every other machine page is a hole.
    let byte = |at: usize| if (at / MACHINE_PAGE_BYTES).is_multiple_of(2) { (at * 31 + salt) as u8 } else { 0 };
    Snapshot::unnamed(&(0..pages * PAGE_BYTES).map(byte).collect::<Vec<_>>()).unwrap()
}

/// A slot of the pool, as an instance is lent it.
fn lend(slots: &Slots, snapshot: &Arc<Snapshot>) -> Lent {
    let (lent, instance) = slots.lend(snapshot).unwrap();
    assert!(instance.is_none());
    lent
}

/// What a run does to a slot.
fn with<T>(lent: &Lent, run: impl FnOnce(&mut Slot) -> T) -> T {
    run(&mut lent.slot.as_ref().unwrap().lock())
}

#[expect(unsafe_code, reason = "what a guest does, without one")]
fn memory(slot: &mut Slot) -> &mut [u8] {
    // SAFETY: the slot is borrowed, and can be touched up to its size.
    unsafe { std::slice::from_raw_parts_mut(slot.memory(), slot.size()) }
}

/// Whether an address can be touched, as the system lists it.
fn is_open(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let holds = |line: &&str| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let parse = |text| usize::from_str_radix(text, 16).unwrap();
        (parse(start)..parse(end)).contains(&address)
    };
    let line = maps.lines().find(holds);
    line.is_some_and(|line| !line.split(' ').nth(1).unwrap().starts_with("---"))
}

#[derive(Clone, Debug)]
enum Operation {
    Write { at: prop::sample::Index, length: usize },
    Grow { pages: usize },
}

fn deeds() -> impl Strategy<Value = Vec<Operation>> {
    let write = (any::<prop::sample::Index>(), 1usize..3 * MACHINE_PAGE_BYTES)
        .prop_map(|(at, length)| Operation::Write { at, length });
    let grow = (0usize..3).prop_map(|pages| Operation::Grow { pages });
    prop::collection::vec(prop_oneof![9 => write, 1 => grow], 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Few writes and many, in more places than are restored one by one, inside of the snapshot and beyond it.
    #[test]
    fn nothing_of_a_run_is_left_for_the_next(runs in prop::collection::vec((deeds(), 1usize..4), 1..4)) {
        let (slots, snapshot) = (Slots::new(1), snapshot(5, 1));
        for (deeds, times) in runs {
            // What is done again dirties the same pages, which are not looked for then.
            for _ in 0..times {
                in_one_poll(|| run(&slots, &snapshot, &deeds))?;
            }
        }
        prop_assert!(with(&lend(&slots, &snapshot), |slot| memory(slot) == snapshot.bytes()));
    }
}

fn run(slots: &Slots, snapshot: &Arc<Snapshot>, deeds: &[Operation]) -> Result<(), TestCaseError> {
    with(&lend(slots, snapshot), |slot| do_all(slot, snapshot, deeds))
}

fn do_all(slot: &mut Slot, snapshot: &Snapshot, deeds: &[Operation]) -> Result<(), TestCaseError> {
    prop_assert_eq!(slot.size(), snapshot.length());
    prop_assert!(memory(slot) == snapshot.bytes());
    for deed in deeds {
        match deed {
            Operation::Write { at, length } => {
                let start = at.index(slot.size());
                let end = (start + length).min(slot.size());
                memory(slot)[start..end].fill(0xa5);
            }
            Operation::Grow { pages } => {
                let (before, wanted) = (slot.size(), slot.size() + pages * PAGE_BYTES);
                slot.grow(wanted).unwrap();
                prop_assert!(memory(slot)[before..].iter().all(|byte| *byte == 0));
            }
        }
    }
    Ok(())
}

fn in_one_poll<T>(deed: impl FnOnce() -> T + Unpin) -> T {
    let mut deed = Some(deed);
    Numbered(poll_fn(|_| Poll::Ready(deed.take().unwrap()()))).now_or_never().unwrap()
}

/// A slot of the pool, after a run that wrote to one page and ended.
fn written_at(slots: &Slots, snapshot: &Arc<Snapshot>, page: usize) -> Lent {
    let lent = lend(slots, snapshot);
    with(&lent, |slot| memory(slot)[page * MACHINE_PAGE_BYTES] ^= 0xff);
    lent
}

/// How often the slot of the pool was looked at, and whether it is restored.
fn looks(slots: &Slots, snapshot: &Snapshot) -> (u32, bool) {
    let mut idle = slots.lock();
    let mut slot = idle.first().unwrap().slot.lock();
    (slot.looks, memory(&mut slot) == snapshot.bytes())
}

#[test]
fn pages_are_looked_for_when_others_than_before_may_be_dirty() {
    let (slots, snapshot) = (Slots::new(1), snapshot(5, 1));
    let run_at = |page| {
        in_one_poll(|| drop(written_at(&slots, &snapshot, page)));
        looks(&slots, &snapshot)
    };
    assert_eq!(run_at(3), (1, true), "nothing is known of a new slot");

    // The thread may have a fault of its own now and then, and not each time.
    let (seen, are_restored): (Vec<u32>, Vec<bool>) = (0..9).map(|_| run_at(3)).unzip();
    let after = seen[8];
    assert!(after < 10 && are_restored.iter().all(|is_restored| *is_restored), "{seen:?}");
    assert_eq!(run_at(7), (after + 1, true), "a page that was clean");

    let lent = in_one_poll(|| written_at(&slots, &snapshot, 7));
    in_one_poll(|| drop(lent));
    assert_eq!(looks(&slots, &snapshot), (after + 2, true), "of several polls, any may have been elsewhere");
}

/// On the one thread of this runtime nothing else could happen meanwhile.
#[tokio::test]
async fn a_memory_that_grew_large_is_restored_aside_and_lent_again() {
    let (mut slots, snapshot) = (Slots::new(1), snapshot(5, 1));
    slots.restore_aside();
    let grown = |bytes: usize| {
        let lent = lend(&slots, &snapshot);
        with(&lent, |slot| {
            slot.grow(snapshot.length() + bytes).unwrap();
            memory(slot).fill(0xa5);
        });
        lent
    };
    drop(grown(PAGE_BYTES));
    assert_eq!(slots.lock().len(), 1, "a small one is restored at once");

    let lent = grown(RESTORED_ASIDE_BYTES);
    {
        let idle = slots.lock();
        // Restored here it would wait for this lock for ever.
        drop(lent);
        assert_eq!(idle.len(), 0);
    }

    while slots.lock().len() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(with(&lend(&slots, &snapshot), |slot| memory(slot) == snapshot.bytes()));
}

#[test]
fn every_page_written_is_restored() {
    let (slots, snapshot) = (Slots::new(1), snapshot(40, 1));
    let lent = lend(&slots, &snapshot);
    with(&lent, |slot| memory(slot).fill(0xa5));

    drop(lent);

    assert!(with(&lend(&slots, &snapshot), |slot| memory(slot) == snapshot.bytes()));
}

#[test]
fn as_many_pages_and_stretches_as_are_restored_one_by_one_and_one_more() {
    let (slots, snapshot) = (Slots::new(1), snapshot(20, 1));
    let bounds = [(64, 1), (65, 1), (255, 1), (256, 1), (257, 1), (64, 2), (65, 2), (127, 2), (128, 2), (129, 2)];
    for (count, step) in bounds {
        let lent = lend(&slots, &snapshot);
        for page in (0..count).map(|number| number * step) {
            with(&lent, |slot| memory(slot)[page * MACHINE_PAGE_BYTES + 7] ^= 0xa5);
        }

        drop(lent);

        let is_restored = with(&lend(&slots, &snapshot), |slot| memory(slot) == snapshot.bytes());
        assert!(is_restored, "{count} pages, every {step}");
    }
}

#[test]
fn a_slot_ends_where_its_memory_ends() {
    let (slots, large, small) = (Slots::new(1), snapshot(4, 1), snapshot(1, 2));
    let ends_at = |slot: &Slot, size: usize| {
        let start = slot.memory().addr();
        slot.size() == size
            && is_open(start)
            && is_open(start + size - 1)
            && !is_open(start + size)
            && !is_open(start - 1)
    };
    let lent = lend(&slots, &large);
    assert!(with(&lent, |slot| ends_at(slot, large.length())));
    with(&lent, |slot| slot.grow(large.length() + PAGE_BYTES)).unwrap();
    assert!(with(&lent, |slot| ends_at(slot, large.length() + PAGE_BYTES)));
    let start = with(&lent, |slot| slot.memory());
    drop(lent);

    let lent = lend(&slots, &small);

    assert_eq!(with(&lent, |slot| slot.memory()), start, "it is the same slot");
    assert!(with(&lent, |slot| ends_at(slot, small.length())));
    assert!(with(&lent, |slot| memory(slot) == small.bytes()));
    assert!(!is_open(start.addr() + RESERVED_BYTES + GUARD_BYTES - 1));
}

#[test]
fn a_memory_grows_to_what_can_be_addressed_and_no_further() {
    let lent = lend(&Slots::new(1), &snapshot(1, 1));

    assert!(with(&lent, |slot| slot.grow(RESERVED_BYTES + 1)).is_err());
    assert!(with(&lent, |slot| slot.grow(RESERVED_BYTES)).is_ok());
}

#[test]
fn a_slot_goes_to_whom_it_served_before_and_the_oldest_to_others() {
    let (slots, snapshots) = (Slots::new(2), [snapshot(1, 1), snapshot(1, 2), snapshot(1, 3)]);
    let start = |lent: &Lent| with(lent, |slot| slot.memory());
    let places: Vec<_> = snapshots[..2].iter().map(|snapshot| lend(&slots, snapshot)).collect();
    let [first, second] = [start(&places[0]), start(&places[1])];
    drop(places);

    let again = lend(&slots, &snapshots[1]);
    assert_eq!(start(&again), second);
    drop(again);
    let other = lend(&slots, &snapshots[2]);
    assert_eq!(start(&other), first);
}

#[test]
fn no_more_slots_are_idle_than_may_be() {
    let (slots, snapshot) = (Slots::new(2), snapshot(1, 1));
    let lent: Vec<_> = (0..4).map(|_| lend(&slots, &snapshot)).collect();

    drop(lent);

    assert_eq!(slots.lock().len(), 2);
}
