//! Made-up registries: a few packages that need and exclude each other in every way. `WELLSPRING_FUZZ` multiplies the cases.

use std::collections::BTreeMap;

use nodejs_semver::{Range, Version};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::tests::{packuments, requirements};
use super::{Plan, Planned, PlannedPackage, plan};
use crate::linked::Warning;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "@s/e", "@s/f"];
const VERSIONS: [&str; 4] = ["1.0.0", "1.1.0", "2.0.0", "3.0.0-beta.1"];
const RANGES: [&str; 8] = ["^1", "^2", "*", "1 || 2", "~1.0", "1.1.0", ">=1 <3", "latest"];
const PACKAGE_LIMIT: usize = 60;

type Needs = BTreeMap<&'static str, &'static str>;

/// The same cases each time, so that a failure is a change's own; `WELLSPRING_FUZZ_SEED` chooses others.
fn seed() -> RngSeed {
    RngSeed::Fixed(std::env::var("WELLSPRING_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2))
}

fn cases() -> ProptestConfig {
    let times = std::env::var("WELLSPRING_FUZZ").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    // A failure prints what it takes to repeat it; nothing is written beside the sources.
    ProptestConfig { cases: 128 * times, failure_persistence: None, rng_seed: seed(), ..ProptestConfig::default() }
}

fn needs(most: usize) -> impl Strategy<Value = Needs> {
    let one = (prop::sample::select(&NAMES[..]), prop::sample::select(&RANGES[..]));
    prop::collection::btree_map(one.0, one.1, 0..=most)
}

fn manifests() -> impl Strategy<Value = Vec<(String, Value)>> {
    let manifest = (needs(3), needs(1), needs(1)).prop_map(
        |(dependencies, peers, optional)| json!({"dependencies": dependencies, "peerDependencies": peers, "optionalDependencies": optional}),
    );
    prop::collection::vec(manifest, NAMES.len() * VERSIONS.len()).prop_map(|manifests| {
        let labels = NAMES.iter().flat_map(|name| VERSIONS.iter().map(move |version| format!("{name}@{version}")));
        labels.zip(manifests).collect()
    })
}

/// What `require(name)` finds from a folder: as Node looks for it.
fn found<'a>(plan: &'a Plan, from: &str, name: &str) -> Option<&'a PlannedPackage> {
    let mut folder = from.to_owned();
    loop {
        let wanted =
            if folder.is_empty() { format!("node_modules/{name}") } else { format!("{folder}/node_modules/{name}") };
        if let Some(package) = plan.packages.iter().find(|package| package.location == wanted) {
            return Some(package);
        }
        if folder.is_empty() {
            return None;
        }
        folder = folder.rfind("node_modules/").map_or("", |at| folder[..at].trim_end_matches('/')).to_owned();
    }
}

fn satisfies(package: &PlannedPackage, range: &str) -> bool {
    let version = Version::parse(&package.manifest.version).unwrap();
    // npm takes whatever `latest` is for these, a version before a release as well.
    ["latest", "*"].contains(&range) || Range::parse(range).unwrap().satisfies(&version)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_package_finds_what_it_needs_where_node_looks(packages in manifests(), wanted in prop::sample::subsequence(&NAMES[..], 1..=3)) {
        let packages: Vec<(&str, Value)> = packages.iter().map(|(label, manifest)| (label.as_str(), manifest.clone())).collect();
        let packuments = packuments(&packages);

        // A tree beyond the limit, and a range that no version satisfies, are refused; nothing else may be.
        let Ok(Planned::Done(plan)) = plan(&requirements(&wanted), &packuments, "22.20.0", PACKAGE_LIMIT) else { return Ok(()) };

        for name in &wanted {
            prop_assert!(found(&plan, "", name).is_some(), "{name} is not at the top of {plan:#?}");
        }
        let mut locations: Vec<&str> = plan.packages.iter().map(|package| package.location.as_str()).collect();
        let count = locations.len();
        locations.dedup();
        prop_assert_eq!(locations.len(), count, "one package in each folder");
        for package in plan.packages.iter().filter(|package| !package.is_skipped) {
            for (name, range) in &package.manifest.dependencies {
                if package.manifest.optional_dependencies.contains_key(name) {
                    continue;
                }
                // Versions that need each other in a circle cannot all be met; npm leaves one unmet as well, and here it is said.
                let is_told = |warning: &Warning| {
                    matches!(warning, Warning::PeerConflict { name: of, from, .. } if of == name && *from == package.location)
                };
                if plan.warnings.iter().any(is_told) {
                    continue;
                }
                let given = found(&plan, &package.location, name);
                prop_assert!(
                    given.is_some_and(|given| satisfies(given, range)),
                    "{} needs {name}@{range} and finds {given:?}", package.location
                );
            }
        }
    }
}
