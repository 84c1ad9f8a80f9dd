//! Finds test files, and puts the harness in front of one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use remote::Collected;

const HARNESS: &str = include_str!("harness.js");
const HARNESS_NAME: &str = "wellspring-test-harness.cjs";
pub(super) const ENDINGS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];
/// Deeper is not where tests are; also ends a circle of links.
const DEPTH_MAXIMUM: usize = 16;

/// In the order of their paths.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let here = [PathBuf::from(".")];
    let mut files = Vec::new();
    for path in if paths.is_empty() { &here[..] } else { paths } {
        match path.is_dir() {
            true => walk(path, 0, &mut files)?,
            false if is_test(path) && path.is_file() => files.push(path.clone()),
            false if path.exists() => bail!("{} is no test file: its name ends in .test.js", path.display()),
            false => bail!("there is no {}", path.display()),
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_skipped = name.starts_with('.') || name == "node_modules";
        if path.is_dir() && !is_skipped && depth < DEPTH_MAXIMUM {
            walk(&path, depth + 1, files)?;
        } else if path.is_file() && is_test(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    stem_of(path).is_some()
}

/// `orders` of `orders.test.js`.
fn stem_of(path: &Path) -> Option<&str> {
    let (stem, ending) = path.file_name()?.to_str()?.rsplit_once('.')?;
    stem.strip_suffix(".test").filter(|_| ENDINGS.contains(&ending))
}

/// The component that a test file lies beside.
pub(super) fn component_of(test: &Path) -> Option<PathBuf> {
    let stem = stem_of(test)?;
    let candidates = ENDINGS.iter().map(|ending| test.with_file_name(format!("{stem}.{ending}")));
    candidates.into_iter().find(|path| path.is_file())
}

/// The test file becomes one of the files of the harness.
pub(super) fn behind_harness(collected: Collected) -> Collected {
    let Collected { filename, code, mut files } = collected;
    let required = serde_json::Value::from(format!("./{filename}")).to_string();
    files.insert(filename, code);
    let code = HARNESS.replace("__TEST_FILE__", &required);
    Collected { filename: HARNESS_NAME.to_owned(), code, files }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_in_folders_and_belong_to_the_component_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["a.js", "a.test.js", "deep/b.test.ts", "deep/b.ts", "node_modules/x/x.test.js", ".hidden/c.test.js"]
        {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }

        let found = find(&[folder.path().to_owned()]).unwrap();

        let in_folder = |name: &str| folder.path().join(name);
        assert_eq!(found, [in_folder("a.test.js"), in_folder("deep/b.test.ts")]);
        assert_eq!(component_of(&found[1]), Some(in_folder("deep/b.ts")));
        assert!(find(&[in_folder("a.js")]).unwrap_err().to_string().contains("no test file"));
        assert!(find(&[in_folder("z.test.js")]).unwrap_err().to_string().contains("there is no"));
    }
}
