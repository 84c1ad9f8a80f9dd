//! Folders for what the component asks for.

use super::Requirements;
use crate::manifest::OwnManifest;
use crate::specifier::{PackageSpecifier, Specifier};

fn request(text: &str) -> PackageSpecifier {
    match Specifier::parse(text) {
        Ok(Specifier::Package(request)) => request,
        other => panic!("{other:?}"),
    }
}

fn check(texts: &[&str], folders: &[(&str, &str)], paths: &[&str]) {
    let requests: Vec<_> = texts.iter().map(|text| (request(text), false)).collect();
    let requirements = Requirements::new(&requests, &OwnManifest::default());

    let actual: Vec<(&str, &str)> =
        requirements.required.iter().map(|(folder, spec)| (folder.as_str(), spec.as_str())).collect();
    assert_eq!(actual, folders);
    let actual: Vec<String> = texts.iter().map(|text| requirements.path_of(&request(text))).collect();
    assert_eq!(actual, paths);
}

#[test]
fn one_way_of_asking_means_the_plain_name() {
    check(&["axios", "axios/lib/a"], &[("axios", "*")], &["axios", "axios/lib/a"]);
    check(&["axios@1.2.3/x", "axios@1.2.3"], &[("axios", "1.2.3")], &["axios/x", "axios"]);
    check(&["@a/b@^1"], &[("@a/b", "^1")], &["@a/b"]);
}

#[test]
fn a_second_version_gets_a_folder_of_its_own() {
    check(
        &["axios@0.21.1", "axios"],
        &[("axios", "*"), ("axios@0.21.1", "npm:axios@0.21.1")],
        &["axios@0.21.1", "axios"],
    );
    check(&["@a/b@1", "@a/b@2/c"], &[("@a/b", "1"), ("@a/b@2", "npm:@a/b@2")], &["@a/b", "@a/b@2/c"]);
}

#[test]
fn only_what_is_always_tried_for_is_optional() {
    let requirements = Requirements::new(
        &[(request("a"), true), (request("b"), true), (request("b"), false)],
        &OwnManifest::default(),
    );

    assert_eq!(requirements.optional.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(requirements.required.keys().collect::<Vec<_>>(), ["b"]);
}
