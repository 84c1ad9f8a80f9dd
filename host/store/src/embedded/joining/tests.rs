//! Which parts become one entry. The writer is given groups, as when commits meet.

use std::collections::VecDeque;

use tempfile::TempDir;
use tokio::sync::oneshot;

use super::OPEN_MAXIMUM;
use crate::contract::{part, part_of_group, text};
use crate::embedded::disk::Disk;
use crate::embedded::reading::entries;
use crate::embedded::schema;
use crate::embedded::writer::{Request, Writer};
use crate::feed::{Bounds, Feed};
use crate::{Batch, CommitError, Committed, EntryQuery, Op, PARTS_MAXIMUM, Part, Tenant};

type Answer = oneshot::Receiver<Result<Committed, CommitError>>;

struct World {
    folder: TempDir,
    writer: Writer,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let (connection, opened) = schema::open_writer(&path).unwrap();
        let kept = (Default::default(), Feed::new(Bounds::default()), Default::default());
        let writer = Writer::new((connection, Disk::new(&path)), &opened, kept).unwrap();
        Self { folder, writer }
    }

    /// Writes one group; whether each batch of it was applied.
    fn write(&mut self, batches: impl IntoIterator<Item = Batch>) -> Vec<bool> {
        let ask = |batch| {
            let (reply, answer) = oneshot::channel();
            (Request::Commit(Box::new(batch), reply), answer)
        };
        let (mut group, answers): (VecDeque<Request>, Vec<Answer>) = batches.into_iter().map(ask).unzip();
        self.writer.write(&mut group);
        answers.into_iter().map(|mut answer| answer.try_recv().unwrap().is_ok()).collect()
    }

    fn read(&self, of: &str, emitter: &str) -> Vec<String> {
        let connection = schema::open_plain(&self.folder.path().join("store.db")).unwrap();
        let found = entries(&connection, &tenant(of), emitter, "default", EntryQuery::newest(999)).unwrap();
        found.iter().map(|entry| String::from_utf8(entry.value.to_vec()).unwrap()).collect()
    }
}

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn batch(of: &str, parts: impl IntoIterator<Item = Part>) -> Batch {
    Batch { parts: parts.into_iter().collect(), ..Batch::new(&tenant(of), 1) }
}

fn of_group(group: &str, content: &str) -> Part {
    part_of_group(group, "e", content, 9)
}

fn set(cap_bytes: u64) -> Op {
    Op::SetValue { scope: "s".into(), key: "k".into(), value: text("v"), cap_bytes }
}

#[test]
fn parts_of_a_group_of_commits_are_one_entry_each_of_its_own_kind() {
    let mut world = World::new();

    world.write([
        batch("u_a", [part("e", "1", 9), part("other", "x", 9)]),
        batch("u_a", [of_group("second", "a")]),
        batch("u_b", [part("e", "theirs", 9)]),
        batch("u_a", [part("e", "2", 9)]),
        batch("u_a", [of_group("second", "b"), part("e", "kept less", 8)]),
    ]);
    world.write([batch("u_a", [part("e", "3", 9)])]);

    assert_eq!(world.read("u_a", "e"), ["<3>", "<kept less>", "<a b>", "<1 2>"]);
    assert_eq!((world.read("u_a", "other"), world.read("u_b", "e")), (vec!["<x>".into()], vec!["<theirs>".into()]));
}

#[test]
fn an_entry_has_so_many_parts_and_so_many_are_open() {
    let mut world = World::new();

    world.write((0..=PARTS_MAXIMUM).map(|_| batch("u_a", [part("e", "x", 9)])));
    let groups = |count: usize| (0..count).map(|group| of_group(&group.to_string(), "y")).collect::<Vec<_>>();
    let twice = |of, count| batch(of, [groups(count), groups(count)].concat());
    world.write([twice("u_b", OPEN_MAXIMUM + 1)]);
    world.write([twice("u_c", OPEN_MAXIMUM)]);

    let [last, full] = world.read("u_a", "e").try_into().unwrap();
    assert_eq!((last.as_str(), full.matches('x').count()), ("<x>", PARTS_MAXIMUM));
    let found = world.read("u_b", "e");
    assert_eq!(
        found.iter().map(|value| value.matches('y').count()).sum::<usize>(),
        9,
        "the newest are kept: {found:?}"
    );
    assert_eq!(world.read("u_c", "e"), ["<y y>"; 9], "at the bound all are open");
}

#[test]
fn a_batch_that_is_refused_half_way_takes_no_part_of_others_with_it() {
    let mut world = World::new();

    let mut refused = batch("u_a", [part("e", "refused", 9)]).then(set(99)).then(set(0));
    refused.operations.push(Op::SetValue { scope: "s".into(), key: "long".into(), value: text("v"), cap_bytes: 0 });
    let saved = batch("u_a", [part("e", "2", 9)]).then(set(99));
    let applied = world.write([batch("u_a", [part("e", "1", 9)]), refused, saved, batch("u_a", [part("e", "3", 9)])]);

    assert_eq!(applied, [true, false, true, true]);
    assert_eq!(world.read("u_a", "e"), ["<1 2 3>"]);
}

#[test]
fn entries_are_deleted_with_the_parts_that_wait() {
    let mut world = World::new();
    let (first, last) = (None, None);
    let delete = Op::DeleteEntries { emitter: "e".into(), stream: "default".into(), first, last, max: 9 };

    let drop = Op::DropEmitter { emitter: "e".into(), max: 9 };
    let parts = || batch("u_a", [part("e", "1", 9), part("other", "x", 9)]);
    let theirs = batch("u_b", [part("e", "theirs", 9)]);
    world.write([
        theirs,
        parts(),
        batch("u_a", []).then(delete),
        parts(),
        batch("u_a", [part("e", "2", 9)]).then(drop),
    ]);

    assert_eq!(world.read("u_a", "e"), ["<2>"]);
    assert_eq!((world.read("u_a", "other"), world.read("u_b", "e")), (vec!["<x x>".into()], vec!["<theirs>".into()]));
}

/// The group is rolled back, and what waited in it does not come with the next.
#[test]
fn a_part_of_which_nothing_can_be_made_fails_its_group() {
    let mut world = World::new();

    let failed = world.write([batch("u_a", [part("e", "1", 9)]), batch("u_a", [part("e", "", 9)])]);
    world.write([batch("u_a", [part("e", "2", 9)])]);

    assert_eq!(failed, [false, false]);
    assert_eq!(world.read("u_a", "e"), ["<2>"]);
}
