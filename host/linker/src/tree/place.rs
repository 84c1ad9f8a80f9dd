//! Puts a chosen package, and its peers, into the tree.

use std::sync::Arc;

use super::{
    arena::{EdgeRef, NodeId, ROOT, Tree},
    check::{CanPlace, Candidate, Lineage, Seen},
    peers::PeerSet,
};
use crate::registry::Manifest;

/// What placing did, from which the planner queues the packages to look at next.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub(super) placed: Vec<NodeId>,
    pub(super) conflicts: Vec<EdgeRef>,
}

// === impl Tree ===

impl Tree {
    pub(super) fn place(
        &mut self,
        (from, name): (NodeId, &str),
        set: &PeerSet,
        lineage: Option<Lineage>,
        done: &mut Placement,
    ) {
        if self.resolve(from, name).is_some() && self.is_valid(from, name) {
            return;
        }
        let (Some(edge), Some(manifest)) = (self.edge(from, name).cloned(), set.members.get(name)) else { return };
        let start = self.deepest_target(lineage.map_or(from, |lineage| lineage.deepest), name);
        let candidate = Candidate { name, manifest, set, edge: &edge, from: Some(from), lineage };
        let Some((target, place)) = self.find_target(&candidate, start) else {
            self.note_conflict(from, name, done);
            return;
        };
        if place == CanPlace::Keep {
            if edge.is_peer() && !self.is_valid(from, name) {
                self.note_conflict(from, name, done);
            }
            self.prune(target, true);
            return;
        }
        // a@1 → b@1 → a@2 → b@2 → a@1 would nest without end.
        if self.ancestry(target).any(|id| id != ROOT && self.is_same(id, name, manifest)) {
            self.note_conflict(from, name, done);
            return;
        }
        let placed = self.put(target, name, manifest, (from, &edge.text));
        done.placed.push(placed);
        if edge.is_peer() && !edge.fits(manifest) {
            self.note_conflict(from, name, done);
        }
        self.prune_duplicates(target, name, placed);
        self.place_peers(
            placed,
            set,
            Lineage { deepest: start, entry_from: lineage.map_or(from, |lineage| lineage.entry_from) },
            done,
        );
    }

    /// As far up as it can go.
    fn find_target(&self, candidate: &Candidate<'_>, start: NodeId) -> Option<(NodeId, CanPlace)> {
        let (mut together, mut alone) = (None, None);
        for target in self.ancestry(start) {
            if target != ROOT && self.has_peer_edge(target, candidate.name) {
                continue;
            }
            let verdict = self.check(candidate, target, &mut Seen::new());
            if verdict.alone != CanPlace::Conflict {
                alone = Some((target, verdict.alone));
            }
            if verdict.together == CanPlace::Conflict {
                break;
            }
            together = Some((target, verdict.together));
        }
        together.or(alone)
    }

    fn put(&mut self, target: NodeId, name: &str, manifest: &Arc<Manifest>, from: (NodeId, &str)) -> NodeId {
        let old = self.node(target).children.get(name).copied();
        let placed = self.add(Some(target), name, manifest, from);
        if let Some(old) = old {
            self.replace(old, placed);
            self.prune_after_replacement(old, placed);
        }
        placed
    }

    /// What only the old version needed, and what the new one cannot use.
    fn prune_after_replacement(&mut self, old: NodeId, placed: NodeId) {
        let mut doomed: Vec<NodeId> = Vec::new();
        for name in self.node(placed).edges.keys() {
            if let Some(to) = self.resolve(placed, name)
                && !self.is_valid(placed, name)
            {
                doomed.push(to);
            }
        }
        for name in self.node(old).edges.keys() {
            if let Some(to) = self.resolve(placed, name)
                && self.edge(placed, name).is_none()
            {
                doomed.push(to);
            }
        }
        let follows =
            |from: NodeId, name: &str, to: NodeId| from != placed && to != placed && self.is_valid(from, name);
        let set = self.gather(&doomed, &follows);
        set.into_iter().filter(|id| *id != placed).for_each(|id| self.remove(id));
    }

    /// Copies further down that the new one makes needless.
    fn prune_duplicates(&mut self, target: NodeId, name: &str, placed: NodeId) {
        let is_copy =
            |id: &NodeId| *id != ROOT && self.node(*id).name == name && self.is_within(*id, target) && *id != placed;
        let copies: Vec<NodeId> = self.alive().filter(is_copy).collect();
        for copy in copies {
            if !self.is_alive(copy) {
                continue;
            }
            self.prune(copy, false);
            if self.is_alive(copy) {
                let children: Vec<NodeId> = self.node(copy).children.values().copied().collect();
                children
                    .into_iter()
                    .filter(|child| self.is_alive(*child))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|child| self.prune(child, false));
            }
        }
    }

    fn prune(&mut self, id: NodeId, descends: bool) {
        if !self.is_alive(id) {
            return;
        }
        if self.is_needless(id) {
            self.gather_below(id).into_iter().for_each(|id| self.remove(id));
            return;
        }
        if descends {
            let children: Vec<NodeId> = self.node(id).children.values().copied().collect();
            children.into_iter().for_each(|child| self.prune(child, true));
        }
    }

    /// It has no dependents, or a node further up satisfies them.
    fn is_needless(&self, id: NodeId) -> bool {
        let Some(above) = self.node(id).parent.and_then(|parent| self.node(parent).parent) else { return false };
        if self.edges_in(id).is_empty() {
            return true;
        }
        let node = self.node(id);
        let Some(other) = self.resolve(above, &node.name) else { return false };
        let other_manifest = Arc::clone(&self.node(other).manifest);
        if self.is_same(id, &node.name, &other_manifest) {
            return true;
        }
        let is_newer = crate::registry::satisfies(&other_manifest.version, &format!(">{}", node.manifest.version));
        is_newer && self.can_be_replaced_by(id, &other_manifest)
    }

    fn place_peers(&mut self, placed: NodeId, set: &PeerSet, lineage: Lineage, done: &mut Placement) {
        let names: Vec<String> = self
            .node(placed)
            .edges
            .iter()
            .filter(|(_, edge)| edge.is_peer() && !edge.is_conflicted)
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            let fits = |edge: &super::arena::Edge| set.members.get(&name).is_some_and(|manifest| edge.fits(manifest));
            if self.is_alive(placed) && !self.is_valid(placed, &name) && self.edge(placed, &name).is_some_and(fits) {
                self.place((placed, &name), set, Some(lineage), done);
            }
        }
    }

    fn note_conflict(&mut self, from: NodeId, name: &str, done: &mut Placement) {
        if let Some(edge) = self.node_mut(from).edges.get_mut(name) {
            edge.is_conflicted = true;
        }
        done.conflicts.push((from, name.to_owned()));
    }
}
