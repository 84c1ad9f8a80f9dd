//! Everything that can go wrong between a component's source and its table of modules.
//!
//! `Display` says what happened, `hint` what to do next, `code` is stable and is what programs match
//! on, `blame` tells the author's mistake (422) from something that is out of reach (503).

use crate::{fetch::FetchError, unsupported::Need};

#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    #[error("{filename:?} cannot be the name of a component's file")]
    InvalidFilename { filename: String },
    #[error("{specifier:?}, required in {importer}, is not the name of a package: {reason}")]
    InvalidSpecifier { specifier: String, importer: String, reason: NameFault },
    #[error("there is no package {name:?} on the registry; {from} asks for it")]
    PackageNotFound { name: String, from: String },
    #[error("package {name:?} has no version {wanted:?}, which {from} asks for{}", Close(close))]
    VersionNotFound { name: String, wanted: String, from: String, close: Vec<String> },
    #[error("{from} depends on {name:?} at {spec:?}; only packages from the registry can be used")]
    UnsupportedDependency { name: String, spec: String, from: String },
    #[error("{importer} requires {specifier:?}, and there is no such file")]
    FileNotFound { specifier: String, importer: String },
    #[error("{importer} requires {specifier:?}, which its package does not offer: {reason}")]
    ModuleNotFound { specifier: String, importer: String, reason: String },
    #[error("{importer} imports {name:?} from {specifier:?}, which has no such export")]
    MissingExport { name: String, specifier: String, importer: String },
    #[error("package {package} is a native addon (compiled C or C++), which cannot run inside the sandbox")]
    NativeAddon { package: String },
    #[error("package {package:?} cannot be used in a component: {need}")]
    UnsupportedPackage { package: String, need: Need },
    #[error("{path}:{line}:{column}: {message}")]
    Syntax { path: String, line: u32, column: u32, message: String },
    #[error("{path} nests expressions or statements more than {limit} deep")]
    NestingTooDeep { path: String, limit: usize },
    #[error("{subject} is over a limit: {limit} at most ({kind})")]
    OverLimit { kind: LimitKind, subject: String, limit: u64 },
    #[error("the lock does not cover {name:?} at {range:?}, which the component requires")]
    LockOutdated { name: String, range: String },
    #[error("{package} of the registry is not the one in the component's lock file: their checksums differ")]
    LockMismatch { package: String },
    #[error("{package} arrived damaged: its checksum is not the one that was published (wanted {wanted})")]
    IntegrityMismatch { package: String, wanted: String },
    #[error("the archive of {package} is not usable: {fault}")]
    CorruptPackage { package: String, fault: ArchiveFault },
    #[error("the archive of {package} lies on {host}, which is not one of the configured registries")]
    ForeignTarball { package: String, host: String },
    #[error("the package registry is out of reach ({url}): {cause}")]
    RegistryUnreachable { url: String, cause: FetchError },
    #[error("the package registry answered {status} ({url})")]
    RegistryStatus { url: String, status: u16 },
    #[error("the package registry's answer is not usable ({url})")]
    RegistryAnswer { url: String },
    #[error("linking stopped before its end")]
    Interrupted,
    /// What the component's own files ask for, and where they do.
    #[error("{source}")]
    Located { location: SourceLocation, source: Box<LinkError> },
}

/// A location in the component's own files, by their path in the table of modules; lines and columns from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    pub path: String,
    pub line: Option<u32>,
    /// Not told for TypeScript, whose types are taken out first.
    pub column: Option<u32>,
}

/// What asks for a package, when no other package does.
pub(crate) const THE_COMPONENT: &str = "the component";

/// Which side can act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The component cannot be linked as it is: 422.
    Author,
    /// The same component may link later or elsewhere: 503.
    Unavailable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    #[error("it is empty or ends early")]
    Empty,
    #[error("it is longer than 214 characters")]
    TooLong,
    #[error("it may hold letters, digits and -._~ only, and must not start with . or _")]
    Characters,
    #[error("the version after @ is not a version, a range such as ^1.2 or a tag")]
    Range,
    #[error("modules are loaded from packages and the component's own files only, not from addresses")]
    Url,
    #[error("absolute paths are not possible; use a path relative to the file")]
    Absolute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitKind {
    #[error("packages")]
    Packages,
    #[error("bytes of a packument")]
    PackumentBytes,
    #[error("bytes of all packuments together")]
    PackumentsBytes,
    #[error("bytes of a tarball")]
    TarballBytes,
    #[error("bytes of an unpacked package")]
    UnpackedBytes,
    #[error("files of a package")]
    Files,
    #[error("bytes of all packages together")]
    TotalBytes,
    #[error("modules")]
    Modules,
    #[error("bytes of a source file")]
    SourceBytes,
    #[error("bytes of all modules together")]
    LinkedBytes,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveFault {
    #[error("it is not a gzipped tar archive")]
    Format,
    #[error("{path:?} leads out of the package")]
    Path { path: String },
    #[error("it has no package.json that can be read")]
    Manifest,
}

/// For the message: versions that are near the one that was asked for.
struct Close<'a>(&'a [String]);

// === impl LinkError ===

impl LinkError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidFilename { .. } => "invalid_filename",
            Self::InvalidSpecifier { .. } => "invalid_specifier",
            Self::PackageNotFound { .. } => "package_not_found",
            Self::VersionNotFound { .. } => "version_not_found",
            Self::UnsupportedDependency { .. } => "unsupported_dependency",
            Self::FileNotFound { .. } => "file_not_found",
            Self::ModuleNotFound { .. } => "module_not_found",
            Self::MissingExport { .. } => "missing_export",
            Self::NativeAddon { .. } => "native_addon",
            Self::UnsupportedPackage { .. } => "unsupported_package",
            Self::Syntax { .. } => "syntax_error",
            Self::NestingTooDeep { .. } => "nesting_too_deep",
            Self::OverLimit { .. } => "over_limit",
            Self::LockOutdated { .. } => "lock_outdated",
            Self::LockMismatch { .. } => "lock_mismatch",
            Self::IntegrityMismatch { .. } => "integrity_mismatch",
            Self::CorruptPackage { .. } => "corrupt_package",
            Self::ForeignTarball { .. } => "foreign_tarball",
            Self::RegistryUnreachable { .. } => "registry_unreachable",
            Self::RegistryStatus { .. } => "registry_status",
            Self::RegistryAnswer { .. } => "registry_answer",
            Self::Interrupted => "interrupted",
            Self::Located { source, .. } => source.code(),
        }
    }

    /// Where in the component's own files, when it can be told.
    pub fn location(&self) -> Option<SourceLocation> {
        let location = |path: &String, line, column| SourceLocation { path: path.clone(), line, column };
        match self {
            Self::Located { location, .. } => Some(location.clone()),
            Self::Syntax { path, line, column, .. } => Some(location(path, Some(*line), Some(*column))),
            Self::NestingTooDeep { path, .. } => Some(location(path, None, None)),
            _ => None,
        }
    }

    pub(crate) fn at(self, location: SourceLocation) -> Self {
        Self::Located { location, source: Box::new(self) }
    }

    pub fn blame(&self) -> Blame {
        match self {
            Self::IntegrityMismatch { .. }
            | Self::ForeignTarball { .. }
            | Self::RegistryUnreachable { .. }
            | Self::RegistryStatus { .. }
            | Self::RegistryAnswer { .. }
            | Self::Interrupted => Blame::Unavailable,
            Self::Located { source, .. } => source.blame(),
            _ => Blame::Author,
        }
    }

    /// What to do next, as a sentence without a full stop.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InvalidFilename { .. } => {
                "give a relative path that ends in .js, .mjs, .cjs, .ts, .mts, .cts or .json"
            }
            Self::InvalidSpecifier { .. } => {
                "write require(\"name\"), require(\"name@1.2.3\") or a path that starts with ./"
            }
            Self::PackageNotFound { .. } => {
                "check the spelling; a private package needs its registry and token in .npmrc"
            }
            Self::VersionNotFound { .. } => "ask for a version that exists, or leave it out to get the latest",
            Self::UnsupportedDependency { .. } => {
                "use a version of the package that depends on published packages only"
            }
            Self::FileNotFound { .. } => "send the file along with the component, or correct the path",
            Self::ModuleNotFound { .. } => "check the path inside the package against its documentation",
            Self::MissingExport { .. } => "check the name of the export",
            Self::NativeAddon { .. } => "use a package written in JavaScript, for example bcryptjs instead of bcrypt",
            Self::UnsupportedPackage { .. } => {
                "use an HTTP API of the service, or a package written in JavaScript that needs none of it"
            }
            Self::Syntax { .. } => "correct the syntax at that place",
            Self::NestingTooDeep { .. } => "put large generated data into a JSON file",
            Self::OverLimit { .. } => "use a smaller package or a part of it; the operator can raise the limit",
            Self::LockOutdated { .. } => "deploy the component again, so that its packages are resolved anew",
            Self::LockMismatch { .. } => "find out why; `npm install` writes the lock file anew",
            Self::IntegrityMismatch { .. } => {
                "try again; if it stays, tell the operator that the registry or a mirror is broken"
            }
            Self::CorruptPackage { .. } => "use another version of the package",
            Self::ForeignTarball { .. } => {
                "the operator can allow the host: name it as a registry in .npmrc, for example for a scope"
            }
            Self::RegistryUnreachable { .. } => {
                "try again later; the operator can check the registry in .npmrc or NPM_CONFIG_REGISTRY"
            }
            Self::RegistryStatus { .. } => "try again later; the operator can check the registry's token in .npmrc",
            Self::RegistryAnswer { .. } => {
                "the operator can check that the registry in .npmrc or NPM_CONFIG_REGISTRY is an npm registry"
            }
            Self::Interrupted => "try again",
            Self::Located { source, .. } => source.hint(),
        }
    }
}

// === impl Close ===

impl std::fmt::Display for Close<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(formatter, "; did you mean {}?", self.0.join(" or "))
    }
}
