//! The table of crates in `host/README.md` against their manifests.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, read, toml};

/// A row of the table.
struct Row {
    uses: BTreeSet<String>,
    must_not_know: Vec<String>,
}

/// By the name of the folder below `host/`.
fn rows() -> BTreeMap<String, Row> {
    let map = read("host/README.md");
    let table = map.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let rows: BTreeMap<String, Row> = table.take_while(|line| line.starts_with('|')).map(row).collect();
    assert!(rows.len() > 5, "the map has a table of crates");
    rows
}

fn row(line: &str) -> (String, Row) {
    let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
    let [name, _, uses, must_not_know] = cells.as_slice() else { panic!("four cells: {line}") };
    let row = Row { uses: words(uses).collect(), must_not_know: words(must_not_know).collect() };
    (words(name).next().unwrap(), row)
}

/// What stands between backticks.
fn words(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Names of the dependencies of a crate, without those of its tests.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = toml(&format!("host/{name}/Cargo.toml"));
    let of_targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let tables = of_targets.filter_map(|target| target.get("dependencies")).chain(manifest.get("dependencies"));
    tables.filter_map(toml::Value::as_table).flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn the_map_lists_every_crate_of_the_host() {
    let workspace = toml("Cargo.toml");
    let members = workspace["workspace"]["members"].as_array().unwrap().iter().filter_map(toml::Value::as_str);
    let members: BTreeSet<String> = members.filter_map(|path| Some(path.strip_prefix("host/")?.to_owned())).collect();

    assert_eq!(rows().into_keys().collect::<BTreeSet<_>>(), members);
}

#[test]
fn a_crate_uses_exactly_the_crates_the_map_says() {
    let rows = rows();
    for (name, row) in &rows {
        let ours: BTreeSet<String> =
            dependencies(name).into_iter().filter(|dependency| rows.contains_key(dependency)).collect();
        assert_eq!(ours, row.uses, "`{name}`: its Cargo.toml, and then host/README.md");
    }
}

#[test]
fn a_crate_does_not_depend_on_what_it_must_not_know() {
    for (name, row) in rows() {
        let dependencies = dependencies(&name);
        for unknown in &row.must_not_know {
            assert!(!dependencies.contains(unknown), "`{name}` must not know `{unknown}`, says host/README.md");
        }
    }
}

/// Inside of `platform`: the control plane and the data plane stand on the same parts, which know neither of them.
#[test]
fn parts_of_the_platform_import_nothing_above_them() {
    let above = [
        (&["flow", "invoke", "tokens", "records", "ports", "programs"][..], "crate::manage"),
        (&["manage", "invoke", "tokens", "records", "ports", "programs"], "crate::flow"),
    ];
    for (folders, unknown) in above {
        for folder in folders {
            let source = |ending: &str| format!("host/platform/src/{folder}{ending}");
            for path in files(&[&source(".rs"), &source("/*.rs")]).iter().filter(|path| !path.contains("tests")) {
                assert!(!read(path).contains(unknown), "{path} imports {unknown}, which stands on it");
            }
        }
    }
}

#[test]
fn no_crate_uses_one_above_it() {
    let rows = rows();
    let mut order: Vec<&str> = Vec::new();
    while order.len() < rows.len() {
        let is_next = |(name, row): &(&String, &Row)| {
            !order.contains(&name.as_str()) && row.uses.iter().all(|used| order.contains(&used.as_str()))
        };
        let next = rows.iter().find(is_next).map(|(name, _)| name.as_str());
        order.push(next.expect("crates that depend on each other in a circle"));
    }
}
