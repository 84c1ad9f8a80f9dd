//! Tenant ids at their bounds, and the hash that places them.

use super::{InvalidTenant, Partition, Tenant};

#[test]
fn a_tenant_id_has_one_to_64_plain_characters() {
    let longest = "a".repeat(64);
    let too_long = "a".repeat(65);

    for good in ["u", "u_Ab-9", &longest] {
        assert_eq!(Tenant::parse(good).map(|tenant| tenant.as_str().to_owned()), Ok(good.to_owned()));
    }
    for bad in ["", "a:b", "a{b}", "a b", "ä", &too_long] {
        assert_eq!(Tenant::parse(bad), Err(InvalidTenant), "{bad}");
    }
}

#[test]
fn the_partition_of_a_tenant_never_changes() {
    let place = |text: &str| Tenant::parse(text).unwrap().partition(16).index();

    // Written down once: a different answer would lose data that is already stored.
    assert_eq!([place("u_a"), place("u_b"), place("system")], [4, 13, 12]);
}

#[test]
fn tenants_spread_over_all_partitions() {
    let mut seen: Vec<Partition> = (0..1000).map(|n| Tenant::parse(&format!("u_{n}")).unwrap().partition(16)).collect();
    seen.sort();
    seen.dedup();

    assert_eq!(seen, Partition::all(16));
}
