//! Components that ask for no packages: linked without a registry, a cache or the memory that links share.

use std::sync::{Arc, atomic::AtomicBool};

use crate::{
    acquire::Packages,
    config::{EsModules, Limits},
    entry::Entry,
    error::LinkError,
    graph::{self, Table, Terms},
    linked::Linked,
    manifest::OwnManifest,
    modules::stack,
    requirements::Requirements,
    volume::Volume,
};

/// As [`crate::Linker::link`] does it with the defaults. None for a component that asks for packages.
pub async fn link_alone(entry: &Entry) -> Result<Option<Linked>, LinkError> {
    let own = entry.lay_out()?;
    OwnManifest::find(&own)?;
    let terms = Terms {
        es_modules: EsModules::Lower,
        limits: Limits::default(),
        is_cancelled: Arc::new(AtomicBool::new(false)),
    };
    let linking = stack::run(move || {
        let survey = graph::survey(&terms, &own)?;
        if !survey.requests.is_empty() {
            return Ok(None);
        }
        let volume = Volume::new(&own.files, &Packages::new());
        let requirements = Requirements::default();
        let Table { modules, warnings } =
            graph::walk(&terms, &own.entry, volume, &requirements, survey.parsed, &|_| {})?;
        let warnings = warnings.into_iter().collect();
        Ok(Some(Linked { entry: own.entry, modules, dependencies: Vec::new(), warnings }))
    });
    linking.await?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeRegistry, entry, entry_of, link, run_linked};

    #[tokio::test]
    async fn what_asks_for_no_packages_is_linked_as_with_a_registry() {
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[("a.js", "\"use strict\"; export default 1; console.log('use strict')")], "use strict\n"),
            (&[("a.js", "/* x */ import os from 'os'; console.log(typeof os)")], "object\n"),
            (&[("a.js", "\u{feff}export const a = 1; console.log('mark')")], "mark\n"),
            (&[("a.js", "console.log(require ('./b'))"), ("b.js", "module.exports = 'b'")], "b\n"),
            (&[("a.js", "const text = `\nexport default 1`; console.log(typeof module)")], "object\n"),
            (&[("a.js", "module.exports = 1; console.log('plain')")], "plain\n"),
        ];
        for (files, printed) in cases {
            let component = entry_of(files);

            let linked = link_alone(&component).await.unwrap().unwrap();

            assert_eq!(run_linked(&linked), printed, "{files:?}");
            assert_eq!(linked, link(FakeRegistry::default().into(), &component).await.unwrap());
        }
    }

    #[tokio::test]
    async fn every_way_to_ask_for_a_package_is_seen() {
        for source in ["require ('a')", "await import('a')", "export * from 'a'", "try { require('a') } catch {}"] {
            assert_eq!(link_alone(&entry(source)).await.unwrap(), None, "{source}");
        }
    }

    #[tokio::test]
    async fn a_syntax_error_is_at_its_line_and_column() {
        for source in ["// é\n  const é = ;", "\u{feff}// é\n  const é = ;"] {
            let error = link_alone(&entry(source)).await.unwrap_err();

            let place = error.location().unwrap();
            assert_eq!((place.line, place.column), (Some(2), Some(13)), "{error}");
        }
    }
}
