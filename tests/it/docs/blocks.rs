//! Fenced blocks of a document, and what they say was printed.

/// What becomes of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Run { command: String, expected: Vec<String> },
    Server { command: String },
    Elsewhere { command: String },
}

pub(super) fn blocks_of(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let content: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        let command = content.join("\n");
        match kind.trim() {
            "sh" => blocks.push(Block::Run { command, expected: Vec::new() }),
            "sh server" => blocks.push(Block::Server { command }),
            "sh elsewhere" => blocks.push(Block::Elsewhere { command }),
            "text" => {
                if let Some(Block::Run { expected, .. }) = blocks.last_mut() {
                    expected.extend(content.iter().filter(|line| !line.is_empty()).map(|line| (*line).to_owned()));
                }
            }
            _ => {}
        }
    }
    blocks
}

/// The first line that should have been printed and was not.
pub(super) fn first_missing(expected: &[String], printed: &str) -> Option<String> {
    let mut lines = printed.lines();
    expected.iter().find(|wanted| !lines.any(|line| fits(wanted, line))).cloned()
}

/// Whether a line is the wanted one, where `…` stands for anything.
fn fits(wanted: &str, line: &str) -> bool {
    let mut rest = line.trim_end();
    let parts: Vec<&str> = wanted.trim_end().split('…').collect();
    let last = parts.len() - 1;
    for (index, part) in parts.iter().enumerate() {
        let at = match (index, index == last) {
            (0, true) => (rest == *part).then_some(0),
            (0, false) => rest.starts_with(part).then_some(0),
            (_, true) => rest.ends_with(part).then(|| rest.len() - part.len()),
            (_, false) => rest.find(part),
        };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[test]
fn a_line_fits_where_an_ellipsis_stands_for_the_rest() {
    for (wanted, line, expected) in [
        ("a…c", "abc", true),
        ("a…c", "ac", true),
        ("a…", "abc", true),
        ("…c", "abc", true),
        ("a…b…c", "a1b2c", true),
        ("abc", "abc ", true),
        ("abc", "abcd", false),
        ("a…c", "abcd", false),
        ("b…", "abc", false),
    ] {
        assert_eq!(fits(wanted, line), expected, "{wanted} {line}");
    }
}

#[test]
fn blocks_are_told_apart_by_their_fences() {
    let run = "```sh\none\ntwo\n```\nprints\n```text\nout\n```\n```js\nno\n```\n";
    let text = format!("# T\n```sh server\nserve\n```\n{run}```sh elsewhere\n./x\n```\n");

    let expected = [
        Block::Server { command: "serve".to_owned() },
        Block::Run { command: "one\ntwo".to_owned(), expected: vec!["out".to_owned()] },
        Block::Elsewhere { command: "./x".to_owned() },
    ];
    assert_eq!(blocks_of(&text), expected);
}
