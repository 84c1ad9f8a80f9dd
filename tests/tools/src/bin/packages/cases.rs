//! The list: one section a package, `//= name`, whose `check` tells whether the package does its work.

use linker::Entry;

/// Read when the program runs, so that a case can be changed without building.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/packages/cases");
const THEMES: [&str; 5] = ["http", "services", "text", "data", "secrets"];
const SECTION: &str = "//= ";
/// For those that sign.
const KEY: &str = include_str!("../../../../components/node-crypto-rsa/key.json");

pub(crate) struct Case {
    pub(crate) name: String,
    source: String,
}

/// Every case whose name holds one of the words, or all of them.
pub(crate) fn select(words: &[String]) -> std::io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for theme in THEMES {
        let text = std::fs::read_to_string(format!("{FOLDER}/{theme}.js"))?;
        let sections = text.split(SECTION).skip(1).filter_map(|section| section.split_once('\n'));
        cases.extend(sections.map(|(name, source)| Case { name: name.to_owned(), source: source.to_owned() }));
    }
    cases.retain(|case| words.is_empty() || words.iter().any(|word| case.name.contains(word.as_str())));
    Ok(cases)
}

// === impl Case ===

impl Case {
    /// The section as an action whose run is `check`.
    pub(crate) fn entry(&self) -> Entry {
        let is_module = self.source.lines().any(|line| line.starts_with("import "));
        let (filename, export) =
            if is_module { ("check.mjs", "export default") } else { ("check.js", "module.exports =") };
        let source =
            format!("{}\n{export} {{type: 'action', name: 'check', version: '0.0.1', run: check}};\n", self.source);
        let files = [("key.json".to_owned(), KEY.to_owned())].into();
        Entry { filename: filename.to_owned(), source, files }
    }
}
