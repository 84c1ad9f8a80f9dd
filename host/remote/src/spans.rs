//! Spans of time as people type them: `90s`, `15m`, `12h`, `30d`, `8w`.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    seconds: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a number and a unit: 90s, 15m, 12h, 30d or 8w")]
pub struct SpanError;

// === impl Span ===

impl Span {
    pub fn seconds(self) -> i64 {
        self.seconds
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        if text == "0" {
            return Ok(Self { seconds: 0 });
        }
        let unit = text.chars().last().ok_or(SpanError)?;
        let seconds_per_unit = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 7 * 86_400,
            _ => return Err(SpanError),
        };
        let number: u32 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or(SpanError)?;
        i64::from(number).checked_mul(seconds_per_unit).map(|seconds| Self { seconds }).ok_or(SpanError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        let cases = [("90s", 90), ("15m", 900), ("12h", 43_200), ("30d", 2_592_000), ("1w", 604_800), ("0", 0)];
        for (text, seconds) in cases {
            assert_eq!(text.parse::<Span>().map(Span::seconds), Ok(seconds), "{text}");
        }
        for text in ["", "d", "30", "-1d", "1.5h", "30 d", "30D", "1é"] {
            assert_eq!(text.parse::<Span>(), Err(SpanError), "{text}");
        }
    }
}
