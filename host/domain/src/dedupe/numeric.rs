//! Ids as numbers, for `greatest`.
//!
//! Ids written as decimal text count: services send 64-bit ids as strings precisely because JavaScript's numbers
//! cannot hold them, so whole numbers are compared exactly and only fractions as floating point.

use std::cmp::Ordering;

use crate::emit::EmitKey;

#[derive(Clone, Copy, Debug)]
pub(super) enum Numeric {
    Whole(i128),
    Fraction(f64),
}

// === impl Numeric ===

impl Numeric {
    pub(super) fn parse(id: &EmitKey) -> Option<Self> {
        let text = id.as_str();
        // `inf`, `nan` and a leading plus parse as floats in Rust and are not numbers to a user.
        let looks_numeric = text.starts_with(|first: char| first.is_ascii_digit() || first == '-' || first == '.')
            && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        if !looks_numeric {
            return None;
        }
        if let Ok(whole) = text.parse() {
            return Some(Self::Whole(whole));
        }
        text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Fraction)
    }

    fn as_f64(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Fraction(number) => number,
        }
    }
}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => left.partial_cmp(right),
            _ => self.as_f64().partial_cmp(&other.as_f64()),
        }
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}
