//! Resolution, as Node does it.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::{Missing, Resolver, Volume};
use crate::{
    modules::{Format, RequestKind},
    registry::Files,
};

fn resolver() -> Resolver {
    let own = ["/component/a.js", "/component/b.ts", "/component/lib/index.js", "/component/data.json"];
    let own = own.iter().map(|path| ((*path).to_owned(), Bytes::new())).collect();
    let package = |files: &[(&str, &str)]| {
        Arc::new(
            files.iter().map(|(path, text)| ((*path).to_owned(), Bytes::from((*text).to_owned()))).collect::<Files>(),
        )
    };
    let packages = BTreeMap::from([
        (
            "node_modules/plain".to_owned(),
            package(&[
                ("package.json", r#"{"main":"./lib/main","browser":"./no.js","module":"./no.mjs"}"#),
                ("lib/main.js", ""),
                ("extra.js", ""),
                ("dir/index.js", ""),
            ]),
        ),
        ("node_modules/bare".to_owned(), package(&[("package.json", "{}"), ("index.js", "")])),
        (
            "node_modules/dual".to_owned(),
            package(&[
                (
                    "package.json",
                    r##"{"type":"module","exports":{".":{"browser":"./no.js","import":"./i.js","require":"./r.cjs"},"./sub/*":"./src/*.js","./only":{"import":"./i.js"},"./null":null},"imports":{"#x":{"node":"./x.js","default":"./no.js"}}}"##,
                ),
                ("i.js", ""),
                ("r.cjs", ""),
                ("x.js", ""),
                ("src/s.js", ""),
                ("hidden.js", ""),
            ]),
        ),
        ("node_modules/plain/node_modules/bare".to_owned(), package(&[("package.json", "{}"), ("index.js", "")])),
        ("node_modules/@s/p@2".to_owned(), package(&[("package.json", "{}"), ("index.js", "")])),
    ]);
    Resolver::new(Volume::new(&own, &packages))
}

#[test]
fn files_and_packages_are_found_by_nodes_rules() {
    use RequestKind::{Import, Require};
    let resolver = resolver();
    let cases = [
        ("/component/a.js", "./lib", Require, "/component/lib/index.js"),
        ("/component/a.js", "./b", Import, "/component/b.ts"),
        ("/component/a.js", "./b.js", Import, "/component/b.ts"),
        ("/component/lib/index.js", "../data.json", Require, "/component/data.json"),
        ("/component/a.js", "plain", Require, "/node_modules/plain/lib/main.js"),
        ("/component/a.js", "plain", Import, "/node_modules/plain/lib/main.js"),
        ("/component/a.js", "plain/extra", Require, "/node_modules/plain/extra.js"),
        ("/component/a.js", "plain/dir", Require, "/node_modules/plain/dir/index.js"),
        ("/component/a.js", "bare", Require, "/node_modules/bare/index.js"),
        ("/node_modules/plain/lib/main.js", "bare", Require, "/node_modules/plain/node_modules/bare/index.js"),
        ("/component/a.js", "dual", Require, "/node_modules/dual/r.cjs"),
        ("/component/a.js", "dual", Import, "/node_modules/dual/i.js"),
        ("/component/a.js", "dual/sub/s", Require, "/node_modules/dual/src/s.js"),
        ("/component/a.js", "dual/only", Require, "/node_modules/dual/i.js"),
        ("/node_modules/dual/i.js", "#x", Import, "/node_modules/dual/x.js"),
        ("/node_modules/dual/i.js", "dual", Require, "/node_modules/dual/r.cjs"),
        ("/component/a.js", "@s/p@2", Require, "/node_modules/@s/p@2/index.js"),
    ];
    for (importer, specifier, kind, expected) in cases {
        assert_eq!(resolver.resolve(importer, specifier, kind).as_deref(), Ok(expected), "{specifier} from {importer}");
    }
}

#[test]
fn what_is_missing_is_told_from_what_is_not_offered() {
    let resolver = resolver();
    for specifier in ["./none", "none", "plain/none", "/component/none.js"] {
        assert_eq!(
            resolver.resolve("/component/a.js", specifier, RequestKind::Require),
            Err(Missing::NotFound),
            "{specifier}"
        );
    }
    for specifier in ["dual/hidden.js", "dual/null"] {
        let missing = resolver.resolve("/component/a.js", specifier, RequestKind::Require);
        assert!(matches!(missing, Err(Missing::NotOffered { .. })), "{specifier}: {missing:?}");
    }
}

#[test]
fn the_nearest_manifest_tells_the_format() {
    let resolver = resolver();
    let volume = resolver.volume();
    let cases = [
        ("/node_modules/dual/src/s.js", Format::Esm),
        ("/node_modules/plain/extra.js", Format::Open),
        ("/component/a.js", Format::Open),
    ];
    for (path, format) in cases {
        assert_eq!(volume.format_of_package(path), format, "{path}");
    }
    assert_eq!(
        Volume::package_folder("/node_modules/a/node_modules/@b/c/d.js"),
        Some("/node_modules/a/node_modules/@b/c")
    );
    assert_eq!(Volume::package_folder("/component/a.js"), None);
}
