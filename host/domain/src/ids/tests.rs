//! Ids: what parses, what does not, and what random bytes give.

use proptest::prelude::*;

use super::*;

#[test]
fn an_id_has_its_prefix_and_twelve_letters_or_digits() {
    assert!(SourceId::parse("dc_abcABC012345").is_ok());
    for broken in
        ["", "dc_", "dc_abcABC01234", "dc_abcABC0123456", "sc_abcABC012345", "dc_abcABC01234-", "dc_abcABC0123é"]
    {
        assert!(SourceId::parse(broken).is_err(), "{broken}");
    }
}

#[test]
fn every_kind_has_its_own_prefix() {
    let random = [7; 16];

    let ids = [
        ComponentId::from_random(random).to_string(),
        SourceId::from_random(random).to_string(),
        SubscriptionId::from_random(random).to_string(),
        WebhookId::from_random(random).to_string(),
        UserId::from_random(random).to_string(),
        WorkflowId::from_random(random).to_string(),
        AccountId::from_random(random).to_string(),
    ];

    for (id, prefix) in ids.iter().zip(["sc_", "dc_", "sub_", "wh_", "u_", "p_", "apn_"]) {
        assert!(id.starts_with(prefix), "{id}");
        assert_eq!(id.len(), prefix.len() + 12);
    }
}

#[test]
fn an_error_quotes_no_more_than_the_start_of_what_was_given() {
    let error = UserId::parse(&"x".repeat(10_000)).unwrap_err();

    assert_eq!(error.given.len(), 64);
}

#[test]
fn a_party_is_told_by_its_prefix() {
    let source = SourceId::from_random([1; 16]);
    let workflow = WorkflowId::from_random([2; 16]);
    let webhook = WebhookId::from_random([3; 16]);

    assert_eq!(EmitterId::parse(source.as_str()), Ok(EmitterId::Source(source.clone())));
    assert_eq!(EmitterId::parse(workflow.as_str()), Ok(EmitterId::Workflow(workflow)));
    assert!(EmitterId::parse(webhook.as_str()).is_err());
    assert_eq!(ListenerId::parse(webhook.as_str()), Ok(ListenerId::Webhook(webhook)));
    assert!(ListenerId::parse("u_abcABC012345").is_err());
}

#[test]
fn an_id_is_checked_when_it_is_read_from_json() {
    let source = SourceId::from_random([9; 16]);

    let json = serde_json::to_string(&source).unwrap();

    assert_eq!(serde_json::from_str::<SourceId>(&json).unwrap(), source);
    assert!(serde_json::from_str::<SourceId>("\"dc_short\"").is_err());
}

#[test]
fn an_emit_id_beyond_its_number_of_bits_is_refused() {
    let largest = EmitId::new(i64::MAX, [255; 14]);

    assert!(EmitId::parse(largest.as_str()).is_ok());
    assert!(EmitId::parse(&"z".repeat(27)).is_err());
    assert!(EmitId::parse("short").is_err());
}

#[test]
fn an_endpoint_key_never_shows_in_debug_output() {
    let key = EndpointKey::from_random([5; 32]);

    assert_eq!(format!("{key:?}"), "EndpointKey(…)");
}

proptest! {
    #[test]
    fn what_random_bytes_give_parses_again(random: [u8; 32], half: [u8; 16]) {
        let key = EndpointKey::from_random(random);
        prop_assert_eq!(EndpointKey::parse(key.as_str()).unwrap(), key);
        let id = WebhookId::from_random(half);
        prop_assert_eq!(WebhookId::parse(id.as_str()).unwrap(), id);
    }

    #[test]
    fn emit_ids_sort_by_time_and_tell_it(
        early in 0_i64..1 << 47, later in 1_i64..1 << 40, one: [u8; 14], other: [u8; 14],
    ) {
        let first = EmitId::new(early, one);
        let second = EmitId::new(early + later, other);

        prop_assert!(first < second);
        prop_assert_eq!(first.as_str().len(), 27);
        prop_assert_eq!(first.emitted_at_ms(), early);
        prop_assert_eq!(EmitId::parse(second.as_str()).unwrap(), second);
    }
}
