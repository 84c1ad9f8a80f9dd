//! Turns over locked tenants, next to the same in memory.

use std::collections::HashMap;

use super::{Heads, Turns, heads_of_each};
use crate::{LeaseRequest, Shares, Tenant};

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn heads(asked: usize, found: &[(u64, i64)]) -> Heads {
    let mut heads = Heads::new(asked);
    found.iter().for_each(|(at_ms, job)| heads.add(*at_ms, *job));
    heads
}

fn request(max: u32) -> LeaseRequest {
    LeaseRequest { now_ms: 10, lease_ms: 100, max }
}

fn jobs(turns: &mut Turns, max: u32, shares: &mut Shares) -> (Vec<i64>, bool) {
    let (leased, has_more) = turns.lease((request(max), max as usize), shares);
    (leased.into_iter().map(|(_, job)| job).collect(), has_more)
}

#[test]
fn tenants_take_turns_and_those_on_the_ring_come_before_newcomers() {
    let mut turns = Turns::new(7);
    turns.add(tenant("new"), None, heads(9, &[(2, 20), (50, 21)]));
    turns.add(tenant("newer"), None, heads(9, &[(3, 30)]));
    turns.add(tenant("ring"), Some(7), heads(9, &[(1, 10), (1, 11)]));
    turns.add(tenant("waits"), None, heads(9, &[(60, 40)]));
    turns.wake(10);

    assert_eq!(jobs(&mut turns, 3, &mut Shares::default()), (vec![10, 20, 30], true));
    assert_eq!(turns.waiting_ms(), Some(50));
    let (mut settled, given) = turns.settled();
    settled.sort();
    let expected = [
        (tenant("new"), None, Some(50)),
        (tenant("newer"), None, Some(110)),
        (tenant("ring"), Some(8), Some(1)),
        (tenant("waits"), None, Some(60)),
    ];
    assert_eq!((settled, given), (expected.to_vec(), Some(8)));
    assert_eq!(jobs(&mut turns, 3, &mut Shares::default()), (vec![11], false));
}

#[test]
fn a_tenant_without_a_share_goes_to_the_end_and_is_no_reason_to_ask_again() {
    let mut turns = Turns::new(0);
    turns.add(tenant("full"), Some(1), heads(9, &[(1, 1)]));
    turns.add(tenant("other"), Some(2), heads(9, &[(1, 2)]));
    let mut shares = Shares { each: 1, under_way: HashMap::from([(tenant("full"), 1)]) };
    turns.wake(10);

    assert_eq!(jobs(&mut turns, 9, &mut shares), (vec![2], false));
    let (settled, _) = turns.settled();
    assert!(settled.contains(&(tenant("full"), Some(1), Some(1))), "{settled:?}");
}

#[test]
fn a_tenant_with_more_than_was_looked_at_is_asked_again() {
    let mut turns = Turns::new(0);
    turns.add(tenant("many"), None, heads(2, &[(1, 1), (1, 2)]));
    turns.wake(10);

    assert_eq!(jobs(&mut turns, 9, &mut Shares::default()), (vec![1, 2], true));
    assert_eq!(turns.settled().0, [(tenant("many"), Some(1), Some(0))]);
}

#[test]
fn as_many_heads_are_looked_at_as_could_be_leased() {
    assert_eq!((heads_of_each(1000, 1), heads_of_each(1, 50), heads_of_each(0, 3)), (1001, 2, 1));
    assert_eq!((heads_of_each(100, 4), heads_of_each(100, 100)), (51, 9));
}
