//! Specifiers of modules: the text in `require("…")` or `import "…"`.

use crate::{error::NameFault, registry::Wanted};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Specifier {
    /// `./x`, `../x`, `.` and `..`
    Relative,
    /// Part of the guest.
    BuiltIn,
    /// `#x`: decided by the `imports` of the package's manifest.
    Internal,
    Package(PackageSpecifier),
}

/// `name@range/subpath`, of which the range is the component's privilege.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageSpecifier {
    pub(crate) name: String,
    /// As written; `None` without one.
    pub(crate) range: Option<String>,
    /// Empty, or from the slash on.
    pub(crate) subpath: String,
}

/// npm's limit.
const MAX_NAME_CHARACTERS: usize = 214;

/// Node's modules that can be named without `node:`.
const BUILT_IN: [&str; 57] = [
    "_http_agent",
    "_http_client",
    "_http_common",
    "_http_incoming",
    "_http_outgoing",
    "_http_server",
    "_stream_duplex",
    "_stream_passthrough",
    "_stream_readable",
    "_stream_transform",
    "_stream_writable",
    "_tls_common",
    "_tls_wrap",
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "dns/promises",
    "domain",
    "events",
    "fs",
    "fs/promises",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "timers",
    "tls",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "worker_threads",
    "zlib",
];

/// Modules of those with parts: `stream/promises`, `util/types` and so on.
const BUILT_IN_PARENTS: [&str; 6] = ["inspector", "readline", "stream", "timers", "util", "worker_threads"];

// === impl Specifier ===

impl Specifier {
    /// As the component writes it; packages pass through here as well, without the right to a range.
    pub(crate) fn parse(text: &str) -> Result<Self, NameFault> {
        let is_relative =
            |prefix: &str| text == prefix || text.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        if is_relative(".") || is_relative("..") {
            return Ok(Self::Relative);
        }
        if is_built_in(text) {
            return Ok(Self::BuiltIn);
        }
        if text.starts_with('#') {
            return Ok(Self::Internal);
        }
        if text.starts_with('/') {
            return Err(NameFault::Absolute);
        }
        if text.split_once(':').is_some_and(|(scheme, _)| !scheme.is_empty() && !scheme.contains(['/', '@'])) {
            return Err(NameFault::Url);
        }
        PackageSpecifier::parse(text).map(Self::Package)
    }
}

// === impl PackageSpecifier ===

impl PackageSpecifier {
    fn parse(text: &str) -> Result<Self, NameFault> {
        let (scope, rest) = match text.strip_prefix('@') {
            Some(scoped) => {
                let (scope, rest) = scoped.split_once('/').ok_or(NameFault::Empty)?;
                check_name(scope)?;
                (format!("@{scope}/"), rest)
            }
            None => (String::new(), text),
        };
        let (whole, subpath) = rest.find('/').and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
        let (name, range) = match whole.split_once('@') {
            Some((name, range)) => (name, Some(range.trim())),
            None => (whole, None),
        };
        check_name(name)?;
        if scope.len() + name.len() > MAX_NAME_CHARACTERS {
            return Err(NameFault::TooLong);
        }
        if let Some(range) = range
            && (range.is_empty() || Wanted::parse(range).is_none())
        {
            return Err(NameFault::Range);
        }
        Ok(Self { name: format!("{scope}{name}"), range: range.map(str::to_owned), subpath: subpath.to_owned() })
    }
}

/// Of the whole name, with a scope or an alias's version (`axios@0.21.1`, which the component's own
/// requests make a folder of).
pub(crate) fn is_package_name(name: &str) -> bool {
    PackageSpecifier::parse(name).is_ok_and(|specifier| specifier.subpath.is_empty())
}

/// Old packages have capitals and a few stranger letters; what is refused never existed.
fn check_name(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-._~!'()*".contains(letter);
    if name.starts_with(['.', '_']) || !name.chars().all(is_letter) || name == "node_modules" {
        return Err(NameFault::Characters);
    }
    Ok(())
}

pub(crate) fn is_built_in(text: &str) -> bool {
    let parent = text.split_once('/').map(|(parent, _)| parent);
    text.starts_with("node:")
        || BUILT_IN.contains(&text)
        || parent.is_some_and(|parent| BUILT_IN_PARENTS.contains(&parent) && !text.ends_with('/'))
}

#[cfg(test)]
mod tests;
