//! Secret values beside a project: a file of `NAME=value` lines that version control must not see.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::profiles::is_readable_by_others;

const FILE: &str = ".secrets.env";

/// What the file says. The environment counts more, for build jobs that have no file.
#[derive(Clone, Default)]
pub struct Secrets {
    path: PathBuf,
    values: BTreeMap<String, String>,
    /// Whether any of them is in the file.
    is_kept: bool,
}

// === impl Secrets ===

impl Secrets {
    /// The file that the project names, or `.secrets.PROFILE.env`, or `.secrets.env`. One that is not named may be missing.
    pub(super) fn read(folder: &Path, named: Option<&Path>, profile: Option<&str>) -> Result<Self, Error> {
        let of_profile = profile.map(|profile| folder.join(format!(".secrets.{profile}.env")));
        let path = match named {
            Some(named) => folder.join(named),
            None => of_profile.filter(|path| path.is_file()).unwrap_or_else(|| folder.join(FILE)),
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => String::new(),
            Err(source) => return Err(Error::File { verb: "read", path, source }),
        };
        let values = parse(&text).map_err(|problem| Error::Project { path: path.clone(), problem })?;
        let is_kept = !values.is_empty();
        Ok(Self { path, values, is_kept })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn get(&self, name: &str, prop: &str) -> Result<&str, Error> {
        let found = self.values.get(name).map(String::as_str);
        found.ok_or_else(|| Error::NoSecret { name: name.to_owned(), prop: prop.to_owned(), path: self.path.clone() })
    }

    /// With what the environment has of these names.
    #[must_use]
    pub fn with_environment(mut self, variable: impl Fn(&str) -> Option<String>, names: &[String]) -> Self {
        for name in names {
            if let Some(value) = variable(name) {
                self.values.insert(name.clone(), value);
            }
        }
        self
    }

    /// What should be done about the file, when something should.
    pub fn warning(&self) -> Option<String> {
        let path = self.path.display();
        if !self.is_kept {
            return None;
        }
        if is_readable_by_others(&self.path) {
            return Some(format!("others can read your secrets; run `chmod 600 {path}`"));
        }
        is_committed(&self.path).then(|| format!("git would commit {path}; add it to .gitignore"))
    }
}

/// Whether the file is in a work tree of git that does not ignore it.
fn is_committed(path: &Path) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut asked = Command::new("git");
    asked.arg("-C").arg(folder).args(["check-ignore", "-q"]).arg(name);
    // 0 is ignored, 1 is not, 128 is no work tree; without git there is nothing to commit with.
    let status = asked.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.code() == Some(1))
}

/// Lines of `NAME=value`, with comments; a value in quotes is what is between them.
fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) =
            line.split_once('=').ok_or_else(|| format!("line {}: write it as NAME=value", number + 1))?;
        let name = name.trim().trim_start_matches("export ").trim();
        let value = value.trim();
        let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        values.insert(name.to_owned(), quoted.unwrap_or(value).to_owned());
    }
    Ok(values)
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secrets").field("path", &self.path).field("count", &self.values.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_comments_and_quotes_are_read_and_a_line_that_is_neither_is_named() {
        let values = parse("# keys\nA=1\nexport B = \"two words\"\n\nC='=x='\n").unwrap();

        let expected = [("A", "1"), ("B", "two words"), ("C", "=x=")];
        assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(parse("A=1\nB\n").unwrap_err(), "line 2: write it as NAME=value");
    }

    #[test]
    fn values_are_not_printed_by_accident() {
        let secrets = Secrets { path: "s".into(), values: parse("A=hidden").unwrap(), is_kept: true };

        assert!(!format!("{secrets:?}").contains("hidden"));
    }

    #[test]
    fn a_file_that_git_would_commit_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, "A=1").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let warning = || Secrets::read(folder.path(), None, None).unwrap().warning();
        assert_eq!(warning(), None, "no work tree");

        let made = Command::new("git").arg("init").arg("-q").arg(folder.path()).status().unwrap();
        assert!(made.success());
        assert!(warning().unwrap().contains("git would commit"));
        std::fs::write(folder.path().join(".gitignore"), ".secrets*.env\n").unwrap();

        assert_eq!(warning(), None);
    }

    #[test]
    fn a_file_that_git_ignores_anywhere_and_one_that_is_not_there_are_not_warned_of() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("shop/sources");
        std::fs::create_dir_all(&folder).unwrap();
        assert!(Command::new("git").arg("init").arg("-q").arg(tree.path()).status().unwrap().success());
        let read = || Secrets::read(&folder, None, None).unwrap();
        let of_environment = |_: &str| Some("1".to_owned());
        assert_eq!(read().with_environment(of_environment, &["A".to_owned()]).warning(), None, "no file");

        let path = folder.join(FILE);
        std::fs::write(&path, "A=1").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        assert!(read().warning().unwrap().contains("git would commit"));
        for (ignoring, pattern) in
            [(".gitignore", "*.env"), (".git/info/exclude", "shop/"), ("shop/.gitignore", "sources")]
        {
            let ignoring = tree.path().join(ignoring);
            std::fs::write(&ignoring, pattern).unwrap();
            assert_eq!(read().warning(), None, "{pattern}");
            std::fs::remove_file(ignoring).unwrap();
        }
    }
}
