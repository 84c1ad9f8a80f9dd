//! How long records of a source's runs are kept: what the source says, and what the server keeps otherwise.

use serde::{Deserialize, Serialize};

/// The most that a source may ask for; each is a few kilobytes at most.
pub const RUNS_KEPT_MAXIMUM: u32 = 10_000;

/// What a source says itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRetention {
    /// How many; none when 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// For how long; 0 is without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl RunRetention {
    /// How many are kept. A server that keeps none keeps none of any source.
    pub fn kept(self, by_the_server: usize) -> u32 {
        let default = u32::try_from(by_the_server).unwrap_or(u32::MAX);
        if default == 0 { 0 } else { self.count.unwrap_or(default) }
    }

    /// The time that what is kept was committed at or after; none when age does not matter.
    pub fn oldest_ms(self, seconds_by_the_server: u64, now_ms: u64) -> Option<u64> {
        let seconds = Some(self.seconds.unwrap_or(seconds_by_the_server)).filter(|seconds| *seconds > 0)?;
        Some(now_ms.saturating_sub(seconds.saturating_mul(1000)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_overrides_the_server_but_for_a_server_that_keeps_none() {
        let says = |count| RunRetention { count, seconds: None };
        let table = [(None, 200, 200), (Some(5), 200, 5), (Some(500), 200, 500), (Some(0), 200, 0), (Some(5), 0, 0)];
        for (count, server, expected) in table {
            assert_eq!(says(count).kept(server), expected, "{count:?} {server}");
        }
    }

    #[test]
    fn age_matters_when_either_says_so_and_0_is_without_an_end() {
        let says = |seconds| RunRetention { count: None, seconds };
        let table = [
            (None, 0, None),
            (None, 60, Some(40_000)),
            (Some(90), 60, Some(10_000)),
            (Some(90), 0, Some(10_000)),
            (Some(0), 60, None),
            (Some(101), 0, Some(0)),
            (Some(u64::MAX), 0, Some(0)),
        ];
        for (seconds, server, expected) in table {
            assert_eq!(says(seconds).oldest_ms(server, 100_000), expected, "{seconds:?} {server}");
        }
    }
}
