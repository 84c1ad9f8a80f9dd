//! Files that a `require` can mean whose path is computed: those below the folder that it begins with.

use std::path::{Path, PathBuf};

use super::normalize;

/// More is not what a component picks from; as on the server, then none is meant.
const FILES_MAXIMUM: usize = 100;
/// Of files and folders that are looked at.
const ENTRIES_MAXIMUM: usize = 1000;
const ENDINGS: [&str; 7] = ["js", "cjs", "mjs", "json", "ts", "cts", "mts"];

/// By path from the entry's folder, in order. `written` stands in a file of the folder `from`.
pub(super) fn below(folder: &Path, from: &Path, written: &str) -> Vec<PathBuf> {
    // `./` alone could be anything that lies beside the file.
    if !written.contains(|letter| !matches!(letter, '.' | '/')) {
        return Vec::new();
    }
    let (above, begins) = written.rsplit_once('/').unwrap_or((".", written));
    let (mut open, mut found, mut seen) = (vec![(normalize(&from.join(above)), begins)], Vec::new(), 0);
    while let Some((path, begins)) = open.pop() {
        for entry in std::fs::read_dir(folder.join(&path)).into_iter().flatten().flatten() {
            seen += 1;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with(begins) || name.starts_with('.') || name == "node_modules" {
                continue;
            }
            let path = path.join(&name);
            if folder.join(&path).is_dir() {
                open.push((path, ""));
            } else if is_code(&name) {
                found.push(path);
            }
        }
        if seen > ENTRIES_MAXIMUM || found.len() > FILES_MAXIMUM {
            return Vec::new();
        }
    }
    found.sort();
    found
}

fn is_code(name: &str) -> bool {
    let is_about_code = name.ends_with(".d.ts") || name.contains(".test.");
    !is_about_code && name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_more_entries_than_are_looked_at_means_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let steps = folder.path().join("steps");
        std::fs::create_dir(&steps).unwrap();
        std::fs::write(steps.join("a.js"), "").unwrap();
        for number in 1..ENTRIES_MAXIMUM {
            std::fs::write(steps.join(format!("{number}.txt")), "").unwrap();
        }
        let found = || below(folder.path(), Path::new(""), "./steps/");

        assert_eq!(found(), [Path::new("steps/a.js")]);
        std::fs::write(steps.join("one more.txt"), "").unwrap();
        assert!(found().is_empty());
    }
}
