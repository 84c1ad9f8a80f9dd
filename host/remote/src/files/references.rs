//! The relative paths and the `#names` that a script requires or imports, found without parsing it.
//!
//! Words count only where they are code: comments, texts, templates and regular expressions are stepped over. Where a
//! slash could begin a regular expression or divide, the token before decides, as it does for people.

/// In the order in which they are written, each as often as it is.
pub(super) fn references(text: &str) -> Vec<String> {
    let mut scanner = Scanner { text, at: 0, before: Before::Operator, brackets: Vec::new() };
    let mut found = Vec::new();
    let mut awaited = Awaited::Nothing;
    while let Some(token) = scanner.next() {
        awaited = match (token, awaited) {
            (Token::Text(path), Awaited::Path | Awaited::PathOrBracket) => {
                found.extend(Some(path).filter(|path| is_of_the_component(path)));
                Awaited::Nothing
            }
            (Token::OpenBracket, Awaited::PathOrBracket | Awaited::Bracket) => Awaited::Path,
            (Token::Word("require"), _) => Awaited::Bracket,
            (Token::Dot, Awaited::Bracket) => Awaited::Resolve,
            (Token::Word("resolve"), Awaited::Resolve) => Awaited::Bracket,
            (Token::Word("import"), _) => Awaited::PathOrBracket,
            (Token::Word("from"), _) => Awaited::Path,
            _ => Awaited::Nothing,
        };
    }
    found.into_iter().map(str::to_owned).collect()
}

/// `"name": true` and `"name": false`, wherever they are: what JSON with comments says of switches.
pub(super) fn flags(text: &str) -> Vec<(&str, bool)> {
    let mut scanner = Scanner { text, at: 0, before: Before::Operator, brackets: Vec::new() };
    let (mut found, mut name) = (Vec::new(), None);
    while let Some(token) = scanner.next() {
        name = match (token, name) {
            (Token::Text(text), _) => Some(text),
            // Between a name and what it is stands a colon.
            (Token::Other, name) => name,
            (Token::Word(word @ ("true" | "false")), Some(name)) => {
                found.push((name, word == "true"));
                None
            }
            _ => None,
        };
    }
    found
}

/// Paths that a script computes for `require`, each with whether it is whole, as of `__dirname + "/x"`: otherwise files that it
/// may ask for begin so, as with `"./steps/" + name`.
pub(super) fn computed(text: &str) -> Vec<(String, bool)> {
    let mut scanner = Scanner { text, at: 0, before: Before::Operator, brackets: Vec::new() };
    let (mut found, mut is_asked) = (Vec::new(), false);
    while let Some(token) = scanner.next() {
        if is_asked && matches!(token, Token::OpenBracket) {
            found.extend(scanner.argument());
        }
        is_asked = matches!(token, Token::Word("require"));
    }
    found
}

/// And not a package, or a module that is built in.
fn is_of_the_component(path: &str) -> bool {
    matches!(path.split('/').next(), Some("." | "..")) || path.starts_with('#')
}

/// What has to follow a word for it to refer to a file.
#[derive(Clone, Copy)]
enum Awaited {
    Nothing,
    Path,
    Bracket,
    /// Of `require.resolve`.
    Resolve,
    PathOrBracket,
}

#[derive(Clone, Copy)]
enum Token<'t> {
    Word(&'t str),
    /// A text that is written out, also as a template.
    Text(&'t str),
    OpenBracket,
    Dot,
    Other,
}

/// What the last token was, as far as a slash depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A slash divides.
    Value,
    /// A slash begins a regular expression.
    Operator,
    /// A word after which brackets hold a condition, and a regular expression may follow them.
    Control,
}

/// What is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Bracket {
        is_condition: bool,
    },
    Brace,
    /// `${` of a template.
    Substitution,
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    before: Before,
    brackets: Vec<Open>,
}

const CONTROL: [&str; 4] = ["if", "while", "for", "with"];

/// Words that are no values, so that a slash after them begins a regular expression.
const OPERATORS: [&str; 15] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "extends",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

// === impl Scanner ===

impl<'t> Scanner<'t> {
    fn next(&mut self) -> Option<Token<'t>> {
        self.skip_space_and_comments();
        let byte = *self.rest().as_bytes().first()?;
        let (token, before) = match byte {
            b'"' | b'\'' => (Token::Text(self.quoted(byte)), Before::Value),
            b'`' => (self.template(), Before::Value),
            b'}' if self.brackets.last() == Some(&Open::Substitution) => {
                self.brackets.pop();
                (self.template(), Before::Value)
            }
            b'/' if self.before != Before::Value => {
                self.regular_expression();
                (Token::Other, Before::Value)
            }
            _ if is_word(byte) => self.word(),
            _ => self.punctuation(byte),
        };
        // In the middle of a template comes an expression.
        let is_open = self.brackets.last() == Some(&Open::Substitution) && self.text.get(..self.at)?.ends_with("${");
        self.before = if is_open { Before::Operator } else { before };
        Some(token)
    }

    /// What is in the brackets of a `require`, from behind the first, as far as it is written out.
    fn argument(&mut self) -> Option<(String, bool)> {
        let (mut path, mut depth) = (String::new(), 1_usize);
        let is_whole = loop {
            self.skip_space_and_comments();
            let start = self.at;
            let token = self.next()?;
            match (token, self.text.as_bytes().get(self.at - 1)?) {
                (Token::Text(text), _) => path.push_str(text),
                (Token::Word("__dirname"), _) if path.is_empty() => path.push('.'),
                // Of `path.join(…)`.
                (Token::Word("path" | "join" | "resolve") | Token::Dot, _) if path.is_empty() => {}
                (Token::OpenBracket, _) if path.is_empty() => depth += 1,
                (Token::Other, b'+') => {}
                (Token::Other, b',') if depth > 1 => path.push('/'),
                (Token::Other, b')') if depth > 1 => depth -= 1,
                (Token::Other, b')' | b',') => break true,
                (Token::Other, _) => {
                    let head = self.text.get(start..self.at)?;
                    path.push_str(head.strip_prefix('`').and_then(|head| head.strip_suffix("${")).unwrap_or_default());
                    break false;
                }
                _ => break false,
            }
        };
        is_of_the_component(&path).then_some((path, is_whole))
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            let is_hashbang = self.at == 0 && trimmed.starts_with("#!");
            let length = if is_hashbang || trimmed.starts_with("//") {
                trimmed.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(trimmed.len())
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                comment.find("*/").map_or(trimmed.len(), |length| length + 4)
            } else {
                return;
            };
            self.at += length;
        }
    }

    /// The text from here to its closing quote. One that is not closed ends with its line, so that a mistake of this
    /// scanner ends there, too.
    fn quoted(&mut self, quote: u8) -> &'t str {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut at = start;
        while let Some(byte) = bytes.get(at).copied() {
            match byte {
                b'\\' => at += 2,
                b'\n' | b'\r' => break,
                byte if byte == quote => break,
                _ => at += 1,
            }
        }
        self.at = (at + 1).min(bytes.len());
        self.text.get(start..at.min(bytes.len())).unwrap_or_default()
    }

    /// From a backtick or the end of a substitution to the next of either.
    fn template(&mut self) -> Token<'t> {
        let bytes = self.text.as_bytes();
        let is_head = bytes.get(self.at) == Some(&b'`');
        let start = self.at + 1;
        let mut at = start;
        loop {
            match bytes.get(at..).unwrap_or_default() {
                [b'\\', ..] => at += 2,
                [b'$', b'{', ..] => {
                    self.at = at + 2;
                    self.brackets.push(Open::Substitution);
                    return Token::Other;
                }
                [b'`', ..] | [] => break,
                _ => at += 1,
            }
        }
        self.at = (at + 1).min(bytes.len());
        if is_head { Token::Text(self.text.get(start..at).unwrap_or_default()) } else { Token::Other }
    }

    /// One that is not closed on its line was a division after all.
    fn regular_expression(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut at, mut is_class) = (self.at + 1, false);
        while let Some(byte) = bytes.get(at).copied() {
            match byte {
                b'\\' => at += 1,
                b'\n' | b'\r' => break,
                b'[' => is_class = true,
                b']' => is_class = false,
                b'/' if !is_class => {
                    self.at = at + 1;
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        self.at += 1;
    }

    fn word(&mut self) -> (Token<'t>, Before) {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        let word = rest.get(..length).unwrap_or_default();
        let is_property = self.text.get(..self.at).is_some_and(|text| text.ends_with('.'));
        self.at += length.max(1);
        let before = match word {
            _ if is_property => Before::Value,
            word if CONTROL.contains(&word) => Before::Control,
            word if OPERATORS.contains(&word) => Before::Operator,
            _ => Before::Value,
        };
        (Token::Word(word), before)
    }

    fn punctuation(&mut self, byte: u8) -> (Token<'t>, Before) {
        self.at += 1;
        match byte {
            b'(' => {
                self.brackets.push(Open::Bracket { is_condition: self.before == Before::Control });
                (Token::OpenBracket, Before::Operator)
            }
            b'.' => (Token::Dot, Before::Operator),
            b')' => {
                let is_condition = self.brackets.pop() == Some(Open::Bracket { is_condition: true });
                (Token::Other, if is_condition { Before::Operator } else { Before::Value })
            }
            b'{' => {
                self.brackets.push(Open::Brace);
                (Token::Other, Before::Operator)
            }
            // Nearly always the end of a block, after which a statement begins.
            b'}' => {
                self.brackets.pop();
                (Token::Other, Before::Operator)
            }
            b']' => (Token::Other, Before::Value),
            // After `x++` a slash divides; before a value nothing is divided.
            b'+' | b'-' if self.rest().as_bytes().first() == Some(&byte) => {
                self.at += 1;
                (Token::Other, self.before)
            }
            _ => (Token::Other, Before::Operator),
        }
    }
}

/// Letters, digits, and everything beyond ASCII.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'\\') || byte >= 0x80
}

#[cfg(test)]
mod tests;
