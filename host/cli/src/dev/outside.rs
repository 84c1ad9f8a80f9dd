//! Files that components of the folder consist of and that lie outside of it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use remote::Collected;

/// Beside the nearest manifest are its lock files.
const MANIFESTS: [&str; 3] = ["package.json", "package-lock.json", "npm-shrinkwrap.json"];
/// As many folders as a manifest is looked for in.
const FOLDERS_MAXIMUM: usize = 16;

/// The entry, what it refers to, and the manifest that decides about its packages.
pub(super) fn files_of(entry: &Path, collected: &Collected) -> BTreeSet<PathBuf> {
    let folder = entry.parent().unwrap_or(Path::new(""));
    let mut files: BTreeSet<PathBuf> = collected.files.keys().map(|path| normalize(&folder.join(path))).collect();
    files.insert(normalize(entry));
    let folders = folder.ancestors().take(FOLDERS_MAXIMUM);
    if let Some(folder) = folders.into_iter().find(|folder| folder.join("package.json").is_file()) {
        files.extend(MANIFESTS.map(|name| folder.join(name)));
    }
    files
}

/// `a/../b` is `b`.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_above_the_folder_are_named_by_their_real_paths() {
        let files = [("../shared/x.js".to_owned(), String::new()), ("lib/y.js".to_owned(), String::new())];
        let collected = Collected { filename: "a.js".to_owned(), code: String::new(), files: files.into() };

        let found = files_of(Path::new("/nowhere/shop/a.js"), &collected);

        let expected = ["/nowhere/shared/x.js", "/nowhere/shop/a.js", "/nowhere/shop/lib/y.js"];
        assert_eq!(found, expected.map(PathBuf::from).into());
    }
}
