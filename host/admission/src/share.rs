//! The bounds of a shared resource, in total and per tenant, and the error when one is reached.

use std::fmt;
use std::str::FromStr;

/// The bound of a resource, and what one tenant may have of it. Written `1024/256`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub total: u64,
    pub per_tenant: u64,
}

/// A resource is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Full {
    /// The resource, by the name of its setting.
    pub what: &'static str,
    pub scope: Scope,
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of the server: others use it too.
    Host,
    /// That of the calling tenant.
    Tenant,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    #[error("{text:?} is not a share; write TOTAL/PER_TENANT, for example 1024/256")]
    Malformed { text: String },
    #[error("a share has at least 1 in all and for a tenant, and a tenant no more than there is in all")]
    OutOfRange,
}

// === impl Share ===

impl Share {
    pub const fn new(total: u64, per_tenant: u64) -> Self {
        Self { total, per_tenant }
    }
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || ShareError::Malformed { text: text.to_owned() };
        let (total, per_tenant) = text.split_once('/').ok_or_else(malformed)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| malformed());
        let share = Self { total: number(total)?, per_tenant: number(per_tenant)? };
        // What is counted by machine words and semaphores stays in their range.
        let is_sound =
            share.per_tenant >= 1 && share.per_tenant <= share.total && share.total <= u64::from(u32::MAX) << 8;
        if is_sound { Ok(share) } else { Err(ShareError::OutOfRange) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.total, self.per_tenant)
    }
}

// === impl Full ===

impl fmt::Display for Full {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what.replace('_', " ");
        match self.scope {
            Scope::Host => write!(formatter, "the server has no more {what} to give; retry later"),
            Scope::Tenant => write!(formatter, "the account has used up its share of {what}; retry later"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_read_as_it_is_written() {
        let cases = [
            ("1024/256", Some(Share::new(1024, 256))),
            ("1/1", Some(Share::new(1, 1))),
            (" 8 / 4 ", Some(Share::new(8, 4))),
        ];
        for (text, share) in cases {
            assert_eq!(text.parse().ok(), share, "{text}");
        }
        assert_eq!(Share::new(1024, 256).to_string(), "1024/256");
    }

    #[test]
    fn what_is_no_share_is_told_how_to_write_one() {
        for text in ["", "1024", "a/b", "1/2/3", "-1/1"] {
            assert_eq!(text.parse::<Share>(), Err(ShareError::Malformed { text: text.to_owned() }));
        }
        for text in ["0/0", "4/0", "4/5", "99999999999999/1"] {
            assert_eq!(text.parse::<Share>(), Err(ShareError::OutOfRange));
        }
    }

    #[test]
    fn a_refusal_names_the_resource_and_whose_bound_it_is() {
        let full = |scope| Full { what: "requests_in_flight", scope }.to_string();

        assert_eq!(full(Scope::Tenant), "the account has used up its share of requests in flight; retry later");
        assert_eq!(full(Scope::Host), "the server has no more requests in flight to give; retry later");
    }
}
