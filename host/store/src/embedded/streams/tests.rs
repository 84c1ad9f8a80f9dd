//! How entries lie in rows, and how much the writer remembers.

use proptest::prelude::*;
use proptest::sample::Index;
use rusqlite::Connection;

use super::{REMEMBERED, Streams};
use crate::embedded::reading::entries;
use crate::embedded::schema::open_writer;
use crate::{EntryId, EntryQuery, Order, Tenant};

/// A transaction that nothing else sees, and a stream in it beside a plain list of what it should have.
struct World {
    _folder: tempfile::TempDir,
    connection: Connection,
    tenant: Tenant,
    streams: Streams,
    expected: Vec<(EntryId, Vec<u8>)>,
}

/// Places are among the entries that there are, and just outside of them.
#[derive(Debug, Clone)]
enum Do {
    Append { lengths: Vec<usize>, keep: u32 },
    Delete { first: Option<Index>, last: Option<Index>, max: u32 },
    Write,
    Forget,
    Read { first: Option<Index>, last: Option<Index>, order: Order, limit: u32 },
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (connection, _) = open_writer(&folder.path().join("store.db")).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        let tenant = Tenant::parse("u_1").unwrap();
        Self { _folder: folder, connection, tenant, streams: Streams::default(), expected: Vec::new() }
    }

    fn append(&mut self, value: &[u8], keep: u32) {
        let Self { connection, tenant, streams, .. } = self;
        let id = streams.append(connection, (tenant, 1), ("dc_1", "default"), (value, keep)).unwrap();
        self.expected.push((id, value.to_vec()));
        self.expected.drain(..self.expected.len().saturating_sub(keep as usize));
    }

    fn delete(&mut self, first: Option<EntryId>, last: Option<EntryId>, max: u32) {
        let Self { connection, tenant, streams, .. } = self;
        let removed = streams.delete(connection, tenant, ("dc_1", "default"), (first, last), max).unwrap();
        let before = self.expected.len();
        let mut left = max;
        self.expected.retain(|(id, _)| {
            let goes = left > 0 && first.is_none_or(|first| *id >= first) && last.is_none_or(|last| *id <= last);
            left -= u32::from(goes);
            !goes
        });
        assert_eq!(removed, (before - self.expected.len()) as u64);
    }

    fn write(&mut self) {
        self.streams.flush(&self.connection).unwrap();
    }

    fn read(&self, query: EntryQuery) -> Vec<(EntryId, Vec<u8>)> {
        let found = entries(&self.connection, &self.tenant, "dc_1", "default", query).unwrap();
        found.into_iter().map(|entry| (entry.id, entry.value.to_vec())).collect()
    }

    fn number(&self, sql: &str) -> usize {
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn place(&self, place: Option<Index>) -> Option<EntryId> {
        let known = self.expected.iter().map(|(id, _)| *id);
        let beyond = EntryId::new(9, 9);
        let all: Vec<EntryId> = known.flat_map(|id| [id, id.successor()]).chain([EntryId::FIRST, beyond]).collect();
        place.map(|place| *place.get(&all))
    }

    fn perform(&mut self, what: Do) {
        match what {
            Do::Append { lengths, keep } => {
                for length in lengths {
                    self.append(&vec![self.expected.len() as u8; length], keep);
                }
            }
            Do::Delete { first, last, max } => self.delete(self.place(first), self.place(last), max),
            Do::Write => self.write(),
            Do::Forget => {
                self.write();
                self.streams.forget();
            }
            Do::Read { first, last, order, limit } => {
                self.write();
                let (first, last) = (self.place(first), self.place(last));
                let is_asked =
                    |id: EntryId| first.is_none_or(|first| id >= first) && last.is_none_or(|last| id <= last);
                let mut expected: Vec<_> = self.expected.iter().filter(|(id, _)| is_asked(*id)).cloned().collect();
                if order == Order::NewestFirst {
                    expected.reverse();
                }
                expected.truncate(limit as usize);
                assert_eq!(self.read(EntryQuery { first, last, order, limit }), expected);
            }
        }
    }
}

fn what() -> impl Strategy<Value = Do> {
    let place = || prop::option::of(any::<Index>());
    let order = prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)];
    // Some do not fit into a block with others.
    let length = prop_oneof![9 => 0..30_usize, 1 => 3000..20_000_usize];
    prop_oneof![
        4 => (prop::collection::vec(length, 1..9), prop_oneof![1 => 0..9_u32, 3 => Just(40)])
            .prop_map(|(lengths, keep)| Do::Append { lengths, keep }),
        2 => (place(), place(), 0..9_u32).prop_map(|(first, last, max)| Do::Delete { first, last, max }),
        1 => Just(Do::Write),
        1 => Just(Do::Forget),
        4 => (place(), place(), order, 0..30_u32)
            .prop_map(|(first, last, order, limit)| Do::Read { first, last, order, limit }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_stream_is_what_a_plain_list_would_be(steps in prop::collection::vec(what(), 1..40)) {
        let mut world = World::new();
        for step in steps {
            world.perform(step);
        }
        world.write();
        prop_assert_eq!(world.read(EntryQuery::newest(99)).len(), world.expected.len());
        prop_assert_eq!(world.number("SELECT coalesce(sum(count), 0) FROM streams"), world.expected.len());
        prop_assert!(world.number("SELECT count(*) FROM entries") <= world.expected.len(), "no row without an entry");
    }
}

#[test]
fn what_a_transaction_appends_is_a_row_and_what_leaves_at_the_old_end_writes_none() {
    let mut world = World::new();
    for value in [b"1", b"2", b"3"] {
        world.append(value, 9);
    }
    world.write();
    world.append(b"4", 9);
    world.write();
    assert_eq!(world.number("SELECT count(*) FROM entries"), 2);

    world.delete(None, None, 2);
    world.write();
    assert_eq!(world.number("SELECT sum(length(value)) FROM entries"), 4, "the block is as it was");
    assert_eq!(world.read(EntryQuery::newest(9)), world.expected.iter().rev().cloned().collect::<Vec<_>>());

    world.delete(None, None, 1);
    world.write();
    assert_eq!(world.number("SELECT count(*) FROM entries"), 1, "all of it was old");
}

/// Names of streams are the tenants' own, so those of one emitter count as well.
#[test]
fn what_is_remembered_is_bounded_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, _) = open_writer(&folder.path().join("store.db")).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let tenant = Tenant::parse("u_1").unwrap();
    let mut streams = Streams::default();
    let append = |streams: &mut Streams, name: usize| {
        streams.append(&connection, (&tenant, 1), ("dc_1", &format!("s{name}")), (b"1", 10)).unwrap()
    };

    // With the emitter itself the bound is met, and not passed.
    let mut last = append(&mut streams, 1);
    for name in 2..REMEMBERED {
        last = append(&mut streams, name);
    }
    streams.flush(&connection).unwrap();
    assert_eq!(streams.last_entry(&tenant, "dc_1"), Some(Some(last)));

    last = append(&mut streams, REMEMBERED);
    streams.flush(&connection).unwrap();
    assert_eq!(streams.last_entry(&tenant, "dc_1"), None);

    assert!(append(&mut streams, 1) > last);
    streams.flush(&connection).unwrap();
    let count = |row: &rusqlite::Row<'_>| row.get::<_, u64>(0);
    assert_eq!(connection.query_row("SELECT count FROM streams WHERE name = 's1'", [], count), Ok(2));
}
