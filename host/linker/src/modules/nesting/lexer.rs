//! Tells brackets that are code from brackets in texts, comments and regular expressions.

use std::cell::Cell;

/// What the last token was, as far as the next one depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Previous {
    /// A name, a number, a text: a slash divides.
    Value,
    /// `)` or `]` that ends a value.
    Bracket,
    /// What follows is the name of a property, even if it looks like a keyword.
    Dot,
    /// Nothing that has a value: a slash begins a regular expression.
    Operator,
    Keyword,
    /// `)` of `if (…)` and the like.
    Condition,
    /// The rest may be followed by either.
    MaybeName,
    MaybeCondition,
    Step,
    Brace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Value {
        begins_statement: bool,
    },
    Keyword {
        begins_statement: bool,
        word: Word,
    },
    Else,
    Operator,
    Dot,
    /// `++` or `--`, before or after their operand.
    Step,
    /// A template without substitutions; another one may follow it.
    Template,
    /// `,`, or `;`, which ends a statement unless `else` goes on with it.
    Separator {
        ends_statement: bool,
    },
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

/// Kinds of keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A condition in brackets follows.
    Control,
    Reserved,
    /// May be a name as well.
    Contextual,
}

pub(super) struct Lexer<'s> {
    bytes: &'s [u8],
    /// Bytes that may still be looked at ahead of the reading, so that no text takes long to read.
    patience: Cell<usize>,
}

/// How often a byte may be looked at ahead of the reading, on average. Real code needs less than one.
const LOOKS_AHEAD: usize = 20;

/// Where the next reading begins, and what lies before.
type Step = (usize, Token);

/// Two where both are possible.
type Steps = (Step, Option<Step>);

const CONTROL: [&str; 4] = ["for", "if", "while", "with"];

/// `this`, `null` and the like are values.
const RESERVED: [&str; 26] = [
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "enum",
    "export",
    "extends",
    "finally",
    "function",
    "import",
    "in",
    "instanceof",
    "new",
    "return",
    "super",
    "switch",
    "throw",
    "try",
    "typeof",
    "var",
    "void",
];

const CONTEXTUAL: [&str; 26] = [
    "abstract",
    "as",
    "asserts",
    "async",
    "await",
    "declare",
    "get",
    "global",
    "implements",
    "infer",
    "interface",
    "is",
    "keyof",
    "let",
    "module",
    "namespace",
    "of",
    "override",
    "readonly",
    "satisfies",
    "set",
    "static",
    "type",
    "unique",
    "using",
    "yield",
];

/// Keywords that go on with what comes before a line break or a `}`.
const CONTINUING: [&str; 10] =
    ["as", "catch", "else", "extends", "finally", "in", "instanceof", "of", "satisfies", "while"];

// === impl Lexer ===

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { bytes: source.as_bytes(), patience: Cell::new(source.len().saturating_mul(LOOKS_AHEAD)) }
    }

    /// The token that begins at or after `start`. Nothing at the end of the text.
    pub(super) fn read(&self, start: usize, previous: Previous, ends_template: bool) -> Option<Steps> {
        let (at, has_break) = self.skip_space(start);
        let byte = self.byte(at)?;
        let one = |length: usize, token| ((at + length, token), None);
        Some(match byte {
            b'"' | b'\'' => ((self.text_end(at), Token::Value { begins_statement: false }), None),
            b'`' => (self.template(at + 1, Token::TemplateHead, Token::Template), None),
            b'}' if ends_template => (self.template(at + 1, Token::TemplateMiddle, Token::TemplateTail), None),
            b'(' | b'[' | b'{' => one(1, Token::Open),
            b')' | b']' => one(1, Token::Close { is_brace: false }),
            b'}' => one(1, Token::Close { is_brace: true }),
            b',' => one(1, Token::Separator { ends_statement: false }),
            b';' => one(1, Token::Separator { ends_statement: !self.is_else(at + 1) }),
            b'/' => self.slash(at, previous),
            b'<' if self.bytes.get(at..at + 4) == Some(b"<!--") => {
                ((at + 1, Token::Operator), Some((self.line_end(at), Token::End)))
            }
            b'-' if has_break && self.bytes.get(at..at + 3) == Some(b"-->") => {
                ((at + 1, Token::Operator), Some((self.line_end(at), Token::End)))
            }
            b'+' | b'-' if self.byte(at + 1) == Some(byte) => one(2, Token::Step),
            b'.' if self.bytes.get(at..at + 3) == Some(b"...") => one(3, Token::Operator),
            b'.' => one(1, Token::Dot),
            _ if is_name(byte) => (self.word(at, previous, has_break), None),
            _ => one(1, Token::Operator),
        })
    }

    /// Without patience nothing is known, and the text must be refused.
    pub(super) fn is_exhausted(&self) -> bool {
        self.patience.get() == 0
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
                rest if wide_space(rest) > 0 => at += wide_space(rest),
                [b'/', b'/', ..] => at = self.line_end(at),
                [b'/', b'*', rest @ ..] => {
                    let length = rest.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |length| length + 2);
                    at += 2 + length;
                }
                _ => return (at, has_break),
            }
        }
    }

    fn line_end(&self, start: usize) -> usize {
        let mut at = start;
        while !matches!(
            self.bytes.get(at..).unwrap_or_default(),
            [] | [b'\n' | b'\r', ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..]
        ) {
            at += 1;
        }
        self.patience.set(self.patience.get().saturating_sub(at - start));
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

    fn slash(&self, at: usize, previous: Previous) -> Steps {
        let division = (at + 1, Token::Operator);
        if matches!(previous, Previous::Value | Previous::Bracket | Previous::Dot) {
            return (division, None);
        }
        let expression = self.regular_expression_end(at).map(|end| (end, Token::Value { begins_statement: false }));
        match (previous, expression) {
            (_, None) => (division, None),
            (Previous::Operator | Previous::Keyword | Previous::Condition, Some(expression)) => (expression, None),
            (_, Some(expression)) => (division, Some(expression)),
        }
    }

    fn regular_expression_end(&self, start: usize) -> Option<usize> {
        let mut is_class = false;
        let mut at = start + 1;
        let end = loop {
            match self.bytes.get(at..).unwrap_or_default() {
                [] | [b'\n' | b'\r', ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..] => break None,
                [b'/', ..] if !is_class => break Some(at + 1),
                [b'\\', b'\n' | b'\r', ..] => break None,
                [b'\\', ..] => at += 1,
                [b'[', ..] => is_class = true,
                [b']', ..] => is_class = false,
                [..] => {}
            }
            at += 1;
        };
        self.patience.set(self.patience.get().saturating_sub(at - start));
        end
    }

    fn is_else(&self, at: usize) -> bool {
        let (at, _) = self.skip_space(at);
        matches!(self.word(at, Previous::Operator, false), (_, Token::Else))
    }

    fn word(&self, start: usize, previous: Previous, has_break: bool) -> Step {
        let mut length = 0;
        while let Some(rest @ [byte, ..]) = self.bytes.get(start + length..)
            && is_name(*byte)
            && !is_break_or_space(rest)
        {
            length += 1;
        }
        let word = self.bytes.get(start..start + length).unwrap_or_default();
        let is = |list: &[&str]| list.iter().any(|keyword| keyword.as_bytes() == word);
        let kind = match previous {
            Previous::Dot => None,
            _ if is(&["else"]) => return (start + length, Token::Else),
            _ if is(&CONTROL) => Some(Word::Control),
            _ if is(&RESERVED) => Some(Word::Reserved),
            _ if is(&CONTEXTUAL) => Some(Word::Contextual),
            _ => None,
        };
        // After the `)` of a condition comes its body, which nests.
        let begins_statement = match previous {
            Previous::Value | Previous::Bracket => has_break && !is(&CONTINUING),
            Previous::Brace => (has_break || kind.is_some()) && !is(&CONTINUING),
            _ => false,
        };
        let token = match kind {
            Some(word) => Token::Keyword { begins_statement, word },
            None => Token::Value { begins_statement },
        };
        (start + length, token)
    }
}

/// The bytes of a white space beyond ASCII that begins here, none if there is none: those that JavaScript knows, line
/// breaks apart.
fn wide_space(bytes: &[u8]) -> usize {
    match bytes {
        [0xc2, 0xa0, ..] => 2,
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..]
        | [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}

/// Where a word beyond ASCII ends.
fn is_break_or_space(bytes: &[u8]) -> bool {
    wide_space(bytes) > 0 || matches!(bytes, [0xe2, 0x80, 0xa8 | 0xa9, ..])
}

/// Letters, digits, and everything beyond ASCII, escapes included.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'@' | b'\\') || byte >= 0x80
}
