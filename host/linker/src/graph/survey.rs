//! The walk over the component's own files alone, to learn which packages it asks for.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use super::{Found, ParsedFiles, Terms, computed, parse, placed, read};
use crate::{
    entry::OwnFiles,
    error::{LinkError, NameFault, SourceLocation, THE_COMPONENT},
    imports,
    modules::{Parsed, Position},
    specifier::{PackageSpecifier, Specifier},
    unsupported::need_of,
    volume::{Missing, Resolver, Volume},
};

#[derive(Debug)]
pub(crate) struct Survey {
    /// Each with whether the component can do without it.
    pub(crate) requests: Vec<(PackageSpecifier, bool)>,
    /// Where each package is first asked for.
    pub(crate) locations: BTreeMap<String, SourceLocation>,
    pub(crate) parsed: ParsedFiles,
}

/// Must run on a thread of [`crate::modules::stack`].
pub(crate) fn survey(terms: &Terms, own: &OwnFiles) -> Result<Survey, LinkError> {
    let resolver = Resolver::new(Volume::new(&own.files, &Default::default()));
    let mut survey = Survey { requests: Vec::new(), locations: BTreeMap::new(), parsed: HashMap::new() };
    let mut queue = VecDeque::from([own.entry.clone()]);
    let mut seen = BTreeSet::from([own.entry.clone()]);
    while let Some(path) = queue.pop_front() {
        let source = read(resolver.volume(), &path, &terms.limits)?;
        if path.ends_with(".json") {
            continue;
        }
        let parsed = parse(resolver.volume(), &path, &source, terms, false).map_err(|fault| fault.into_error(&path))?;
        for target in survey.take(&resolver, &path, &parsed)? {
            if seen.insert(target.clone()) {
                queue.push_back(target);
            }
        }
        survey.parsed.insert(path, Arc::new(parsed));
    }
    Ok(survey)
}

// === impl Survey ===

impl Survey {
    /// Notes the packages a file asks for, and gives the component's own files it asks for.
    fn take(&mut self, resolver: &Resolver, importer: &str, parsed: &Parsed) -> Result<Vec<String>, LinkError> {
        let mut targets = Vec::new();
        for (found, position) in parsed.requests() {
            let place = |error| placed(error, importer, position);
            match meaning(resolver.volume(), importer, found) {
                Ok(Specifier::BuiltIn) => {}
                Ok(Specifier::Package(request)) => {
                    if let Some(need) = need_of(&request.name).filter(|_| !found.is_optional) {
                        return Err(place(LinkError::UnsupportedPackage { package: request.name, need }));
                    }
                    self.note_location(&request.name, importer, position);
                    self.requests.push((request, found.is_optional));
                }
                Ok(Specifier::Relative | Specifier::Internal) => {
                    targets.extend(find(resolver, importer, found).map_err(place)?);
                }
                Err(_) if found.is_optional => {}
                Err(reason) => {
                    let (specifier, importer) = (found.specifier.clone(), importer.to_owned());
                    return Err(place(LinkError::InvalidSpecifier { specifier, importer, reason }));
                }
            }
        }
        for shape in parsed.computed.iter().filter_map(|computed| computed.shape.as_ref()) {
            targets.extend(computed::meant(resolver, importer, shape).files);
        }
        Ok(targets)
    }

    fn note_location(&mut self, package: &str, importer: &str, position: Option<Position>) {
        if let Some(Position { line, column }) = position {
            let location = || SourceLocation { path: importer.to_owned(), line: Some(line), column };
            self.locations.entry(package.to_owned()).or_insert_with(location);
        }
    }

    /// With its location, when it is about a package that the component itself asks for.
    pub(crate) fn locate(&self, error: LinkError) -> LinkError {
        let name = match &error {
            LinkError::PackageNotFound { name, from }
            | LinkError::VersionNotFound { name, from, .. }
            | LinkError::UnsupportedDependency { name, from, .. }
                if from == THE_COMPONENT =>
            {
                name
            }
            _ => return error,
        };
        match self.locations.get(name).cloned() {
            Some(location) => error.at(location),
            None => error,
        }
    }
}

/// A `#name` of the component's own manifest may stand for a package or for a module that is built in.
fn meaning(volume: &Volume, importer: &str, found: &Found) -> Result<Specifier, NameFault> {
    let specifier = Specifier::parse(&found.specifier)?;
    let target = (specifier == Specifier::Internal)
        .then(|| imports::target_of(volume, importer, &found.specifier, found.kind))
        .flatten();
    target.map_or(Ok(specifier), |target| Specifier::parse(&target))
}

fn find(resolver: &Resolver, importer: &str, found: &Found) -> Result<Option<String>, LinkError> {
    let (specifier, importer_path) = (found.specifier.clone(), importer.to_owned());
    match resolver.resolve(importer, &found.specifier, found.kind) {
        Ok(target) => Ok(Some(target)),
        Err(_) if found.is_optional => Ok(None),
        Err(Missing::NotFound) => Err(LinkError::FileNotFound { specifier, importer: importer_path }),
        Err(Missing::NotOffered { reason }) => {
            Err(LinkError::ModuleNotFound { specifier, importer: importer_path, reason })
        }
    }
}
