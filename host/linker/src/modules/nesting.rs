//! An upper bound of how deep a parser can recurse on a text, told without recursion.
//!
//! Everything that makes a syntax tree deeper costs at least one token that is neither a name nor a
//! value: a bracket, an operator, a keyword. So the bound counts them, per bracket level, and starts
//! anew where siblings begin (`;`, `,`, a new statement). It may be too high, never too low: where a
//! slash could begin a regular expression or be a division, both readings are followed, and where they
//! meet again the deeper one counts.

mod lexer;

use std::collections::BTreeMap;

use self::lexer::{Lexer, Previous, Token, Word};
use super::parse::ParseError;

/// Deeper than any code written by hand, and than generated code seen in packages (a few hundred).
pub(crate) const NESTING_LIMIT: usize = 5000;

/// One way to read the text up to some place.
#[derive(Clone, Debug)]
struct Reading {
    previous: Previous,
    /// Per open bracket; the first level is the file itself.
    levels: Vec<Level>,
    /// The sum over all levels, and the number of brackets.
    total: usize,
    /// The last word, if brackets after it may hold a condition.
    opening: Opening,
    /// How many brackets are open at each `${` around.
    templates: Vec<usize>,
}

/// Tokens that count.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    current: usize,
    /// Of `else`: they chain statements, which a `;` or `,` between them does not end.
    chained: usize,
    /// What the bracket followed.
    opening: Opening,
}

#[derive(Clone, Copy, Debug, Default)]
enum Opening {
    #[default]
    Plain,
    /// `if` and the like.
    Control,
    /// A name that may be a keyword.
    MaybeControl,
}

/// Readings at one place that go on differently.
type Readings = Vec<Reading>;

pub(super) fn check(source: &str) -> Result<(), ParseError> {
    // Each token that counts is at least a byte long.
    if source.len() <= NESTING_LIMIT {
        return Ok(());
    }
    let lexer = Lexer::new(source);
    let start = Reading {
        previous: Previous::Operator,
        levels: vec![Level::default()],
        total: 0,
        opening: Opening::Plain,
        templates: Vec::new(),
    };
    let mut places: BTreeMap<usize, Readings> = BTreeMap::new();
    // Nearly always there is one reading only, and it need not be looked up.
    let mut next = Some((0, start));
    while let Some((offset, mut reading)) = next.take().or_else(|| pop(&mut places)) {
        let Some(((end, token), other)) = lexer.read(offset, reading.previous, reading.is_template_end()) else {
            continue;
        };
        if let Some((end, token)) = other {
            let mut reading = reading.clone();
            reading.take(&token);
            merge(places.entry(end).or_default(), reading);
        }
        reading.take(&token);
        if reading.total > NESTING_LIMIT || lexer.is_exhausted() {
            return Err(ParseError::NestingTooDeep);
        }
        if places.is_empty() {
            next = Some((end, reading));
        } else {
            merge(places.entry(end).or_default(), reading);
        }
    }
    Ok(())
}

/// The reading that has come the least far.
fn pop(places: &mut BTreeMap<usize, Readings>) -> Option<(usize, Reading)> {
    let mut first = places.first_entry()?;
    let offset = *first.key();
    let reading = first.get_mut().pop();
    if first.get().is_empty() {
        first.remove();
    }
    reading.map(|reading| (offset, reading))
}

fn merge(place: &mut Readings, reading: Reading) {
    let alike =
        |other: &&mut Reading| other.previous == reading.previous && other.templates.len() == reading.templates.len();
    match place.iter_mut().find(alike) {
        Some(other) if other.total >= reading.total => {}
        Some(other) => *other = reading,
        None => place.push(reading),
    }
}

// === impl Reading ===

impl Reading {
    /// Whether a `}` here ends a substitution in a template.
    fn is_template_end(&self) -> bool {
        self.templates.last() == Some(&self.levels.len())
    }

    fn take(&mut self, token: &Token) {
        let mut opening = Opening::Plain;
        match token {
            Token::End => {}
            Token::Value { begins_statement } => {
                self.begin(*begins_statement);
                self.previous = Previous::Value;
            }
            Token::Keyword { begins_statement, word } => {
                self.begin(*begins_statement);
                self.count();
                (self.previous, opening) = match word {
                    Word::Control => (Previous::Keyword, Opening::Control),
                    Word::Reserved => (Previous::Keyword, Opening::Plain),
                    Word::Contextual => (Previous::MaybeName, Opening::MaybeControl),
                };
            }
            Token::Dot => {
                self.count();
                self.previous = Previous::Dot;
            }
            Token::Else => {
                self.levels.last_mut().into_iter().for_each(|level| level.chained += 1);
                self.total += 1;
                self.previous = Previous::Keyword;
            }
            Token::Operator => {
                self.count();
                self.previous = Previous::Operator;
            }
            Token::Step => {
                self.count();
                self.previous = Previous::Step;
            }
            Token::Template => {
                self.count();
                self.previous = Previous::Value;
            }
            Token::Separator { ends_statement } => {
                self.restart();
                self.begin(*ends_statement);
                self.previous = Previous::Operator;
            }
            Token::Open => self.open(),
            Token::Close { is_brace } => {
                let opening = self.close();
                self.previous = match opening {
                    _ if *is_brace => Previous::Brace,
                    Opening::Plain => Previous::Bracket,
                    Opening::Control => Previous::Condition,
                    Opening::MaybeControl => Previous::MaybeCondition,
                };
            }
            Token::TemplateHead => {
                self.open();
                self.templates.push(self.levels.len());
            }
            Token::TemplateMiddle => {
                self.restart();
                self.previous = Previous::Operator;
            }
            Token::TemplateTail => {
                self.templates.pop();
                self.close();
                self.previous = Previous::Value;
            }
        }
        self.opening = opening;
    }

    fn count(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.current += 1;
            self.total += 1;
        }
    }

    /// Siblings do not nest.
    fn restart(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.total -= std::mem::take(&mut level.current);
        }
    }

    fn begin(&mut self, is_statement: bool) {
        if is_statement {
            self.restart();
            let chained = self.levels.last_mut().map(|level| std::mem::take(&mut level.chained));
            self.total -= chained.unwrap_or_default();
        }
    }

    fn open(&mut self) {
        self.levels.push(Level { opening: self.opening, ..Level::default() });
        self.total += 1;
        self.previous = Previous::Operator;
    }

    /// What was inside is now one operand, and may itself be called or followed by a statement.
    fn close(&mut self) -> Opening {
        let mut opening = Opening::Plain;
        if self.levels.len() > 1 {
            let level = self.levels.pop().unwrap_or_default();
            self.total -= level.current + level.chained + 1;
            opening = level.opening;
        }
        self.count();
        opening
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
