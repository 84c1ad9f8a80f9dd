//! Where a component's files really are: the server knows them by paths of its own, and a terminal opens real ones.

use std::path::{Path, PathBuf};

use remote::Collected;
use serde_json::{Map, Value};

/// The folder of a component's files on the server, and what it calls the folders above an entry.
const OWN_FOLDER: &str = "/component/";
const UNNAMED_FOLDER: &str = "parent/";

/// Lines around the one that is meant.
const LINES_AROUND: u64 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// From the server's folder to the real one, the deepest first.
    folders: Vec<(String, String)>,
}

// === impl Places ===

impl Places {
    pub(super) fn of(entry: &Path, collected: &Collected) -> Self {
        let ups = |path: &String| path.split('/').take_while(|part| *part == "..").count();
        let highest = collected.files.keys().map(ups).max().unwrap_or(0);
        let mut real: Option<PathBuf> = entry.parent().map(Path::to_owned);
        let mut folders = Vec::new();
        for depth in (0..=highest).rev() {
            let Some(folder) = &real else { break };
            folders.push((format!("{OWN_FOLDER}{}", UNNAMED_FOLDER.repeat(depth)), slashed(folder)));
            real = folder.parent().map(Path::to_owned);
        }
        Self { folders }
    }

    /// The code of a workflow's steps is in files beside its document, or in the document itself.
    pub(super) fn of_workflow(document: &Path, content: &Value) -> Self {
        let mut folders = Vec::new();
        gather_inline(document, content, &mut folders);
        folders.extend(document.parent().map(|folder| (OWN_FOLDER.to_owned(), slashed(folder))));
        Self { folders }
    }

    /// A text with real paths in it.
    pub(super) fn real(&self, text: &str) -> String {
        self.folders.iter().fold(text.to_owned(), |text, (server, real)| text.replace(server.as_str(), real))
    }
}

/// Steps that were written in place: their code has a file name of its own on the server.
fn gather_inline(document: &Path, value: &Value, folders: &mut Vec<(String, String)>) {
    let inline = |step: &Map<String, Value>| {
        let is_inline = step.contains_key("code") && !step.contains_key("filename");
        step.get("namespace").and_then(Value::as_str).filter(|_| is_inline).map(str::to_owned)
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather_inline(document, item, folders)),
        Value::Object(fields) => {
            if let Some(step) = inline(fields) {
                folders.push((format!("{OWN_FOLDER}{step}.js"), format!("{} step {step}", document.display())));
            }
            fields.values().for_each(|value| gather_inline(document, value, folders));
        }
        _ => {}
    }
}

fn slashed(folder: &Path) -> String {
    let text = folder.display().to_string();
    if text.is_empty() || text.ends_with('/') { text } else { format!("{text}/") }
}

/// The lines around a place, with a mark under it.
pub(super) fn code_frame(file: &Path, line: u64, column: u64) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let first = line.saturating_sub(LINES_AROUND).max(1);
    let mut frame = String::new();
    for (number, shown) in (1_u64..).zip(text.lines()).skip_while(|(number, _)| *number < first) {
        if number > line + LINES_AROUND {
            break;
        }
        let mark = if number == line { ">" } else { " " };
        frame.push_str(&format!("  {mark} {number:4} | {shown}\n"));
        if number == line {
            let before: String = shown.chars().take(column.saturating_sub(1) as usize).map(blank).collect();
            frame.push_str(&format!("         | {before}^\n"));
        }
    }
    (!frame.is_empty()).then(|| frame.trim_end().to_owned())
}

/// As wide as what it stands under.
fn blank(letter: char) -> char {
    if letter == '\t' { '\t' } else { ' ' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(files: &[&str]) -> Collected {
        let files = files.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        Collected { filename: "new.js".to_owned(), code: String::new(), files }
    }

    #[test]
    fn paths_of_the_server_become_real_ones() {
        let flat = Places::of(Path::new("/home/a/new.js"), &collected(&["common.js"]));
        let deep = Places::of(Path::new("/home/a/sources/new/new.js"), &collected(&["../../a.app.js"]));

        assert_eq!(flat.real("at run (/component/new.js:3:9)"), "at run (/home/a/new.js:3:9)");
        assert_eq!(deep.real("/component/parent/parent/new.js:1"), "/home/a/sources/new/new.js:1");
        assert_eq!(deep.real("/component/a.app.js:1"), "/home/a/a.app.js:1");
    }

    #[test]
    fn a_frame_marks_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.js");
        std::fs::write(&file, "one\ntwo\nthree three\nfour\nfive\nsix\n").unwrap();

        let frame = code_frame(&file, 3, 7).unwrap();

        assert_eq!(
            frame,
            "       1 | one\n       2 | two\n  >    3 | three three\n         |       ^\n       4 | four\n       5 | five"
        );
        assert_eq!(code_frame(&file, 99, 1), None);
    }
}
