//! Settings of the resources that tenants share: every total and every share of one tenant.
//!
//! `--share runs=512/64`, `WELLSPRING_SHARE=runs=512/64,streams=4000/400` and `share.runs = "512/64"` in the file say the
//! same: 512 in all, 64 for one tenant. What does not fit is refused with the name of the share, or waits for its turn.
//! Of what tenants keep there is no bound in all: `components=500` is for one tenant.

use std::collections::BTreeMap;
use std::fmt;

use admission::{Share, ShareError};
use serde::{Deserialize, Serialize};

/// The bounds by their names; those that are not given are the defaults.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(transparent)]
pub(crate) struct Shares(BTreeMap<String, String>);

/// One bound.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) default: Bound,
    pub(crate) says: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// In all and for one tenant.
    Shared(Share),
    /// For one tenant.
    Kept(u64),
}

/// All of them. `docs/operations.md` shows this table.
pub(crate) fn table() -> [Named; 19] {
    let (platform, sandbox) = (platform::Shares::default(), sandbox::Config::default());
    let (outbound, streams) = (outbound::Config::default(), server::stream::Config::default());
    let named = |name, default, says| Named { name, default: Bound::Shared(default), says };
    let kept = |name, default, says| Named { name, default: Bound::Kept(default), says };
    [
        named(
            "requests_in_flight",
            platform.requests_in_flight,
            "requests that are not answered yet, once their bodies are there",
        ),
        named(
            "request_bytes",
            platform.request_bytes,
            "memory of requests: bodies that are being read or worked on, and 16 KiB for each",
        ),
        named("runs", sandbox.runs, "sandboxes at work"),
        named("waiting_runs", sandbox.waiting_runs, "runs that wait for a sandbox"),
        named("run_bytes", sandbox.run_bytes, "memory of sandboxes at work, beyond their images and a MiB each"),
        named("deploys", platform.deploys, "components that are being linked and loaded"),
        named("waiting_deploys", platform.waiting_deploys, "deploys that wait for their turn"),
        named("connections", outbound.connections, "outgoing connections, unused ones that are kept open among them"),
        named("lookups", outbound.lookups, "names that are being looked up"),
        named("streams", streams.streams, "readers of events as they come"),
        named(
            "image_bytes",
            sandbox.image_bytes,
            "images of components on the disk; those unused for longest go first",
        ),
        kept("components", platform.components, "saved components, those that came with a source among them"),
        kept("data_stores", platform.data_stores, "data stores"),
        kept("emails_per_day", platform.emails_per_day, "recipients of e-mail in a day, by `$.send.email`"),
        kept("stored_bytes", platform.stored_bytes, "records, programs, events and values of `db` that are kept"),
        kept("source_versions", platform.source_versions, "earlier versions of one source, to roll back to"),
        kept("source_version_bytes", platform.source_version_bytes, "the files of those"),
        kept("queued_jobs", platform.queued_jobs, "deliveries and runs in the queue"),
        kept("queued_bytes", platform.queued_bytes, "the events of those"),
    ]
}

// === impl Shares ===

impl Shares {
    /// The bound of this name, which is one of the table.
    pub(crate) fn get(&self, name: &str) -> Share {
        match self.bound(name) {
            Bound::Shared(share) => share,
            Bound::Kept(each) => Share::new(each, each),
        }
    }

    /// What one tenant may have.
    fn each(&self, name: &str) -> u64 {
        self.get(name).per_tenant
    }

    fn bound(&self, name: &str) -> Bound {
        let default = table().iter().find(|named| named.name == name).map_or(Bound::Kept(1), |named| named.default);
        self.0.get(name).and_then(|text| default.parse(text).ok()).unwrap_or(default)
    }

    /// Whether every name is known and every bound can be.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, text) in &self.0 {
            let Some(named) = table().into_iter().find(|named| named.name == name) else {
                let names: Vec<&str> = table().iter().map(|named| named.name).collect();
                return Err(format!("there is no share `{name}`; there are {}", names.join(", ")));
            };
            named.default.parse(text).map_err(|error| format!("the share `{name}`: {error}"))?;
        }
        Ok(())
    }

    /// All of them, as they are.
    pub(crate) fn decided(&self) -> Self {
        Self(table().iter().map(|named| (named.name.to_owned(), self.bound(named.name).to_string())).collect())
    }

    pub(crate) fn platform(&self) -> platform::Shares {
        platform::Shares {
            requests_in_flight: self.get("requests_in_flight"),
            request_bytes: self.get("request_bytes"),
            deploys: self.get("deploys"),
            waiting_deploys: self.get("waiting_deploys"),
            components: self.each("components"),
            data_stores: self.each("data_stores"),
            emails_per_day: self.each("emails_per_day"),
            stored_bytes: self.each("stored_bytes"),
            source_versions: self.each("source_versions"),
            source_version_bytes: self.each("source_version_bytes"),
            queued_jobs: self.each("queued_jobs"),
            queued_bytes: self.each("queued_bytes"),
        }
    }
}

// === impl Bound ===

impl Bound {
    /// Another bound of the same kind.
    fn parse(self, text: &str) -> Result<Self, String> {
        match self {
            Self::Shared(_) => text.parse().map(Self::Shared).map_err(|error: ShareError| error.to_string()),
            Self::Kept(_) => match text.trim().parse() {
                Ok(each) if each > 0 => Ok(Self::Kept(each)),
                _ => Err(format!("{text:?} is not what one tenant may have; write a number of at least 1")),
            },
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(share) => share.fmt(formatter),
            Self::Kept(each) => each.fmt(formatter),
        }
    }
}

/// What `--help` says.
pub(super) fn help() -> String {
    let rows = table().map(|Named { name, default, says }| format!("\n  {name} [default: {default}]: {says}")).concat();
    format!(
        "What tenants share, and what one of them may have of it, such as `runs=512/64`: 512 in all, 64 for one tenant; or \
         what one of them may keep, such as `components=500`. Repeatable, or separated by commas\n{rows}"
    )
}

/// `runs=512/64` of a command line.
pub(crate) fn parse(text: &str) -> Result<(String, String), String> {
    let (name, share) = text.split_once('=').ok_or("write NAME=TOTAL/PER_TENANT, for example runs=512/64")?;
    let given = Shares(BTreeMap::from([(name.trim().to_owned(), share.trim().to_owned())]));
    given.check()?;
    given.0.into_iter().next().ok_or_else(String::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(name: &str, text: &str) -> Shares {
        Shares(BTreeMap::from([(name.to_owned(), text.to_owned())]))
    }

    #[test]
    fn a_share_that_is_given_wins_over_its_default() {
        assert_eq!(shares("runs", "512/32").get("runs"), Share::new(512, 32));
        assert_eq!(Shares::default().get("runs"), sandbox::Config::default().runs);
        assert_eq!(shares("deploys", "5/4").platform().deploys, Share::new(5, 4));
        assert_eq!(shares("queued_jobs", "7").platform().queued_jobs, 7);
    }

    #[test]
    fn names_and_bounds_are_checked() {
        assert!(
            shares("walks", "1/1")
                .check()
                .unwrap_err()
                .starts_with("there is no share `walks`; there are requests_in_flight,")
        );
        assert!(shares("runs", "1/2").check().unwrap_err().contains("`runs`"));
        assert!(parse("runs").is_err());
        assert_eq!(parse("runs = 8/4"), Ok(("runs".to_owned(), "8/4".to_owned())));
        assert_eq!(parse("components = 8"), Ok(("components".to_owned(), "8".to_owned())));
        for text in ["components=8/4", "components=0", "components=many"] {
            assert!(parse(text).unwrap_err().contains("`components`"), "{text}");
        }
    }

    #[test]
    fn every_default_is_a_share() {
        for named in table() {
            assert_eq!(named.default.parse(&named.default.to_string()), Ok(named.default), "{}", named.name);
        }
    }

    #[test]
    fn the_documentation_shows_every_share() {
        let page = include_str!("../../../../docs/operations.md");
        for Named { name, default, says } in table() {
            let row = format!("| `{name}` | `{default}` | {says} |");
            assert!(page.contains(&row), "docs/operations.md lacks the row\n{row}");
        }
    }
}
