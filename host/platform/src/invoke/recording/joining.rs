//! Recordings of runs that are committed at once, compressed and sealed as one: for less work, and in fewer bytes.

use bytes::Bytes;
use domain::replay::Told;
use serde::{Deserialize, Serialize};
use store::{Join, JoinError, Tenant};

use super::context;
use super::packing::{self, Packed};
use crate::Error;
use crate::records::{Origin, Recording, StreamEntry};
use crate::vault::{NONCE_BYTES, SealedBytes, Vault};

/// Seals what waited in the clear for its commit.
pub(crate) struct Joiner {
    pub(crate) vault: Vault,
}

/// What a part begins with: the run, and what ran.
#[derive(Serialize, Deserialize)]
pub(super) struct Head<'a> {
    pub(super) run_id: &'a str,
    pub(super) emitter_id: &'a str,
    pub(super) origin: Origin,
    pub(super) program: &'a str,
}

// === impl Head ===

impl Head<'_> {
    /// The part of a run.
    pub(super) fn with(&self, content: &Packed<'_, Told<'_>>) -> Result<Vec<u8>, Error> {
        let part = Vec::with_capacity(content.size_estimate() + size_of::<Self>() + self.program.len());
        let head = postcard::to_extend(self, part).map_err(packing::unwritable)?;
        Ok(postcard::to_extend(content, head).map_err(packing::unwritable)?)
    }

    /// Runs are joined with runs of the same: what is read without the key is that of the first.
    pub(super) fn group(&self) -> String {
        let origin = match self.origin {
            Origin::Own => "own",
            Origin::Registry => "registry",
        };
        [origin, self.emitter_id, self.program].join("\n")
    }

    pub(super) fn recording(&self, run_ids: Vec<String>, sealed: SealedBytes) -> Recording {
        let (emitter_id, program) = (self.emitter_id.to_owned(), self.program.to_owned());
        Recording { run_ids, emitter_id, origin: self.origin, program, sealed }
    }
}

// === impl Joiner ===

impl Join for Joiner {
    fn join(&self, tenant: &Tenant, parts: &[Bytes]) -> Result<Bytes, JoinError> {
        let (mut heads, mut contents) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
        for part in parts {
            let (head, content): (Head<'_>, _) = postcard::take_from_bytes(part)?;
            heads.push(head);
            contents.push(content);
        }
        let first = heads.first().ok_or("there is no part")?;
        let packed = packing::join(&contents, NONCE_BYTES)?;
        let sealed = self.vault.seal_in_place(context(tenant, first.run_id), packed)?;
        let run_ids = heads.iter().map(|head| head.run_id.to_owned()).collect();
        Ok(first.recording(run_ids, sealed).encode()?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Origin};

    #[test]
    fn runs_are_joined_where_nothing_but_the_run_differs() {
        let head = |run_id, emitter_id, origin, program| Head { run_id, emitter_id, origin, program }.group();
        let group = head("r_1", "dc_1", Origin::Own, "digest");

        assert_eq!(head("r_2", "dc_1", Origin::Own, "digest"), group);
        for other in [
            head("r_1", "dc_2", Origin::Own, "digest"),
            head("r_1", "dc_1", Origin::Registry, "digest"),
            head("r_1", "dc_1", Origin::Own, "other"),
        ] {
            assert_ne!(other, group);
        }
    }
}
