//! How much the writer remembers.

use super::{REMEMBERED, Streams};
use crate::Tenant;
use crate::embedded::schema::open_writer;

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
