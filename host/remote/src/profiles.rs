//! Logins that are kept: a name, a server, a key. In one file that only its owner can read.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::suggest::suggest;

/// The profile of commands that name none.
pub(crate) const DEFAULT: &str = "default";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profiles {
    /// The one that counts when none is named; the last one that was logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profile {
    pub(crate) url: String,
    pub(crate) api_key: String,
}

/// `$XDG_CONFIG_HOME/wellspring/profiles.toml`, or the same under `~/.config`.
pub(crate) fn default_path() -> Result<PathBuf, Error> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    Ok(folder.ok_or(Error::NoConfigFolder)?.join("wellspring/profiles.toml"))
}

// === impl Profile ===

impl std::fmt::Debug for Profile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Profile").field("url", &self.url).finish_non_exhaustive()
    }
}

// === impl Profiles ===

impl Profiles {
    /// None is as good as an empty file.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(Error::File { verb: "read", path: path.to_owned(), source }),
        };
        toml::from_str(&text).map_err(|error: toml::de::Error| Error::Profiles {
            path: path.to_owned(),
            cause: error.message().to_owned(),
        })
    }

    /// Replaces the file whole, so that a crash leaves the old one.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::File { verb: "write", path: path.to_owned(), source };
        let text = toml::to_string(self)
            .map_err(|error| Error::Profiles { path: path.to_owned(), cause: error.to_string() })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        // Made with mode 0600, before there is a key in it.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The named one, or else the current one; none when there is none at all.
    pub(crate) fn names(&self) -> Vec<String> {
        self.profiles.keys().cloned().collect()
    }

    pub(crate) fn choose(&self, name: Option<&str>) -> Result<Option<(&str, &Profile)>, Error> {
        let wanted = name.or(self.current.as_deref()).unwrap_or(DEFAULT);
        match (self.profiles.get_key_value(wanted), name) {
            (Some((name, profile)), _) => Ok(Some((name, profile))),
            (None, None) => Ok(None),
            (None, Some(name)) => Err(Error::NoProfile {
                name: name.to_owned(),
                suggestions: suggest(name, self.profiles.keys().map(String::as_str)),
            }),
        }
    }
}

/// Whether other users of the machine can read the keys.
pub(crate) fn is_readable_by_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(test)]
mod tests;
