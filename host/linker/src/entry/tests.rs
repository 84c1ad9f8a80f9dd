//! Where a component's files lie.

use super::Entry;
use crate::testing::entry_of;

fn paths(entry: &Entry) -> Vec<String> {
    let own = entry.lay_out().unwrap();
    let mut paths: Vec<String> = own.files.into_keys().filter(|path| *path != own.entry).collect();
    paths.insert(0, own.entry);
    paths
}

#[test]
fn files_keep_their_places_relative_to_the_entry() {
    let cases: [(&[&str], &[&str]); 5] = [
        (&["a.js"], &["/component/a.js"]),
        (&["a.js", "b.js", "lib/c.js"], &["/component/a.js", "/component/b.js", "/component/lib/c.js"]),
        (
            &["a.js", "../../app.js", "../x/../y.js"],
            &["/component/parent/parent/a.js", "/component/app.js", "/component/parent/y.js"],
        ),
        (&["sources/new/new.ts", "../../app.mjs"], &["/component/sources/new/new.ts", "/component/app.mjs"]),
        (&["./a.cjs", "./b/./c.json"], &["/component/a.cjs", "/component/b/c.json"]),
    ];
    for (files, expected) in cases {
        let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "")).collect();
        assert_eq!(paths(&entry_of(&files)), expected, "{files:?}");
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in ["", "/a.js", "../a.js", "a", "a.css", "a\\b.js", "a\0.js", ".js", "a/", "node_modules/x.js", ".."] {
        let error = entry_of(&[(name, "")]).lay_out().unwrap_err();
        assert_eq!(error.code(), "invalid_filename", "{name}");
    }
    for name in ["/etc/passwd", "a/..", "..", "", "../node_modules/axios/index.js"] {
        let error = entry_of(&[("a.js", ""), (name, "")]).lay_out().unwrap_err();
        assert_eq!(error.code(), "invalid_filename", "{name}");
    }
}
