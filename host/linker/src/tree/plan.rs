//! The walk over the tree, breadth first, that places every package.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    arena::{Edge, EdgeKind, NodeId, ROOT, Tree, edges_of},
    collate,
    peers::{self, PeerSet},
    place::Placement,
};
use crate::{
    error::{LimitKind, LinkError, THE_COMPONENT},
    linked::Warning,
    registry::{Manifest, Packument},
    requirements::Requirements,
};

/// Packuments at hand; `None` for names that the registry does not know.
pub(crate) type Packuments = HashMap<String, Option<Arc<Packument>>>;

pub(crate) enum Planned {
    Done(Plan),
    /// Names of packuments without which planning cannot go on.
    Need(BTreeSet<String>),
}

type Need = BTreeSet<String>;

#[derive(Debug)]
pub(crate) struct Plan {
    /// Ordered by location.
    pub(crate) packages: Vec<PlannedPackage>,
    pub(crate) warnings: Vec<Warning>,
}

#[derive(Debug)]
pub(crate) struct PlannedPackage {
    pub(crate) location: String,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) range: String,
    pub(crate) from: String,
    pub(crate) is_skipped: bool,
    pub(crate) is_optional: bool,
}

/// Chooses versions from the packuments at hand.
pub(super) struct Picker<'a> {
    packuments: &'a Packuments,
    node_version: &'a str,
    choices: RefCell<Choices>,
}

/// By folder name and spec.
type Choices = HashMap<(String, String), Option<Arc<Manifest>>>;

#[derive(Debug)]
pub(super) enum PickFailure {
    Needs(String),
    Failed(LinkError),
}

struct Planner<'a> {
    tree: Tree,
    picker: Picker<'a>,
    /// By depth, then by path.
    queue: BTreeSet<(usize, Vec<u32>, NodeId)>,
    seen: BTreeSet<NodeId>,
    warnings: BTreeSet<Warning>,
    looks: usize,
    /// The set last chosen for an edge of a node: its peers serve the node's other edges too.
    last_sets: HashMap<NodeId, PeerSet>,
}

/// How often a package may be looked at again, on average, because others were placed or replaced. Real
/// trees need less than two.
const MAX_LOOKS: usize = 20;

/// How often the whole tree is looked through once it seems done.
const REPAIRS: usize = 3;

/// Types only: nothing that could run.
const TYPES_SCOPE: &str = "@types/";

pub(crate) fn plan(
    requirements: &Requirements,
    packuments: &Packuments,
    node_version: &str,
    package_limit: usize,
) -> Result<Planned, LinkError> {
    let picker = Picker { packuments, node_version, choices: RefCell::default() };
    let mut planner = Planner {
        tree: Tree::new(requirements),
        picker,
        queue: BTreeSet::new(),
        seen: BTreeSet::new(),
        warnings: BTreeSet::new(),
        looks: 0,
        last_sets: HashMap::new(),
    };
    planner.enqueue(ROOT);
    for _ in 0..=REPAIRS {
        let need = planner.settle_queued(package_limit)?;
        if !need.is_empty() {
            return Ok(Planned::Need(need));
        }
        planner.enqueue_unsettled();
    }
    planner.warn_of_unsettled();
    Ok(Planned::Done(planner.finish()))
}

// === impl Planner ===

impl Planner<'_> {
    fn settle_queued(&mut self, package_limit: usize) -> Result<Need, LinkError> {
        while let Some((_, _, id)) = self.queue.pop_first() {
            if !self.tree.is_alive(id) || !self.seen.insert(id) {
                continue;
            }
            let need = self.settle(id)?;
            if !need.is_empty() {
                return Ok(need);
            }
            self.looks += 1;
            if self.tree.alive().count() > package_limit + 1 || self.looks > MAX_LOOKS * (package_limit + 1) {
                let subject = "the component's tree of packages".to_owned();
                return Err(LinkError::OverLimit { kind: LimitKind::Packages, subject, limit: package_limit as u64 });
            }
        }
        Ok(Need::new())
    }

    /// A package that was replaced may have taken along what others, already settled, still need.
    fn enqueue_unsettled(&mut self) {
        for id in self.unsettled() {
            self.seen.remove(&id);
            self.enqueue(id);
        }
    }

    /// Versions that replace each other in turn cannot all be met.
    fn warn_of_unsettled(&mut self) {
        for id in self.unsettled() {
            for name in self.problems(id) {
                let range = self.tree.edge(id, &name).map(|edge| edge.text.clone()).unwrap_or_default();
                self.warnings.insert(Warning::PeerConflict { name, range, from: self.tree.location(id) });
            }
        }
    }

    fn unsettled(&self) -> Vec<NodeId> {
        self.tree.alive().filter(|id| !self.problems(*id).is_empty()).collect()
    }

    /// Places what a package still lacks.
    fn settle(&mut self, id: NodeId) -> Result<Need, LinkError> {
        let mut need = Need::new();
        let mut tasks = Vec::new();
        for name in self.problems(id) {
            match self.choose(id, &name) {
                Ok(set) => tasks.push((name, set)),
                Err(PickFailure::Needs(package)) => drop(need.insert(package)),
                Err(PickFailure::Failed(error)) => self.give_up(id, &name, error)?,
            }
        }
        if !need.is_empty() {
            return Ok(need);
        }
        tasks.sort_by_cached_key(|(name, _)| collate::key(name));
        for (name, set) in tasks {
            // Peers of one before may have replaced the package itself: its folder is gone.
            if !self.tree.is_alive(id) {
                break;
            }
            let mut done = Placement::default();
            self.tree.place((id, &name), &set, None, &mut done);
            self.follow_up(id, &name, done);
        }
        Ok(need)
    }

    fn problems(&self, id: NodeId) -> Vec<String> {
        let is_problem = |(name, edge): &(&String, &Edge)| {
            let is_missing = self.tree.resolve(id, name).is_none() && edge.kind != EdgeKind::OptionalPeer;
            (is_missing || !self.tree.is_valid(id, name)) && !edge.is_conflicted && !edge.is_given_up
        };
        self.tree.node(id).edges.iter().filter(is_problem).map(|(name, _)| name.clone()).collect()
    }

    fn choose(&mut self, id: NodeId, name: &str) -> Result<PeerSet, PickFailure> {
        let earlier = self.last_sets.get(&id).filter(|set| {
            let fits = |edge: &Edge| set.members.get(name).is_some_and(|manifest| edge.fits(manifest));
            self.tree.edge(id, name).is_some_and(fits)
        });
        if let Some(set) = earlier {
            return Ok(set.clone());
        }
        let set = peers::choose(&self.tree, &self.picker, id, name)?;
        self.last_sets.insert(id, set.clone());
        Ok(set)
    }

    /// Queues the new packages, and again the packages whose edges became invalid.
    fn follow_up(&mut self, from: NodeId, name: &str, done: Placement) {
        for id in done.placed.into_iter().filter(|id| self.tree.is_alive(*id)).collect::<Vec<_>>() {
            let placed_name = self.tree.node(id).name.clone();
            for dependent in self.tree.edges_in(id) {
                let is_this = dependent == from && placed_name == name;
                let is_settled = self.tree.edge(dependent, &placed_name).is_none_or(|edge| edge.is_conflicted);
                if !is_this && !is_settled && !self.tree.is_valid(dependent, &placed_name) {
                    self.seen.remove(&dependent);
                    self.enqueue(dependent);
                }
            }
            self.enqueue(id);
        }
        for (id, name) in done.conflicts {
            let range = self.tree.edge(id, &name).map(|edge| edge.text.clone()).unwrap_or_default();
            self.warnings.insert(Warning::PeerConflict { name, range, from: self.tree.location(id) });
        }
    }

    /// An optional dependency is left out; anything else stops the link.
    fn give_up(&mut self, id: NodeId, name: &str, error: LinkError) -> Result<(), LinkError> {
        let location = self.tree.location(id);
        let is_needed = self.required().contains(&id);
        let Some(edge) = self.tree.node_mut(id).edges.get_mut(name) else { return Ok(()) };
        if edge.kind != EdgeKind::Optional && is_needed {
            return Err(error);
        }
        edge.is_given_up = true;
        let range = edge.text.clone();
        self.warnings.insert(Warning::OptionalDependency { name: name.to_owned(), range, from: location });
        Ok(())
    }

    /// Everything the component cannot do without.
    fn required(&self) -> BTreeSet<NodeId> {
        self.reachable(&|edge, _| edge.kind != EdgeKind::Optional)
    }

    fn reachable(&self, follows: &dyn Fn(&Edge, NodeId) -> bool) -> BTreeSet<NodeId> {
        let mut reached = BTreeSet::from([ROOT]);
        let mut pending = vec![ROOT];
        while let Some(id) = pending.pop() {
            for (name, edge) in &self.tree.node(id).edges {
                if let Some(to) = self.tree.resolve(id, name)
                    && follows(edge, to)
                    && reached.insert(to)
                {
                    pending.push(to);
                }
            }
        }
        reached
    }

    fn enqueue(&mut self, id: NodeId) {
        let depth = self.tree.ancestry(id).count();
        self.queue.insert((depth, collate::key(&self.tree.location(id)), id));
    }

    fn finish(mut self) -> Plan {
        let holds_code = |id: NodeId| {
            let manifest = &self.tree.node(id).manifest;
            !manifest.is_for_other_platforms() && !manifest.name.starts_with(TYPES_SCOPE)
        };
        let used = self.reachable(&|_, to| holds_code(to));
        let required = self.required();
        let mut packages = Vec::new();
        for id in self.tree.alive().filter(|id| *id != ROOT) {
            let node = self.tree.node(id);
            if required.contains(&id) && node.manifest.is_for_other_platforms() {
                self.warnings.insert(Warning::NativeAddon { package: label(&node.manifest) });
            }
            if used.contains(&id)
                && let Some(message) = deprecation(&node.manifest)
            {
                let (name, version) = (node.manifest.name.clone(), node.manifest.version.clone());
                self.warnings.insert(Warning::Deprecated { name, version, message });
            }
            packages.push(PlannedPackage {
                location: self.tree.location(id),
                manifest: Arc::clone(&node.manifest),
                range: node.range.clone(),
                from: self.dependent_of(id),
                is_skipped: !used.contains(&id),
                is_optional: !required.contains(&id),
            });
        }
        packages.sort_by(|left, right| left.location.cmp(&right.location));
        Plan { packages, warnings: self.warnings.into_iter().collect() }
    }

    /// The first dependent may have been replaced since.
    fn dependent_of(&self, id: NodeId) -> String {
        let first = self.tree.node(id).from;
        let still_is = self.tree.is_alive(first);
        let dependent = if still_is { Some(first) } else { self.tree.edges_in(id).first().copied() };
        dependent.map(|dependent| self.tree.location(dependent)).unwrap_or_default()
    }
}

// === impl Picker ===

impl Picker<'_> {
    pub(super) fn pick(&self, name: &str, edge: &Edge, from: &str) -> Result<Arc<Manifest>, PickFailure> {
        let from = || if from.is_empty() { THE_COMPONENT.to_owned() } else { from.to_owned() };
        let Some(spec) = &edge.spec else {
            let (name, spec) = (name.to_owned(), edge.text.clone());
            return Err(PickFailure::Failed(LinkError::UnsupportedDependency { name, spec, from: from() }));
        };
        let Some(packument) = self.packuments.get(&spec.package) else {
            return Err(PickFailure::Needs(spec.package.clone()));
        };
        let Some(packument) = packument else {
            let name = spec.package.clone();
            return Err(PickFailure::Failed(LinkError::PackageNotFound { name, from: from() }));
        };
        let key = (name.to_owned(), edge.text.clone());
        let mut choices = self.choices.borrow_mut();
        let choice = choices.entry(key).or_insert_with(|| spec.wanted.pick(packument, self.node_version));
        choice.clone().ok_or_else(|| {
            let (name, wanted) = (spec.package.clone(), edge.text.clone());
            PickFailure::Failed(LinkError::VersionNotFound {
                name,
                wanted,
                from: from(),
                close: spec.wanted.close(packument),
            })
        })
    }
}

/// What a package asks for and is to be installed along with it, as names with specs.
pub(crate) fn edge_specs(manifest: &Manifest) -> Vec<(String, String)> {
    let edges = edges_of(manifest).into_iter().filter(|(_, edge)| edge.kind != EdgeKind::OptionalPeer);
    edges.map(|(name, edge)| (name, edge.text)).collect()
}

fn label(manifest: &Manifest) -> String {
    format!("{}@{}", manifest.name, manifest.version)
}

fn deprecation(manifest: &Manifest) -> Option<String> {
    manifest.is_deprecated().then(|| manifest.deprecation_message().to_owned())
}
