//! Which batches share a group.

use super::{GROUP_BATCHES, GROUP_BYTES, GROUP_OPERATIONS, OPERATIONS_OF_A_TENANT, Room};
use crate::{Batch, Op, Precondition, Tenant};

fn batch(tenant: &str, operations: usize) -> Batch {
    let mut batch = Batch::new(&Tenant::parse(tenant).unwrap(), 1);
    batch.operations = vec![Op::Count { counter: "c".into(), amount: 1, expires_ms: None }; operations];
    batch
}

fn taken(batches: &[Batch]) -> Vec<bool> {
    let mut room = Room::default();
    batches.iter().map(|batch| room.take(batch)).collect()
}

#[test]
fn a_group_is_filled_to_its_bounds_and_not_beyond() {
    let many: Vec<Batch> = (0..=GROUP_BATCHES).map(|number| batch(&format!("t{number}"), 1)).collect();
    assert_eq!(taken(&many).iter().filter(|is_taken| **is_taken).count(), GROUP_BATCHES);

    let half = GROUP_OPERATIONS / 2;
    assert_eq!(taken(&[batch("a", half), batch("b", half), batch("c", 1)]), [true, true, false]);
    assert_eq!(taken(&[batch("a", OPERATIONS_OF_A_TENANT), batch("a", 1), batch("b", 1)]), [true, false, true]);
    assert_eq!(taken(&[batch("a", GROUP_OPERATIONS + 1), batch("b", 1)]), [true, false], "the first always goes");

    let large = |bytes: u64| {
        let value = vec![0; usize::try_from(bytes).unwrap()].into();
        batch("a", 0).then(Op::Append { emitter: "e".into(), stream: "s".into(), value, keep: 1 })
    };
    assert_eq!(taken(&[large(GROUP_BYTES - 1), large(1), large(1)]), [true, true, false]);
}

#[test]
fn what_only_the_server_knows_goes_alone() {
    let clear = || batch("a", 0).then(Op::ClearScope { scope: "s".into(), max: 1 });
    assert_eq!(taken(&[batch("a", 1), clear()]), [true, false]);
    assert_eq!(taken(&[clear(), batch("a", 1)]), [true, false]);
    let delete = || batch("a", 0).then(Op::DeleteRecord { kind: "k".into(), id: "i".into() });
    let list = || batch("a", 0).require(Precondition::ListIs { kind: "k".into(), newest: None, total: 0 });
    assert_eq!(taken(&[list(), delete(), batch("a", 1), list()]), [true, true, true, false]);
}
