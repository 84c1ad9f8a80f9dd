//! Decides whether a package may be placed in a given folder.

use std::{cell::LazyCell, collections::BTreeSet, sync::Arc};

use nodejs_semver::Version;

use super::{
    arena::{Edge, NodeId, ROOT, Tree, edges_of},
    peers::PeerSet,
};
use crate::registry::Manifest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CanPlace {
    /// The target has no package of that name.
    Free,
    /// The package that is there satisfies the edge.
    Keep,
    /// The package that is there can be replaced.
    Replace,
    Conflict,
}

/// For the package alone, and for it together with its peers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) alone: CanPlace,
    pub(super) together: CanPlace,
}

/// Names looked at in one check. Each is looked at once: a conflict anywhere is a conflict of the whole,
/// and peers that all want each other would otherwise be tried in every order.
pub(super) type Seen = BTreeSet<String>;

/// A package looking for its folder.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    pub(super) manifest: &'a Arc<Manifest>,
    pub(super) set: &'a PeerSet,
    pub(super) edge: &'a Edge,
    /// The node the edge starts from; `None` while it exists only as a peer of a candidate.
    pub(super) from: Option<NodeId>,
    /// Where the search of the first package of the set begins, and its dependent.
    pub(super) lineage: Option<Lineage>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lineage {
    pub(super) deepest: NodeId,
    pub(super) entry_from: NodeId,
}

// === impl Tree ===

impl Tree {
    /// The deepest folder, going up from `start`, whose owner does not want `name` as a peer.
    pub(super) fn deepest_target(&self, start: NodeId, name: &str) -> NodeId {
        self.ancestry(start).find(|id| *id == ROOT || !self.has_peer_edge(*id, name)).unwrap_or(ROOT)
    }

    pub(super) fn check(&self, candidate: &Candidate<'_>, target: NodeId, seen: &mut Seen) -> Verdict {
        let one = |place| Verdict { alone: place, together: place };
        let target_edge = self.edge(target, candidate.name);
        if target != ROOT && target_edge.is_some_and(Edge::is_peer) {
            return one(CanPlace::Conflict);
        }
        if let Some(current) = self.node(target).children.get(candidate.name) {
            return self.check_current(candidate, target, *current, seen);
        }
        let is_own_edge = candidate.from == Some(target);
        if target_edge.is_some_and(|edge| !is_own_edge && !edge.fits(candidate.manifest)) {
            return one(CanPlace::Conflict);
        }
        if self.would_hide(candidate, target) {
            return one(CanPlace::Conflict);
        }
        self.with_peers(candidate, target, seen, CanPlace::Free)
    }

    fn check_current(&self, candidate: &Candidate<'_>, target: NodeId, current: NodeId, seen: &mut Seen) -> Verdict {
        let one = |place| Verdict { alone: place, together: place };
        let replacement = LazyCell::new(|| self.with_peers(candidate, target, seen, CanPlace::Replace));
        let fits = candidate.edge.fits(&self.node(current).manifest);
        let is_override = !candidate.edge.fits(candidate.manifest);
        if self.is_same(current, candidate.name, candidate.manifest) && (fits || is_override) {
            return one(CanPlace::Keep);
        }
        let is_newer = is_at_least(&candidate.manifest.version, &self.node(current).manifest.version);
        let can_replace = self.can_be_replaced_by(current, candidate.manifest);
        if is_newer && can_replace && replacement.together != CanPlace::Conflict {
            return *replacement;
        }
        if fits {
            return one(CanPlace::Keep);
        }
        if candidate.edge.is_peer() && !is_newer && can_replace && replacement.together != CanPlace::Conflict {
            return *replacement;
        }
        // A package that must be here, because its dependent is here, replaces another, which is placed deeper.
        let start = candidate.lineage.map(|lineage| lineage.deepest).or(candidate.from).unwrap_or(target);
        let is_deepest = self.deepest_target(start, candidate.name) == target;
        if is_deepest && !candidate.edge.is_peer() && candidate.from == Some(target) {
            return *replacement;
        }
        one(CanPlace::Conflict)
    }

    /// Whether a node below `target` resolves to another package of that name further up, which this one would hide
    /// and does not satisfy.
    fn would_hide(&self, candidate: &Candidate<'_>, target: NodeId) -> bool {
        let entry_from = candidate.lineage.map(|lineage| lineage.entry_from).or(candidate.from);
        if entry_from == Some(target) {
            return false;
        }
        let Some(current) = self.resolve(target, candidate.name) else { return false };
        self.edges_in(current).into_iter().any(|from| {
            let minds = |edge: &Edge| !edge.fits(candidate.manifest);
            self.is_within(from, target)
                && self.is_valid(from, candidate.name)
                && self.edge(from, candidate.name).is_some_and(minds)
        })
    }

    fn with_peers(&self, candidate: &Candidate<'_>, target: NodeId, seen: &mut Seen, alone: CanPlace) -> Verdict {
        seen.insert(candidate.name.to_owned());
        let start = candidate.lineage.map(|lineage| lineage.deepest).or(candidate.from).unwrap_or(target);
        let deepest = self.deepest_target(start, candidate.name);
        let entry_from = candidate.lineage.map(|lineage| lineage.entry_from).or(candidate.from).unwrap_or(target);
        let edges = edges_of(candidate.manifest);
        let mut has_conflict = false;
        for (name, edge) in edges.iter().filter(|(_, edge)| edge.is_peer()) {
            let Some(manifest) = candidate.set.members.get(name).filter(|_| !seen.contains(name)) else { continue };
            let lineage = Some(Lineage { deepest, entry_from });
            let peer = Candidate { name, manifest, set: candidate.set, edge, from: None, lineage };
            has_conflict |= self.check(&peer, self.deepest_target(target, name), seen).together == CanPlace::Conflict;
        }
        Verdict { alone, together: if has_conflict { CanPlace::Conflict } else { alone } }
    }
}

fn is_at_least(left: &str, right: &str) -> bool {
    match (Version::parse(left), Version::parse(right)) {
        (Ok(left), Ok(right)) => left >= right,
        _ => false,
    }
}
