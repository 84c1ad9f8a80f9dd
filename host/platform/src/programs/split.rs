//! A program as its own modules and those of each package, and back.
//!
//! The modules of a package are named as they are inside of it, and imports that stay inside lead to such names, so that the
//! same package at another place of another component's tree is the same text. What an import finds in another package
//! depends on the tree, and is kept as it is: nearly all packages lie at the top, so this hardly ever makes a difference.

use std::collections::BTreeMap;

use crate::ports::{Module, Program};
use crate::records::Modules;

/// Where packages are. The component's own files are elsewhere: the linker refuses such names in them.
const ROOT: &str = "/node_modules/";
/// Marks an import that stays inside of the package.
const INSIDE: &str = "./";

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) own: Modules,
    /// By location: `/node_modules/a/node_modules/b`.
    pub(crate) packages: BTreeMap<String, Modules>,
}

pub(crate) fn split(program: &Program) -> Split {
    let mut split = Split::default();
    for (path, module) in &program.modules {
        match divide(path) {
            Some((location, inner)) => {
                let package = split.packages.entry(location.to_owned()).or_default();
                package.insert(inner.to_owned(), map_imports(module, |target| to_inner(location, target)));
            }
            None => drop(split.own.insert(path.clone(), module.clone())),
        }
    }
    split
}

/// The modules of a package at its location; their texts are shared.
pub(crate) fn place<'a>(location: &'a str, package: &'a Modules) -> impl Iterator<Item = (String, Module)> + 'a {
    package.iter().map(move |(inner, module)| {
        let outer = |target: &str| match target.strip_prefix(INSIDE) {
            Some(inner) => format!("{location}/{inner}"),
            None => target.to_owned(),
        };
        (format!("{location}/{inner}"), map_imports(module, outer))
    })
}

fn to_inner(location: &str, target: &str) -> String {
    match divide(target) {
        Some((of_target, inner)) if of_target == location => format!("{INSIDE}{inner}"),
        _ => target.to_owned(),
    }
}

fn map_imports(module: &Module, map: impl Fn(&str) -> String) -> Module {
    let imports = module.imports.iter().map(|(specifier, target)| (specifier.clone(), map(target))).collect();
    Module { kind: module.kind, source: module.source.clone(), imports }
}

/// The location of the package that a file is in, and the rest of its path. Nothing for files of the component.
fn divide(path: &str) -> Option<(&str, &str)> {
    if !path.starts_with(ROOT) {
        return None;
    }
    let name_start = path.rfind(ROOT)? + ROOT.len();
    let (before, rest) = path.split_at_checked(name_start)?;
    let parts = if rest.starts_with('@') { 2 } else { 1 };
    let (end, _) = rest.match_indices('/').nth(parts - 1)?;
    let (location, inner) = path.split_at_checked(before.len() + end)?;
    Some((location, inner.strip_prefix('/')?))
}

#[cfg(test)]
mod tests {
    use super::{Split, place, split};
    use crate::ports::{Module, Program};
    use crate::records::Modules;

    fn program(modules: &[(&str, &[(&str, &str)])]) -> Program {
        let mut program = Program { entry: "/component/a.js".into(), modules: Modules::new() };
        for (path, imports) in modules {
            let imports = imports.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
            let one = Program::single(path, *path).modules.into_values().next().unwrap();
            program.modules.insert((*path).to_owned(), Module { imports, ..one });
        }
        program
    }

    fn join(split: &Split) -> Modules {
        let placed = split.packages.iter().flat_map(|(location, package)| place(location, package));
        split.own.clone().into_iter().chain(placed).collect()
    }

    #[test]
    fn a_program_is_divided_by_package_and_joined_again() {
        let program = program(&[
            ("/component/a.js", &[("axios", "/node_modules/axios/index.js")]),
            ("/helper.js", &[]),
            (
                "/node_modules/axios/index.js",
                &[("./lib/a", "/node_modules/axios/lib/a.js"), ("x", "/node_modules/x/x.js")],
            ),
            ("/node_modules/axios/lib/a.js", &[("x", "/node_modules/axios/node_modules/x/x.js")]),
            ("/node_modules/axios/node_modules/x/x.js", &[("..", "/node_modules/axios/index.js")]),
            ("/node_modules/x/x.js", &[]),
            ("/node_modules/@slack/web-api/dist/index.js", &[(".", "/node_modules/@slack/web-api/dist/b.js")]),
            ("/node_modules/@slack/web-api/dist/b.js", &[]),
        ]);

        let split = split(&program);

        assert_eq!(split.own.keys().collect::<Vec<_>>(), ["/component/a.js", "/helper.js"]);
        let locations: Vec<&str> = split.packages.keys().map(String::as_str).collect();
        let all = [
            "/node_modules/@slack/web-api",
            "/node_modules/axios",
            "/node_modules/axios/node_modules/x",
            "/node_modules/x",
        ];
        assert_eq!(locations, all);
        assert_eq!(split.packages["/node_modules/axios"]["index.js"].imports["./lib/a"], "./lib/a.js");
        assert_eq!(join(&split), program.modules);
    }

    #[test]
    fn the_same_package_at_another_place_is_the_same_text() {
        let at = |location: &str| {
            let (index, b) = (format!("{location}/index.js"), format!("{location}/b.js"));
            let mut program = program(&[(&index, &[("./b", &b)]), (&b, &[])]);
            program.modules.values_mut().for_each(|module| module.source = "text".into());
            split(&program).packages.remove(location).unwrap()
        };

        assert_eq!(at("/node_modules/a"), at("/node_modules/@b/c/node_modules/a"));
    }

    #[test]
    fn paths_that_are_in_no_package_are_the_components_own() {
        let odd = [
            "component.js",
            "/node_modules",
            "/node_modules/",
            "/node_modules/a",
            "/node_modules/@a/b",
            "/x/node_modules/a/b.js",
        ];

        let split = split(&program(&odd.map(|path| (path, &[][..]))));

        assert_eq!((split.own.len(), split.packages.len()), (odd.len(), 0));
    }
}
