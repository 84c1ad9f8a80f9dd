//! What hosts tell each other through the server's channel, which has the name of the schema.
//!
//! | message | what it says |
//! |---|---|
//! | `w:<client>:<busy>:3=1700000000000,…` | partitions have work, from when on |
//! | `c:<client>:<name>,…` | records changed |
//! | `n:<name>:<first>:<last>` | so much was appended to an emitter that has readers |
//! | `s:<client>:<text>` | something that a host said |
//!
//! Names of records and emitters are hashes: a message has room for 8000 bytes.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::{Origin, Partition, Tenant};

/// Names in a message.
const NAMES: usize = 200;

/// As hosts tell them.
pub(super) struct Names;

pub(super) struct Message;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard<'text> {
    Work(Vec<(Partition, u64)>, Origin),
    Changed(Vec<&'text str>),
    News { name: &'text str, first: i64, last: i64 },
    Said { host: &'text str, text: &'text str },
}

// === impl Names ===

impl Names {
    pub(super) fn of_record(tenant: &Tenant, kind: &str, id: &str) -> String {
        hash(&["record", tenant.as_str(), kind, id])
    }

    pub(super) fn of_emitter(tenant: &Tenant, emitter: &str) -> String {
        hash(&["emitter", tenant.as_str(), emitter])
    }
}

/// No two names have the same: a tenant chooses half of them.
fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

// === impl Message ===

impl Message {
    pub(super) fn work(client: &str, is_busy: bool, work: &BTreeMap<u16, u64>) -> Vec<String> {
        let parts: Vec<String> = work.iter().map(|(partition, due_ms)| format!("{partition}={due_ms}")).collect();
        let message = |parts: &[String]| format!("w:{client}:{}:{}", u8::from(is_busy), parts.join(","));
        parts.chunks(NAMES).map(message).collect()
    }

    pub(super) fn changed(client: &str, names: impl Iterator<Item = String>) -> Vec<String> {
        let names: Vec<String> = names.collect();
        names.chunks(NAMES).map(|names| format!("c:{client}:{}", names.join(","))).collect()
    }

    pub(super) fn news(tenant: &Tenant, emitter: &str, (first, last): (i64, i64)) -> String {
        format!("n:{}:{first}:{last}", Names::of_emitter(tenant, emitter))
    }

    pub(super) fn said(client: &str, text: &str) -> String {
        format!("s:{client}:{text}")
    }
}

// === impl Heard ===

impl<'text> Heard<'text> {
    /// None of what this host sent itself and knows, or of a kind that a newer version sends.
    pub(super) fn parse(message: &'text str, own: &str) -> Option<Self> {
        let (kind, rest) = message.split_once(':')?;
        let (first, rest) = rest.split_once(':')?;
        match kind {
            "n" => {
                let (from, to) = rest.split_once(':')?;
                Some(Self::News { name: first, first: from.parse().ok()?, last: to.parse().ok()? })
            }
            _ if first == own => None,
            "w" => {
                let (is_busy, parts) = rest.split_once(':')?;
                let part = |part: &str| {
                    let (partition, due_ms) = part.split_once('=')?;
                    Some((Partition::at(partition.parse().ok()?), due_ms.parse().ok()?))
                };
                let origin = if is_busy == "1" { Origin::Busy } else { Origin::There };
                Some(Self::Work(parts.split(',').filter_map(part).collect(), origin))
            }
            "c" => Some(Self::Changed(rest.split(',').collect())),
            "s" => Some(Self::Said { host: first, text: rest }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood_by_others_alone() {
        let work = BTreeMap::from([(3, 1000), (15, 5)]);
        let [work] = &Message::work("a", true, &work)[..] else { panic!("one message") };
        let parts = vec![(Partition::at(3), 1000), (Partition::at(15), 5)];
        assert_eq!((Heard::parse(work, "b"), Heard::parse(work, "a")), (Some(Heard::Work(parts, Origin::Busy)), None));

        let names = (0..NAMES + 1).map(|number| number.to_string());
        let changed = Message::changed("a", names);
        let Some(Heard::Changed(second)) = Heard::parse(&changed[1], "b") else { panic!("{changed:?}") };
        assert_eq!((changed.len(), second), (2, vec!["200"]));

        let said = Message::said("a", "image: 1:2");
        assert_eq!(Heard::parse(&said, "b"), Some(Heard::Said { host: "a", text: "image: 1:2" }));
        for odd in ["", "w", "w:b", "w:b:1", "n:x:1:y", "z:b:1"] {
            assert_eq!(Heard::parse(odd, "a"), None, "{odd}");
        }
    }

    #[test]
    fn a_message_has_room_for_its_names() {
        let tenant = Tenant::parse("u_a").unwrap();
        let name = Names::of_record(&tenant, "kind", &"x".repeat(2048));
        let [message] = &Message::changed("0123456789abcdef", std::iter::repeat_n(name, NAMES))[..] else {
            panic!("one")
        };

        assert!(message.len() < 8000, "{}", message.len());
        assert_ne!(Names::of_record(&tenant, "a", "bc"), Names::of_record(&tenant, "ab", "c"));
    }

    #[test]
    fn appended_entries_are_heard_by_their_own_host_as_well() {
        let tenant = Tenant::parse("u_a").unwrap();
        let message = Message::news(&tenant, "e", (5, 9));
        let name = Names::of_emitter(&tenant, "e");

        assert_eq!(Heard::parse(&message, "a"), Some(Heard::News { name: &name, first: 5, last: 9 }));
    }
}
