//! The list: one section a package, `//= name`, whose `check` tells whether the package does its work.

use linker::Entry;

const THEMES: [&str; 5] = [
    include_str!("cases/http.js"),
    include_str!("cases/services.js"),
    include_str!("cases/text.js"),
    include_str!("cases/data.js"),
    include_str!("cases/secrets.js"),
];
const SECTION: &str = "//= ";
/// For those that sign.
const KEY: &str = include_str!("../components/node-crypto-rsa/key.json");

pub(crate) struct Case {
    pub(crate) name: String,
    source: String,
}

/// Every case whose name holds one of the words, or all of them.
pub(crate) fn select(words: &[String]) -> Vec<Case> {
    let sections = THEMES.iter().flat_map(|theme| theme.split(SECTION).skip(1));
    let cases = sections.filter_map(|section| {
        let (name, source) = section.split_once('\n')?;
        Some(Case { name: name.to_owned(), source: source.to_owned() })
    });
    cases.filter(|case| words.is_empty() || words.iter().any(|word| case.name.contains(word.as_str()))).collect()
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
