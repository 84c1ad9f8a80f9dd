//! The walk from the component's entry to every module it can reach.

mod computed;
mod names;
mod survey;
mod waiting;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    config::{EsModules, Limits},
    entry::OWN_FOLDER,
    error::{LimitKind, LinkError, SourceLocation},
    imports,
    linked::{Module, ModuleKind, Warning},
    modules::{
        self, Computed, Decorators, Format, Found, HELPER_PATH, HELPER_SOURCE, HELPER_SPECIFIER, Options, ParseError,
        Parsed, Position,
    },
    registry::NATIVE_BUILD_FILE,
    requirements::Requirements,
    specifier::{self, Specifier},
    volume::{Missing, Resolver, Volume},
};

pub(crate) use survey::{Survey, survey};

/// Parsed files of the component, which are needed twice.
pub(crate) type ParsedFiles = HashMap<String, Arc<Parsed>>;

/// What stays the same during a walk.
pub(crate) struct Terms {
    pub(crate) es_modules: EsModules,
    pub(crate) limits: Limits,
    /// Set when the caller was cancelled.
    pub(crate) is_cancelled: Arc<AtomicBool>,
}

pub(crate) struct Table {
    pub(crate) modules: BTreeMap<String, Module>,
    pub(crate) warnings: BTreeSet<Warning>,
}

pub(crate) struct Walk<'t> {
    terms: &'t Terms,
    resolver: Resolver,
    requirements: &'t Requirements,
    parsed: ParsedFiles,
    modules: BTreeMap<String, Module>,
    warnings: BTreeSet<Warning>,
    queue: VecDeque<String>,
    linked_bytes: usize,
}

/// Modules that hand on built-in ones, for `#names` that mean those: `imports` of a module lead to modules alone.
const BUILT_IN_FOLDER: &str = "/wellspring/built-in/";
const BUILT_IN_ENDING: &str = ".js";

/// With the place of the request that led to the error, which is known for the component's own files.
fn placed(error: LinkError, importer: &str, position: Option<Position>) -> LinkError {
    match position {
        Some(Position { line, column }) => {
            error.at(SourceLocation { path: importer.to_owned(), line: Some(line), column })
        }
        None => error,
    }
}

pub(crate) fn is_own(path: &str) -> bool {
    path.strip_prefix(OWN_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

/// Must run on a thread of [`modules::stack`].
pub(crate) fn walk(
    terms: &Terms,
    entry: &str,
    volume: Volume,
    requirements: &Requirements,
    parsed: ParsedFiles,
    report: &dyn Fn(usize),
) -> Result<Table, LinkError> {
    let mut walk = Walk {
        terms,
        resolver: Resolver::new(volume),
        requirements,
        parsed,
        modules: BTreeMap::new(),
        warnings: BTreeSet::new(),
        queue: VecDeque::from([entry.to_owned()]),
        linked_bytes: 0,
    };
    while let Some(path) = walk.queue.pop_front() {
        if terms.is_cancelled.load(Ordering::Relaxed) {
            return Err(LinkError::Interrupted);
        }
        if !walk.modules.contains_key(&path) {
            let module = walk.load(&path)?;
            walk.keep(path, module)?;
            report(walk.modules.len());
        }
    }
    walk.finish()
}

// === impl Walk ===

impl Walk<'_> {
    fn keep(&mut self, path: String, module: Module) -> Result<(), LinkError> {
        let limits = &self.terms.limits;
        let over =
            |kind, limit| LinkError::OverLimit { kind, subject: "the component with its packages".to_owned(), limit };
        self.linked_bytes += module.source.len();
        if self.linked_bytes > limits.linked_bytes {
            return Err(over(LimitKind::LinkedBytes, limits.linked_bytes as u64));
        }
        if self.modules.len() >= limits.module_count {
            return Err(over(LimitKind::Modules, limits.module_count as u64));
        }
        for target in module.imports.values() {
            if !self.modules.contains_key(target) {
                self.queue.push_back(target.clone());
            }
        }
        self.modules.insert(path, module);
        Ok(())
    }

    fn load(&mut self, path: &str) -> Result<Module, LinkError> {
        if path == HELPER_PATH {
            return Ok(module(ModuleKind::CommonJs, HELPER_SOURCE));
        }
        let built_in = path.strip_prefix(BUILT_IN_FOLDER).and_then(|name| name.strip_suffix(BUILT_IN_ENDING));
        if let Some(name) = built_in {
            return Ok(module(ModuleKind::CommonJs, &format!("module.exports = require({name:?});\n")));
        }
        let volume = self.resolver.volume().clone();
        let source = &*read(&volume, path, &self.terms.limits)?;
        if path.ends_with(".json") {
            return load_json(path, source);
        }
        let parsed = match self.parsed.get(path) {
            Some(parsed) => Arc::clone(parsed),
            None => match parse(&volume, path, source, self.terms, false) {
                Ok(parsed) => Arc::new(parsed),
                Err(fault) => return self.refuse(path, source, fault),
            },
        };
        self.parsed.insert(path.to_owned(), Arc::clone(&parsed));
        let mut imports = self.resolve_all(path, &parsed)?;
        self.take_computed(path, &parsed, &mut imports);
        if parsed.source.contains(HELPER_SPECIFIER) {
            imports.insert(HELPER_SPECIFIER.to_owned(), HELPER_PATH.to_owned());
        }
        Ok(Module {
            source: Arc::clone(&parsed.source),
            imports,
            is_lowered: parsed.is_lowered,
            has_top_level_await: parsed.has_top_level_await,
            ..module(parsed.kind, "")
        })
    }

    /// A file of a package that does not parse is a warning, because it fails only components that load it.
    fn refuse(&mut self, path: &str, source: &str, error: ParseError) -> Result<Module, LinkError> {
        let error = error.into_error(path);
        if is_own(path) {
            return Err(error);
        }
        self.warnings.insert(Warning::Unparsable { path: path.to_owned(), message: error.to_string() });
        Ok(module(ModuleKind::CommonJs, source))
    }

    /// What it can mean comes along; the author is told where that is not known.
    fn take_computed(&mut self, path: &str, parsed: &Parsed, imports: &mut BTreeMap<String, String>) {
        for Computed { line, shape } in &parsed.computed {
            let meant = shape.as_ref().map(|shape| computed::meant(&self.resolver, path, shape)).unwrap_or_default();
            if meant.files.is_empty() && is_own(path) {
                self.warnings.insert(Warning::ComputedRequire { path: path.to_owned(), line: *line });
            }
            for (asked, file) in meant.imports {
                imports.entry(asked).or_insert(file);
            }
            self.queue.extend(meant.files);
        }
    }

    fn resolve_all(&mut self, importer: &str, parsed: &Parsed) -> Result<BTreeMap<String, String>, LinkError> {
        let mut imports = BTreeMap::new();
        for (found, position) in parsed.requests() {
            if imports.contains_key(&found.specifier) || specifier::is_built_in(&found.specifier) {
                continue;
            }
            if let Some(target) = self.built_in_behind(importer, found) {
                imports.insert(found.specifier.clone(), target);
                continue;
            }
            let place = |error| placed(error, importer, position);
            match self.resolve(importer, found) {
                Ok(target) => {
                    if let Some(target) = self.accept(importer, target).map_err(place)? {
                        imports.insert(found.specifier.clone(), target);
                    }
                }
                Err(missing) => self.miss(importer, found, missing).map_err(place)?,
            }
        }
        Ok(imports)
    }

    /// The module that stands for a built-in one, when a `#name` means that.
    fn built_in_behind(&self, importer: &str, found: &Found) -> Option<String> {
        let name = Some(&found.specifier).filter(|specifier| specifier.starts_with('#'))?;
        let target = imports::target_of(self.resolver.volume(), importer, name, found.kind)?;
        specifier::is_built_in(&target).then(|| format!("{BUILT_IN_FOLDER}{target}{BUILT_IN_ENDING}"))
    }

    fn resolve(&self, importer: &str, found: &Found) -> Result<String, Missing> {
        let own = if is_own(importer) { Specifier::parse(&found.specifier).ok() } else { None };
        let text = match own {
            Some(Specifier::Package(request)) => self.requirements.path_of(&request),
            _ => found.specifier.clone(),
        };
        self.resolver.resolve(importer, &text, found.kind)
    }

    /// Native addons are explained to the author, and left out of packages, which often have a way
    /// around them.
    fn accept(&mut self, importer: &str, target: String) -> Result<Option<String>, LinkError> {
        let folder = Volume::package_folder(&target);
        let holds_addon = folder
            .is_some_and(|folder| self.resolver.volume().content(&format!("{folder}/{NATIVE_BUILD_FILE}")).is_some());
        let is_addon = target.ends_with(".node");
        let is_refused = is_addon || (holds_addon && is_own(importer));
        if !is_refused {
            return Ok(Some(target));
        }
        let package = folder.and_then(|folder| folder.rsplit_once("/node_modules/").map(|(_, name)| name.to_owned()));
        let package = package.unwrap_or(target);
        if is_own(importer) {
            return Err(LinkError::NativeAddon { package });
        }
        self.warnings.insert(Warning::NativeAddon { package });
        Ok(None)
    }

    fn miss(&mut self, importer: &str, found: &Found, missing: Missing) -> Result<(), LinkError> {
        let (specifier, importer) = (found.specifier.clone(), importer.to_owned());
        if !is_own(&importer) || found.is_optional {
            self.warnings.insert(Warning::Unresolved { importer, specifier });
            return Ok(());
        }
        Err(match missing {
            Missing::NotFound => LinkError::FileNotFound { specifier, importer },
            Missing::NotOffered { reason } => LinkError::ModuleNotFound { specifier, importer, reason },
        })
    }

    fn finish(mut self) -> Result<Table, LinkError> {
        if self.terms.es_modules == EsModules::Lower {
            self.lower_anew_what_waits();
        }
        names::settle(&mut self.modules, &self.parsed)?;
        Ok(Table { modules: self.modules, warnings: self.warnings })
    }
}

// === impl ParseError ===

impl ParseError {
    fn into_error(self, path: &str) -> LinkError {
        let path = path.to_owned();
        match self {
            Self::NestingTooDeep => LinkError::NestingTooDeep { path, limit: modules::NESTING_LIMIT },
            Self::Syntax { line, column, message } => LinkError::Syntax { path, line, column, message },
        }
    }
}

fn module(kind: ModuleKind, source: &str) -> Module {
    Module {
        kind,
        source: source.into(),
        imports: BTreeMap::new(),
        export_names: Vec::new(),
        is_lowered: false,
        has_top_level_await: false,
    }
}

/// As Node, which replaces what is not UTF-8.
fn read<'v>(volume: &'v Volume, path: &str, limits: &Limits) -> Result<Cow<'v, str>, LinkError> {
    let content = volume.content(path).map(AsRef::as_ref).unwrap_or_default();
    if content.len() > limits.source_bytes {
        let (kind, limit) = (LimitKind::SourceBytes, limits.source_bytes as u64);
        return Err(LinkError::OverLimit { kind, subject: path.to_owned(), limit });
    }
    Ok(String::from_utf8_lossy(content))
}

fn load_json(path: &str, source: &str) -> Result<Module, LinkError> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if is_own(path)
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(source)
    {
        let (line, column) = (error.line() as u32, error.column() as u32);
        return Err(LinkError::Syntax { path: path.to_owned(), line, column, message: "this is not JSON".to_owned() });
    }
    Ok(module(ModuleKind::Json, source))
}

fn parse(volume: &Volume, path: &str, source: &str, terms: &Terms, imports_async: bool) -> Result<Parsed, ParseError> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let format = match extension {
        "mjs" | "mts" => Format::Esm,
        "cjs" | "cts" => Format::CommonJs,
        _ => match volume.format_of_package(path) {
            // Node refuses it. Here components of both kinds lie in one folder, and its manifest says how new ones are meant.
            Format::Esm if is_own(path) && has_common_js_exports(source) => Format::Open,
            format => format,
        },
    };
    let lowers = terms.es_modules == EsModules::Lower;
    let is_typescript = matches!(extension, "ts" | "mts" | "cts");
    let decorators = if is_typescript { volume.decorators_of(path) } else { Decorators::NONE };
    let is_own = is_own(path);
    modules::parse(source, &Options { path, format, is_typescript, decorators, is_own, lowers, imports_async })
}

fn has_common_js_exports(source: &str) -> bool {
    source.contains("module.exports") || source.contains("exports.")
}

#[cfg(test)]
mod tests;
