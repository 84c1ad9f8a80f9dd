//! An upper bound of how deep a parser can recurse on a text, told without recursion.
//!
//! Everything that makes a syntax tree deeper costs at least one token that is neither a name nor a
//! value: a bracket, an operator, a keyword. So the bound counts them, per bracket level, and starts
//! anew where siblings begin (`;`, `,`, a new statement). It may be too high, never too low: where a
//! slash could begin a regular expression or be a division, both readings are followed, and where they
//! meet again the deeper one counts.

mod lexer;

use std::collections::BTreeMap;

use self::lexer::{Lexer, Previous, Token};
use super::parse::Fault;

/// Deeper than any code written by hand, and than generated code seen in packages (a few hundred).
pub(crate) const NESTING_LIMIT: usize = 5000;

/// One way to read the text up to some place.
#[derive(Clone, Debug)]
struct Reading {
    previous: Previous,
    /// Tokens that count, per open bracket; the first level is the file itself.
    levels: Vec<usize>,
    /// Their sum and the number of brackets.
    total: usize,
    /// How many brackets are open at each `${` around.
    templates: Vec<usize>,
}

/// Readings at one place that go on differently.
type Place = Vec<Reading>;

pub(super) fn check(source: &str) -> Result<(), Fault> {
    // Each token that counts is at least a byte long.
    if source.len() <= NESTING_LIMIT {
        return Ok(());
    }
    let lexer = Lexer::new(source);
    let start = Reading { previous: Previous::Operator, levels: vec![0], total: 0, templates: Vec::new() };
    let mut places: BTreeMap<usize, Place> = BTreeMap::from([(0, vec![start])]);
    while let Some((offset, place)) = places.pop_first() {
        for reading in place {
            for (next, token) in lexer.read(offset, reading.previous, reading.is_template_end()) {
                let mut reading = reading.clone();
                reading.take(&token);
                if reading.total > NESTING_LIMIT {
                    return Err(Fault::NestingTooDeep);
                }
                merge(places.entry(next).or_default(), reading);
            }
        }
    }
    Ok(())
}

fn merge(place: &mut Place, reading: Reading) {
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
        match token {
            Token::End => {}
            Token::Value { begins_statement } => {
                if *begins_statement {
                    self.restart();
                }
                self.previous = Previous::Value;
            }
            Token::Keyword { begins_statement } => {
                if *begins_statement {
                    self.restart();
                }
                self.count(1);
                self.previous = Previous::Keyword;
            }
            Token::Operator => {
                self.count(1);
                self.previous = Previous::Operator;
            }
            Token::Step => {
                self.count(1);
                self.previous = Previous::Step;
            }
            Token::Separator => {
                self.restart();
                self.previous = Previous::Operator;
            }
            Token::Open => self.open(),
            Token::Close { is_brace } => {
                self.close();
                self.previous = if *is_brace { Previous::Brace } else { Previous::Bracket };
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
    }

    fn count(&mut self, weight: usize) {
        if let Some(level) = self.levels.last_mut() {
            *level += weight;
            self.total += weight;
        }
    }

    /// Siblings do not nest.
    fn restart(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.total -= *level;
            *level = 0;
        }
    }

    fn open(&mut self) {
        self.levels.push(0);
        self.total += 1;
        self.previous = Previous::Operator;
    }

    /// What was inside is now one operand, and may itself be called or followed by a statement.
    fn close(&mut self) {
        if self.levels.len() > 1 {
            let level = self.levels.pop().unwrap_or_default();
            self.total -= level + 1;
        }
        self.count(1);
    }
}

#[cfg(test)]
mod tests;
