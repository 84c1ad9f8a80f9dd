//! Routing.

use super::*;

const SOURCE: &str = "dc_aaaaaaaaaaaa";
const OTHER: &str = "dc_bbbbbbbbbbbb";
const WORKFLOW: &str = "p_cccccccccccc";
const WEBHOOK: &str = "wh_dddddddddddd";

fn subscription(emitter: &str, event_name: &str, listener: &str) -> Subscription {
    Subscription {
        id: SubscriptionId::from_random([1; 16]),
        emitter_id: EmitterPattern::parse(emitter).unwrap(),
        listener_id: ListenerId::parse(listener).unwrap(),
        event_name: EventName::parse(event_name).unwrap(),
    }
}

#[test]
fn a_subscription_routes_one_stream_of_its_emitters() {
    let cases = [
        (SOURCE, "", SOURCE, "default", true),
        (SOURCE, "default", SOURCE, "default", true),
        (SOURCE, "", OTHER, "default", false),
        (SOURCE, "", SOURCE, "$errors", false),
        (SOURCE, "", SOURCE, "paid", false),
        (SOURCE, "paid", SOURCE, "paid", true),
        ("dc_*", "$logs", OTHER, "$logs", true),
        ("dc_*", "", WORKFLOW, "default", false),
        ("p_*", "$errors", WORKFLOW, "$errors", true),
        ("p_*", "$errors", SOURCE, "$errors", false),
    ];

    for (pattern, event_name, emitter, stream, expected) in cases {
        let subscription = subscription(pattern, event_name, WEBHOOK);
        let found = subscription.matches(&EmitterId::parse(emitter).unwrap(), &Stream::parse(stream).unwrap());
        assert_eq!(found, expected, "{pattern} {event_name} {emitter} {stream}");
    }
}

#[test]
fn a_listener_gets_an_event_once_and_never_its_own() {
    let subscriptions =
        [subscription(SOURCE, "", WEBHOOK), subscription("dc_*", "default", WEBHOOK), subscription("dc_*", "", SOURCE)];
    let default = Stream::Events(Channel::Default);

    let own = listeners(&subscriptions, &EmitterId::parse(SOURCE).unwrap(), &default);
    let others = listeners(&subscriptions, &EmitterId::parse(OTHER).unwrap(), &default);

    assert_eq!(own.iter().map(|id| id.as_str()).collect::<Vec<_>>(), [WEBHOOK]);
    assert_eq!(others.iter().map(|id| id.as_str()).collect::<Vec<_>>(), [WEBHOOK, SOURCE]);
}

#[test]
fn a_source_may_not_listen_to_itself() {
    let itself = subscription(SOURCE, "", SOURCE);
    let glob = subscription("dc_*", "", SOURCE);

    assert!(check(&itself.emitter_id, &itself.listener_id).is_err());
    assert!(check(&glob.emitter_id, &glob.listener_id).is_ok());
}

#[test]
fn only_known_patterns_and_names_parse() {
    for broken in ["*", "wh_*", "u_*", "dc_", "dc_**", WEBHOOK] {
        assert!(EmitterPattern::parse(broken).is_err(), "{broken}");
    }
    assert!(EventName::parse("$else").is_err());
    assert_eq!(EventName::parse("").unwrap().as_str(), "");
    assert_eq!(Stream::parse("").unwrap().metadata_name(), "");
    assert_eq!(Stream::parse("default").unwrap().as_str(), "default");
    assert_eq!(Stream::parse("$errors").unwrap().metadata_name(), "$errors");
}

#[test]
fn an_auto_subscription_has_a_name_and_leaves_out_its_listener() {
    let listener = ListenerId::parse(SOURCE).unwrap();

    let unnamed = AutoSubscription::new(EventName::parse("").unwrap(), listener.clone());
    let named = AutoSubscription::new(EventName::parse("$errors").unwrap(), listener).unwrap();

    assert_eq!(unnamed, Err(SubscriptionError::NoEventName));
    assert!(named.applies_to(&EmitterId::parse(OTHER).unwrap()));
    assert!(!named.applies_to(&EmitterId::parse(SOURCE).unwrap()));
}

#[test]
fn a_subscription_survives_json() {
    let subscription = subscription("dc_*", "", WEBHOOK);

    let json = serde_json::to_value(&subscription).unwrap();

    assert_eq!(json["emitter_id"], "dc_*");
    assert_eq!(json["event_name"], "");
    assert_eq!(serde_json::from_value::<Subscription>(json).unwrap(), subscription);
}
