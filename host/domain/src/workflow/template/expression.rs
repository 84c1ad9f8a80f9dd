//! Where a JavaScript expression ends that `}}` follows.
//!
//! As much of JavaScript as that takes: braces are counted, and what stands in strings, templates, regular expressions and
//! comments is none. Whether it is an expression at all is for the parser of the linker.

/// After these a slash begins a regular expression.
const KEYWORDS: [&[u8]; 12] = [
    b"return",
    b"typeof",
    b"instanceof",
    b"in",
    b"of",
    b"new",
    b"delete",
    b"void",
    b"throw",
    b"case",
    b"await",
    b"yield",
];

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    open: Vec<Open>,
    /// What came last is a value: a slash after it divides.
    follows_value: bool,
}

/// What the next closing brace closes.
enum Open {
    Brace,
    /// `${` of a template.
    Interpolation,
}

/// None when something in it is not closed.
pub(super) fn closed_length(text: &str) -> Option<usize> {
    Scanner { text: text.as_bytes(), at: 0, open: Vec::new(), follows_value: false }.scan()
}

// === impl Scanner ===

impl Scanner<'_> {
    fn scan(&mut self) -> Option<usize> {
        while let Some(byte) = self.byte(0) {
            match (byte, self.byte(1)) {
                (b'}', Some(b'}')) if self.open.is_empty() => return Some(self.at),
                (b'}', _) => self.close()?,
                (b'{', _) => self.opens(Open::Brace, 1),
                (b'"' | b'\'', _) => self.skip_string(byte)?,
                (b'`', _) => {
                    self.at += 1;
                    self.skip_template()?;
                }
                (b'/', Some(b'/')) => self.skip_comment(b"\n"),
                (b'/', Some(b'*')) => self.skip_comment(b"*/"),
                (b'/', _) if !self.follows_value && self.skip_regular_expression() => self.follows_value = true,
                (b')' | b']', _) => self.pass(1, true),
                // `x++ / 2`; and `1. / 2`, since nothing that a slash begins follows a dot.
                (b'+', Some(b'+')) | (b'-', Some(b'-')) => self.pass(2, self.follows_value),
                (b'.', _) => self.pass(1, self.follows_value),
                _ if byte.is_ascii_whitespace() => self.pass(1, self.follows_value),
                _ if is_of_word(byte) => self.skip_word(),
                _ => self.pass(1, false),
            }
        }
        None
    }

    fn byte(&self, after: usize) -> Option<u8> {
        self.text.get(self.at + after).copied()
    }

    fn pass(&mut self, bytes: usize, follows_value: bool) {
        (self.at, self.follows_value) = (self.at + bytes, follows_value);
    }

    fn opens(&mut self, open: Open, bytes: usize) {
        self.open.push(open);
        self.pass(bytes, false);
    }

    fn close(&mut self) -> Option<()> {
        self.pass(1, true);
        match self.open.pop() {
            Some(Open::Interpolation) => self.skip_template(),
            Some(Open::Brace) | None => Some(()),
        }
    }

    fn skip_word(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word = rest.split(|byte| !is_of_word(*byte)).next().unwrap_or_default();
        self.pass(word.len(), !KEYWORDS.contains(&word));
    }

    fn skip_string(&mut self, quote: u8) -> Option<()> {
        self.at += 1;
        loop {
            match self.byte(0)? {
                b'\\' => self.at += 2,
                b'\n' => return None,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        self.follows_value = true;
                        return Some(());
                    }
                }
            }
        }
    }

    /// The text of a template, to its end or to an expression in it.
    fn skip_template(&mut self) -> Option<()> {
        loop {
            match (self.byte(0)?, self.byte(1)) {
                (b'\\', _) => self.at += 2,
                (b'`', _) => {
                    self.pass(1, true);
                    return Some(());
                }
                (b'$', Some(b'{')) => {
                    self.opens(Open::Interpolation, 2);
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// A comment says nothing of what may follow, and is no place for what ends an expression.
    fn skip_comment(&mut self, end: &[u8]) {
        self.at += 2;
        while let Some(rest) = self.text.get(self.at..).filter(|rest| !rest.is_empty() && !rest.starts_with(b"}}")) {
            if rest.starts_with(end) {
                self.at += end.len();
                return;
            }
            self.at += 1;
        }
    }

    /// `false` when the slash begins none: it ends on its line.
    fn skip_regular_expression(&mut self) -> bool {
        let (mut after, mut is_in_class) = (1, false);
        loop {
            match self.byte(after) {
                None | Some(b'\n') => return false,
                Some(b'\\') => after += 1,
                Some(b'[') => is_in_class = true,
                Some(b']') => is_in_class = false,
                Some(b'/') if !is_in_class => {
                    self.at += after + 1;
                    return true;
                }
                Some(_) => {}
            }
            after += 1;
        }
    }
}

/// Letters beyond ASCII are letters.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}
