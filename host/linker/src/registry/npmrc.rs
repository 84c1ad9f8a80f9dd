//! Where packages come from, as npm's own configuration tells: `npm_config_registry` in the
//! environment, the project's `.npmrc`, the user's `.npmrc`, in this order; where none of them names a registry, npm
//! itself is asked for its default.
//!
//! Only the keys that concern registries are read: `registry`, `@scope:registry`, and
//! `_authToken`, `_auth`, `username` with `_password` under a `//host/path/` prefix. A token is sent to
//! addresses under its own prefix and nowhere else.

use std::{collections::BTreeMap, fmt, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use url::Url;

#[derive(Clone, PartialEq, Eq)]
pub struct Registry {
    /// None when none is configured.
    base: Option<Url>,
    /// From `@scope` to its registry.
    scopes: BTreeMap<String, Url>,
    /// From `//host/path/` to the value of the `authorization` header.
    credentials: BTreeMap<String, String>,
}

// === impl Registry ===

impl Registry {
    /// One registry without credentials, for tests and for operators who configure by hand.
    pub fn at(base: Url) -> Self {
        Self { base: Some(with_slash(base)), scopes: BTreeMap::new(), credentials: BTreeMap::new() }
    }

    /// Reads the environment and the files that npm reads. What cannot be read or understood is
    /// passed over, as npm does.
    pub fn from_npm_configuration(project_folder: Option<&Path>) -> Self {
        let variable = |name: &str| {
            let mut variables = std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value)));
            variables.find(|(key, _)| key.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.into_string().ok())
        };
        let user_file = variable("npm_config_userconfig")
            .map(Into::into)
            .or_else(|| std::env::home_dir().map(|home| home.join(".npmrc")));
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let user = user_file.map(|path| read(&path)).unwrap_or_default();
        let project = project_folder.map(|folder| read(&folder.join(".npmrc"))).unwrap_or_default();
        let mut registry = Self::from_texts(&[&user, &project], &variable);
        registry.base = registry.base.or_else(default_of_npm);
        registry
    }

    /// `texts` are `.npmrc` files, the weakest first.
    pub fn from_texts(texts: &[&str], variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut settings = BTreeMap::new();
        for line in texts.iter().flat_map(|text| text.lines()) {
            if let Some((key, value)) = parse_line(line, variable) {
                settings.insert(key, value);
            }
        }
        if let Some(address) = variable("npm_config_registry").filter(|address| !address.is_empty()) {
            settings.insert("registry".to_owned(), address);
        }
        Self::from_settings(&settings)
    }

    fn from_settings(settings: &BTreeMap<String, String>) -> Self {
        let address = |text: &String| Url::parse(text).ok().map(with_slash);
        let base = settings.get("registry").and_then(address);
        let scopes = settings.iter().filter_map(|(key, value)| {
            let scope = key.strip_suffix(":registry").filter(|scope| scope.starts_with('@'))?;
            Some((scope.to_owned(), address(value)?))
        });
        let prefixes = settings.keys().filter(|key| key.starts_with("//")).filter_map(|key| key.rsplit_once(':'));
        let credentials = prefixes.filter_map(|(prefix, _)| {
            let slashed = format!("{}/", prefix.trim_end_matches('/'));
            Some((slashed, authorization(settings, prefix)?))
        });
        Self { base, scopes: scopes.collect(), credentials: credentials.collect() }
    }

    /// Where packages come from that no scope says otherwise about.
    pub fn address(&self) -> Option<&Url> {
        self.base.as_ref()
    }

    /// Every registry that is configured.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.base.iter().chain(self.scopes.values()).map(Url::as_str)
    }

    /// Of the packument of a package.
    pub(crate) fn packument_url(&self, name: &str) -> Option<Url> {
        self.base_of(name)?.join(&name.replace('/', "%2f")).ok()
    }

    /// Where a tarball is fetched from, when the packument says `address`.
    ///
    /// Mirrors often pass on the addresses of the registry they mirror. What is laid out as registries do
    /// (`/name/-/file.tgz`) is asked of the configured one, like npm does with `replace-registry-host`.
    pub(crate) fn tarball_url(&self, name: &str, address: &str) -> Option<Url> {
        let base = self.base_of(name)?;
        let url = base.join(address).ok()?;
        if url.host_str() != base.host_str() && url.path().contains("/-/") {
            return base.join(url.path().trim_start_matches('/')).ok();
        }
        Some(url)
    }

    /// Whether an address lies on one of the configured registries. A packument is written by the publisher of the
    /// package, and could name any address that this machine reaches.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        let mut registries = self.base.iter().chain(self.scopes.values());
        registries.any(|registry| registry.origin() == url.origin())
    }

    /// The `authorization` header for a URL: that of the longest prefix it lies under.
    pub(crate) fn authorization(&self, url: &Url) -> Option<&str> {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let address = format!("//{}{port}{}", url.host_str()?, url.path());
        let lies_under = |(prefix, _): &(&String, &String)| address.starts_with(prefix.as_str());
        self.credentials
            .iter()
            .filter(lies_under)
            .max_by_key(|(prefix, _)| prefix.len())
            .map(|(_, value)| value.as_str())
    }

    fn base_of(&self, name: &str) -> Option<&Url> {
        let scope = name.split_once('/').map(|(scope, _)| scope);
        scope.and_then(|scope| self.scopes.get(scope)).or(self.base.as_ref())
    }
}

impl fmt::Debug for Registry {
    /// Without the credentials.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes: Vec<_> = self.credentials.keys().collect();
        formatter
            .debug_struct("Registry")
            .field("base", &self.base.as_ref().map(Url::as_str))
            .field("scopes", &self.scopes.keys())
            .field("credentials_for", &prefixes)
            .finish()
    }
}

fn default_of_npm() -> Option<Url> {
    let output = std::process::Command::new("npm").args(["config", "get", "registry"]).output().ok()?;
    Url::parse(std::str::from_utf8(&output.stdout).ok()?.trim()).ok().map(with_slash)
}

fn with_slash(mut url: Url) -> Url {
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    url
}

fn parse_line(line: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<(String, String)> {
    let line = line.trim();
    if line.starts_with([';', '#', '[']) {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    let value = value.trim().trim_matches(['"', '\'']);
    Some((expand(key.trim(), variable), expand(value, variable)))
}

/// `${NAME}` stands for a variable; one that is not set stays as it is written.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, tail)) = after.split_once('}') else { break };
        expanded.push_str(before);
        expanded.push_str(&variable(name).unwrap_or_else(|| format!("${{{name}}}")));
        rest = tail;
    }
    expanded + rest
}

fn authorization(settings: &BTreeMap<String, String>, prefix: &str) -> Option<String> {
    let setting = |name: &str| settings.get(&format!("{prefix}:{name}"));
    if let Some(token) = setting("_authToken") {
        return Some(format!("Bearer {token}"));
    }
    if let Some(encoded) = setting("_auth") {
        return Some(format!("Basic {encoded}"));
    }
    // npm keeps the password in base64.
    let password = STANDARD.decode(setting("_password")?).ok()?;
    let password = String::from_utf8(password).ok()?;
    Some(format!("Basic {}", STANDARD.encode(format!("{}:{password}", setting("username")?))))
}

#[cfg(test)]
mod tests;
