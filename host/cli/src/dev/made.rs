//! Which sources and workflows `dev` has made of which files: kept in the data folder, so that the next `dev` of a folder
//! knows what is its own, and removes what lost its file in between. What others have made is never in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Beside the key that `dev` uses.
const FILE: &str = "dev.made.json";

/// A source or workflow, and the file that it was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct One {
    /// Of the API: `sources/dc_…`.
    pub(super) path: String,
    pub(super) name: String,
    pub(super) file: PathBuf,
}

/// By folder.
type All = BTreeMap<PathBuf, Vec<One>>;

/// What was made of one folder.
pub(super) struct Made {
    data: PathBuf,
    folder: PathBuf,
    own: Vec<One>,
}

// === impl Made ===

impl Made {
    pub(super) fn of(data: &Path, folder: &Path) -> Result<Self> {
        let data = data.canonicalize().with_context(|| format!("cannot read {}", data.display()))?;
        let mut made = Self { folder: within(&data, folder), data, own: Vec::new() };
        made.own = made.read().remove(&made.folder).unwrap_or_default();
        for one in &mut made.own {
            one.file = folder.join(&one.file);
        }
        Ok(made)
    }

    pub(super) fn own(&self) -> &[One] {
        &self.own
    }

    /// Whether another folder, which is still there, has made it.
    pub(super) fn is_of_another(&self, path: &str) -> bool {
        let is_there = |folder: &PathBuf| self.beside().join(folder).exists();
        let others = self.read().into_iter().filter(|(folder, _)| *folder != self.folder);
        others.filter(|(folder, _)| is_there(folder)).any(|(_, made)| made.iter().any(|one| one.path == path))
    }

    pub(super) fn note(&mut self, one: One) -> Result<()> {
        if self.own.contains(&one) {
            return Ok(());
        }
        self.own.retain(|known| known.path != one.path);
        self.own.push(one);
        self.write()
    }

    pub(super) fn forget(&mut self, path: &str) -> Result<()> {
        self.own.retain(|known| known.path != path);
        self.write()
    }

    /// A list that cannot be read counts as none: then what is found by its name is taken over, and nothing is removed.
    fn read(&self) -> All {
        let text = std::fs::read(self.data.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn write(&self) -> Result<()> {
        let mut all = self.read();
        let folder = self.beside().join(&self.folder);
        let relative = |one: &One| One { file: relative_to(&folder, &one.file), ..one.clone() };
        all.insert(self.folder.clone(), self.own.iter().map(relative).collect());
        all.retain(|_, made| !made.is_empty());
        let path = self.data.join(FILE);
        let whole = path.with_extension("json.new");
        let failed = || format!("cannot write {}", path.display());
        std::fs::write(&whole, serde_json::to_vec(&all)?).with_context(failed)?;
        std::fs::rename(&whole, &path).with_context(failed)
    }

    fn beside(&self) -> &Path {
        self.data.parent().unwrap_or(&self.data)
    }
}

/// A folder that its data folder lies in can be moved together with it.
fn within(data: &Path, folder: &Path) -> PathBuf {
    relative_to(data.parent().unwrap_or(data), folder)
}

fn relative_to(folder: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(folder).map_or_else(|_| path.to_owned(), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, file: PathBuf) -> One {
        One { path: path.to_owned(), name: "a".to_owned(), file }
    }

    #[test]
    fn what_a_folder_has_made_is_known_again_and_moves_with_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap().join("shop");
        std::fs::create_dir_all(folder.join(".wellspring")).unwrap();
        let mut made = Made::of(&folder.join(".wellspring"), &folder).unwrap();

        made.note(one("sources/dc_1", folder.join("a.js"))).unwrap();
        made.note(one("sources/dc_2", folder.join("b.js"))).unwrap();
        made.forget("sources/dc_2").unwrap();

        let moved = folder.with_file_name("moved");
        std::fs::rename(&folder, &moved).unwrap();
        let again = Made::of(&moved.join(".wellspring"), &moved).unwrap();
        assert_eq!(again.own(), [one("sources/dc_1", moved.join("a.js"))]);
        assert!(!again.is_of_another("sources/dc_1"));
    }

    #[test]
    fn folders_that_share_their_data_know_what_belongs_to_the_other_while_it_is_there() {
        let place = tempfile::tempdir().unwrap();
        let [data, one_folder, other_folder] = ["data", "one", "other"].map(|name| place.path().join(name));
        for folder in [&data, &one_folder, &other_folder] {
            std::fs::create_dir(folder).unwrap();
        }
        let mut one_made = Made::of(&data, &one_folder).unwrap();
        let mut other_made = Made::of(&data, &other_folder).unwrap();

        one_made.note(one("sources/dc_1", one_folder.join("a.js"))).unwrap();
        other_made.note(one("sources/dc_2", other_folder.join("a.js"))).unwrap();

        assert!(other_made.is_of_another("sources/dc_1") && !other_made.is_of_another("sources/dc_2"));
        assert_eq!(Made::of(&data, &one_folder).unwrap().own().len(), 1);
        std::fs::remove_dir_all(&one_folder).unwrap();
        assert!(!other_made.is_of_another("sources/dc_1"));
    }
}
