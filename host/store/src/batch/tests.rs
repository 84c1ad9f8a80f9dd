//! The shape of a batch, at each of its bounds.

use bytes::Bytes;

use super::{Batch, Enqueue, EntryRef, Invalid, MAX_MS, MAX_NAME_BYTES, MAX_OPERATIONS, MAX_VALUE_BYTES, Op};
use crate::contract::part;
use crate::{PART_BYTES_MAXIMUM, Tenant};

fn check(operations: Vec<Op>) -> Result<(), Invalid> {
    let tenant = Tenant::parse("u_a").unwrap();
    let mut batch = Batch::new(&tenant, 1);
    batch.operations = operations;
    batch.check_shape()
}

fn set(key: &str, value: Bytes) -> Op {
    Op::SetValue { scope: "s".into(), key: key.into(), value, cap_bytes: 1 }
}

fn job_about(index: usize) -> Op {
    Op::Enqueue(Enqueue {
        lane: None,
        due_ms: 0,
        payload: Bytes::new(),
        entry: Some(EntryRef::InBatch(index)),
        held_until_ms: None,
    })
}

#[test]
fn a_batch_has_a_bounded_number_of_operations() {
    let full = vec![Op::ClearTimer { timer: "t".into() }; MAX_OPERATIONS];
    let mut over = full.clone();
    over.push(Op::ClearTimer { timer: "t".into() });

    assert_eq!(check(full), Ok(()));
    assert_eq!(check(over), Err(Invalid::TooManyOperations { found: MAX_OPERATIONS + 1 }));
}

#[test]
fn parts_of_entries_are_short_and_count_as_operations() {
    let check = |operations: usize, contents: &[&str]| {
        let mut batch = Batch::new(&Tenant::parse("u_a").unwrap(), 1);
        batch.operations = vec![Op::ClearTimer { timer: "t".into() }; operations];
        batch.parts = contents.iter().map(|content| part("e", content, 1)).collect();
        batch.check_shape()
    };
    let (longest, too_long) = ("x".repeat(PART_BYTES_MAXIMUM), "x".repeat(PART_BYTES_MAXIMUM + 1));

    assert_eq!(check(0, &[&longest]), Ok(()));
    assert_eq!(check(0, &[&too_long]), Err(Invalid::PartTooLong { found: PART_BYTES_MAXIMUM + 1 }));
    assert_eq!(check(MAX_OPERATIONS - 1, &[""]), Ok(()));
    assert_eq!(check(MAX_OPERATIONS, &[""]), Err(Invalid::TooManyOperations { found: MAX_OPERATIONS + 1 }));
}

#[test]
fn a_job_of_a_lane_is_not_held() {
    let held = |lane: Option<&str>, held_until_ms| {
        let (lane, held_until_ms) = (lane.map(Into::into), Some(held_until_ms));
        check(vec![Op::Enqueue(Enqueue { lane, due_ms: 0, payload: Bytes::new(), entry: None, held_until_ms })])
    };

    assert_eq!(held(None, MAX_MS), Ok(()));
    assert_eq!(held(None, MAX_MS + 1), Err(Invalid::TimeTooLarge { found: MAX_MS + 1 }));
    assert_eq!(held(Some("lane"), 1), Err(Invalid::HeldInLane));
}

#[test]
fn names_have_one_to_2048_bytes() {
    let longest = "n".repeat(MAX_NAME_BYTES);
    let too_long = "n".repeat(MAX_NAME_BYTES + 1);

    assert_eq!(check(vec![set(&longest, Bytes::new())]), Ok(()));
    assert_eq!(check(vec![set("", Bytes::new())]), Err(Invalid::NameLength { found: 0 }));
    assert_eq!(check(vec![set(&too_long, Bytes::new())]), Err(Invalid::NameLength { found: MAX_NAME_BYTES + 1 }));
}

#[test]
fn values_have_a_greatest_length() {
    let largest = Bytes::from(vec![0; MAX_VALUE_BYTES]);
    let too_large = Bytes::from(vec![0; MAX_VALUE_BYTES + 1]);

    assert_eq!(check(vec![set("k", largest)]), Ok(()));
    assert_eq!(check(vec![set("k", too_large)]), Err(Invalid::ValueTooLong { found: MAX_VALUE_BYTES + 1 }));
}

#[test]
fn a_job_may_be_about_an_earlier_append_only() {
    let append = Op::Append { emitter: "e".into(), stream: "s".into(), value: Bytes::new(), keep: 1 };

    assert_eq!(check(vec![append.clone(), job_about(0)]), Ok(()));
    assert_eq!(check(vec![append.clone(), job_about(1)]), Err(Invalid::DanglingEntry { index: 1 }));
    assert_eq!(check(vec![job_about(0), append]), Err(Invalid::DanglingEntry { index: 0 }));
}

#[test]
fn times_end_where_every_engine_is_still_exact() {
    let timer = |due_ms| Op::SetTimer { timer: "t".into(), due_ms, schedule: Bytes::new() };

    assert_eq!(check(vec![timer(MAX_MS)]), Ok(()));
    assert_eq!(check(vec![timer(MAX_MS + 1)]), Err(Invalid::TimeTooLarge { found: MAX_MS + 1 }));
}

#[test]
fn a_clear_is_alone_on_its_scope() {
    let clear = |scope: &str| Op::ClearScope { scope: scope.into(), max: 1 };

    assert_eq!(check(vec![clear("other"), set("k", Bytes::new()), set("k", Bytes::new())]), Ok(()));
    for pair in [vec![clear("s"), set("k", Bytes::new())], vec![set("k", Bytes::new()), clear("s")]] {
        assert_eq!(check(pair), Err(Invalid::ClearIsNotAlone));
    }
}

#[test]
fn locks_have_an_owner() {
    let tenant = Tenant::parse("u_a").unwrap();
    for operation in [Op::Lock { scope: "s".into(), key: "k".into(), until_ms: 1 }, Op::Unlock { scope: "s".into() }] {
        let mut batch = Batch::new(&tenant, 1).then(operation);
        assert_eq!(batch.check_shape(), Err(Invalid::NoLockOwner));

        batch.lock_owner = Some("run".into());
        assert_eq!(batch.check_shape(), Ok(()));
    }
}
