//! Tells brackets that are code from brackets in texts, comments and regular expressions.

/// What the last token was, as far as the next one depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Previous {
    /// A name, a number, a text: a slash divides.
    Value,
    /// Nothing that has a value: a slash begins a regular expression.
    Operator,
    /// `++` and `--`, before or after their operand: a slash is either.
    Step,
    Keyword,
    /// `)` or `]`.
    Bracket,
    Brace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Value {
        begins_statement: bool,
    },
    Keyword {
        begins_statement: bool,
    },
    Operator,
    Step,
    /// `;` or `,`
    Separator,
    Open,
    Close {
        is_brace: bool,
    },
    /// From a backtick to `${`.
    TemplateHead,
    /// From `}` to `${`.
    TemplateMiddle,
    /// From `}` to a backtick.
    TemplateTail,
    End,
}

pub(super) struct Lexer<'s> {
    bytes: &'s [u8],
}

/// Where the next reading begins, and what lies before. Two where both are possible.
type Step = (usize, Token);

/// After these a value follows, so a line break after them ends nothing. Some may also be names; being
/// taken for keywords only makes the bound higher.
const KEYWORDS: [&str; 38] = [
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "finally",
    "for",
    "function",
    "get",
    "if",
    "import",
    "in",
    "instanceof",
    "let",
    "new",
    "of",
    "return",
    "set",
    "static",
    "super",
    "switch",
    "throw",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Keywords that go on with the statement before a `}`.
const CONTINUING: [&str; 8] = ["catch", "else", "finally", "in", "instanceof", "of", "while", "extends"];

// === impl Lexer ===

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { bytes: source.as_bytes() }
    }

    /// The token that begins at or after `start`. Nothing at the end of the text.
    pub(super) fn read(&self, start: usize, previous: Previous, ends_template: bool) -> Vec<Step> {
        let (at, has_break) = self.skip_space(start);
        let Some(byte) = self.byte(at) else { return Vec::new() };
        let one = |length: usize, token| vec![(at + length, token)];
        match byte {
            b'"' | b'\'' => vec![(self.text_end(at), Token::Value { begins_statement: false })],
            b'`' => vec![self.template(at + 1, Token::TemplateHead, Token::Value { begins_statement: false })],
            b'}' if ends_template => vec![self.template(at + 1, Token::TemplateMiddle, Token::TemplateTail)],
            b'(' | b'[' | b'{' => one(1, Token::Open),
            b')' | b']' => one(1, Token::Close { is_brace: false }),
            b'}' => one(1, Token::Close { is_brace: true }),
            b';' | b',' => one(1, Token::Separator),
            b'/' => self.slash(at, previous),
            b'<' if self.bytes.get(at..at + 4) == Some(b"<!--") => {
                vec![(self.line_end(at), Token::End), (at + 1, Token::Operator)]
            }
            b'-' if has_break && self.bytes.get(at..at + 3) == Some(b"-->") => {
                vec![(self.line_end(at), Token::End), (at + 1, Token::Operator)]
            }
            b'+' | b'-' if self.byte(at + 1) == Some(byte) => one(2, Token::Step),
            _ if is_name(byte) => vec![self.word(at, previous, has_break)],
            _ => one(1, Token::Operator),
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Past white space and comments; whether there was a line break.
    fn skip_space(&self, mut at: usize) -> (usize, bool) {
        let mut has_break = at == 0;
        loop {
            match self.bytes.get(at..).unwrap_or_default() {
                [b'\n' | b'\r', ..] => (at, has_break) = (at + 1, true),
                [b' ' | b'\t' | 0x0b | 0x0c, ..] => at += 1,
                [0xe2, 0x80, 0xa8 | 0xa9, ..] => (at, has_break) = (at + 3, true),
                [0xc2, 0xa0, ..] => at += 2,
                [b'/', b'/', ..] => at = self.line_end(at),
                [b'/', b'*', rest @ ..] => {
                    let length = rest.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |length| length + 2);
                    at += 2 + length;
                }
                _ => return (at, has_break),
            }
        }
    }

    fn line_end(&self, mut at: usize) -> usize {
        while !matches!(
            self.bytes.get(at..).unwrap_or_default(),
            [] | [b'\n' | b'\r', ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..]
        ) {
            at += 1;
        }
        at
    }

    fn text_end(&self, start: usize) -> usize {
        let quote = self.byte(start);
        let mut at = start + 1;
        loop {
            match self.byte(at) {
                Some(b'\\') => at += 2,
                // An open text is an error; the parser stops there.
                None | Some(b'\n' | b'\r') => return at.min(self.bytes.len()),
                byte if byte == quote => return at + 1,
                Some(_) => at += 1,
            }
        }
    }

    fn template(&self, mut at: usize, continued: Token, ended: Token) -> Step {
        loop {
            match self.bytes.get(at..).unwrap_or_default() {
                [b'\\', ..] => at += 2,
                [b'$', b'{', ..] => return (at + 2, continued),
                [b'`', ..] => return (at + 1, ended),
                [] => return (self.bytes.len(), ended),
                [..] => at += 1,
            }
        }
    }

    fn slash(&self, at: usize, previous: Previous) -> Vec<Step> {
        let division = (at + 1, Token::Operator);
        let expression = self.regular_expression_end(at).map(|end| (end, Token::Value { begins_statement: false }));
        match (previous, expression) {
            (Previous::Value, _) | (_, None) => vec![division],
            (Previous::Operator, Some(expression)) => vec![expression],
            (_, Some(expression)) => vec![division, expression],
        }
    }

    fn regular_expression_end(&self, start: usize) -> Option<usize> {
        let end = self.line_end(start);
        let mut is_class = false;
        let mut at = start + 1;
        while at < end {
            match self.byte(at)? {
                b'\\' => at += 1,
                b'[' => is_class = true,
                b']' => is_class = false,
                b'/' if !is_class => return Some(at + 1),
                _ => {}
            }
            at += 1;
        }
        None
    }

    fn word(&self, start: usize, previous: Previous, has_break: bool) -> Step {
        let length = self.bytes.get(start..).unwrap_or_default().iter().take_while(|byte| is_name(**byte)).count();
        let word = self.bytes.get(start..start + length).unwrap_or_default();
        let is = |list: &[&str]| list.iter().any(|keyword| keyword.as_bytes() == word);
        let is_keyword = is(&KEYWORDS);
        // After `)` a statement may be the body of an `if`, which nests.
        let begins_statement = match previous {
            Previous::Value => has_break && !is(&CONTINUING),
            Previous::Brace => (has_break || is_keyword) && !is(&CONTINUING),
            _ => false,
        };
        let token = if is_keyword { Token::Keyword { begins_statement } } else { Token::Value { begins_statement } };
        (start + length, token)
    }
}

/// Letters, digits, and everything beyond ASCII, escapes included.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'@' | b'\\') || byte >= 0x80
}
