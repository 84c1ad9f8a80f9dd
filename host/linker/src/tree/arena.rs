//! The tree itself: packages in folders, what each asks for, and what it finds.
//!
//! Edges hold no pointers. Whom an edge reaches is looked up by walking up the folders, as Node does
//! when it runs, so that a change of the tree can never leave a stale answer behind.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    registry::{Manifest, Spec},
    requirements::Requirements,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(usize);

#[derive(Debug)]
pub(super) struct Node {
    /// Of its folder.
    pub(super) name: String,
    pub(super) manifest: Arc<Manifest>,
    pub(super) parent: Option<NodeId>,
    pub(super) children: BTreeMap<String, NodeId>,
    pub(super) edges: BTreeMap<String, Edge>,
    /// The dependent that asked for it first, and the range it gave.
    pub(super) from: NodeId,
    pub(super) range: String,
    is_alive: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) text: String,
    /// `None` for what does not come from the registry.
    pub(super) spec: Option<Spec>,
    pub(super) kind: EdgeKind,
    /// Warned about, and not looked at again.
    pub(super) is_conflicted: bool,
    /// Could not be installed, and is optional.
    pub(super) is_given_up: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgeKind {
    Required,
    Optional,
    Peer,
    OptionalPeer,
}

/// An edge by its place: of which node, and to which name.
pub(super) type EdgeRef = (NodeId, String);

pub(super) struct Tree {
    nodes: Vec<Node>,
    /// From name to the nodes that have an edge of that name.
    dependents: HashMap<String, Vec<NodeId>>,
}

pub(super) const ROOT: NodeId = NodeId(0);

// === impl Tree ===

impl Tree {
    pub(super) fn new(requirements: &Requirements) -> Self {
        let (dependencies, optional_dependencies) = (requirements.required.clone(), requirements.optional.clone());
        let manifest = Manifest { dependencies, optional_dependencies, ..Manifest::default() };
        let mut tree = Self { nodes: Vec::new(), dependents: HashMap::new() };
        tree.add(None, "", &Arc::new(manifest), (ROOT, ""));
        tree
    }

    pub(super) fn add(
        &mut self,
        parent: Option<NodeId>,
        name: &str,
        manifest: &Arc<Manifest>,
        (from, range): (NodeId, &str),
    ) -> NodeId {
        let id = NodeId(self.nodes.len());
        let edges = edges_of(manifest);
        for target in edges.keys() {
            self.dependents.entry(target.clone()).or_default().push(id);
        }
        self.nodes.push(Node {
            name: name.to_owned(),
            manifest: Arc::clone(manifest),
            parent,
            children: BTreeMap::new(),
            edges,
            from,
            range: range.to_owned(),
            is_alive: true,
        });
        if let Some(parent) = parent {
            self.node_mut(parent).children.insert(name.to_owned(), id);
        }
        id
    }

    /// Puts a new node into the place of an old one, whose children it keeps.
    pub(super) fn replace(&mut self, old: NodeId, new: NodeId) {
        let children = std::mem::take(&mut self.node_mut(old).children);
        for child in children.values() {
            self.node_mut(*child).parent = Some(new);
        }
        self.node_mut(new).children = children;
        self.node_mut(old).is_alive = false;
    }

    /// With everything inside its folder.
    pub(super) fn remove(&mut self, id: NodeId) {
        let (parent, name) = (self.node(id).parent, self.node(id).name.clone());
        if let Some(parent) = parent
            && self.node(parent).children.get(&name) == Some(&id)
        {
            self.node_mut(parent).children.remove(&name);
        }
        let mut doomed = vec![id];
        while let Some(id) = doomed.pop() {
            self.node_mut(id).is_alive = false;
            doomed.extend(self.node(id).children.values());
        }
    }

    #[expect(clippy::indexing_slicing, reason = "ids are made by `add` and nodes are never taken out")]
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    #[expect(clippy::indexing_slicing, reason = "ids are made by `add` and nodes are never taken out")]
    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0]
    }

    pub(super) fn is_alive(&self, id: NodeId) -> bool {
        self.node(id).is_alive
    }

    pub(super) fn alive(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len()).map(NodeId).filter(|id| self.is_alive(*id))
    }

    pub(super) fn edge(&self, from: NodeId, name: &str) -> Option<&Edge> {
        self.node(from).edges.get(name)
    }

    pub(super) fn has_peer_edge(&self, from: NodeId, name: &str) -> bool {
        self.edge(from, name).is_some_and(Edge::is_peer)
    }

    /// The node itself, its parent, and so on up to the root.
    pub(super) fn ancestry(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(id), |id| self.node(*id).parent)
    }

    pub(super) fn is_within(&self, id: NodeId, folder: NodeId) -> bool {
        self.ancestry(id).any(|ancestor| ancestor == folder)
    }

    /// The node that a name resolves to from inside a package.
    pub(super) fn resolve(&self, from: NodeId, name: &str) -> Option<NodeId> {
        self.ancestry(from).find_map(|id| self.node(id).children.get(name)).copied()
    }

    pub(super) fn is_valid(&self, from: NodeId, name: &str) -> bool {
        let Some(edge) = self.edge(from, name) else { return true };
        match self.resolve(from, name) {
            None => matches!(edge.kind, EdgeKind::Optional | EdgeKind::OptionalPeer),
            // A peer must lie beside its dependent, not inside it.
            Some(to) if edge.is_peer() && from != ROOT && self.node(to).parent == Some(from) => false,
            Some(to) => edge.fits(&self.node(to).manifest),
        }
    }

    /// The edges that reach a node.
    pub(super) fn edges_in(&self, id: NodeId) -> Vec<NodeId> {
        let name = &self.node(id).name;
        let dependents = self.dependents.get(name).map(Vec::as_slice).unwrap_or_default();
        dependents
            .iter()
            .copied()
            .filter(|from| self.is_alive(*from) && self.resolve(*from, name) == Some(id))
            .collect()
    }

    /// The same folder name and the same content.
    pub(super) fn is_same(&self, id: NodeId, name: &str, manifest: &Manifest) -> bool {
        let node = self.node(id);
        node.name == name && node.manifest.name == manifest.name && node.manifest.version == manifest.version
    }

    /// These nodes, and the nodes that only they depend on. `follows` says which edges count.
    pub(super) fn gather(&self, start: &[NodeId], follows: &dyn Fn(NodeId, &str, NodeId) -> bool) -> BTreeSet<NodeId> {
        let mut set: BTreeSet<NodeId> = start.iter().copied().collect();
        let mut pending = start.to_vec();
        while let Some(from) = pending.pop() {
            for name in self.node(from).edges.keys() {
                if let Some(to) = self.resolve(from, name)
                    && follows(from, name, to)
                    && set.insert(to)
                {
                    pending.push(to);
                }
            }
        }
        loop {
            let is_needed = |id: &NodeId| {
                let name = &self.node(*id).name;
                self.edges_in(*id).into_iter().any(|from| !set.contains(&from) && follows(from, name, *id))
            };
            let needed: Vec<NodeId> = set.iter().copied().filter(is_needed).collect();
            if needed.is_empty() {
                return set;
            }
            set.retain(|id| !needed.contains(id));
        }
    }

    /// What falls away with a node.
    pub(super) fn gather_below(&self, id: NodeId) -> BTreeSet<NodeId> {
        self.gather(&[id], &|from, name, to| to != id && self.is_valid(from, name))
    }

    /// Whether another version in its place satisfies every dependent of a node.
    pub(super) fn can_be_replaced_by(&self, id: NodeId, manifest: &Manifest) -> bool {
        let name = &self.node(id).name;
        let below = self.gather_below(id);
        let is_content = |from: &NodeId| self.edge(*from, name).is_none_or(|edge| edge.fits(manifest));
        self.edges_in(id).iter().filter(|from| !below.contains(from)).all(is_content)
    }

    pub(super) fn location(&self, id: NodeId) -> String {
        let mut names: Vec<&str> =
            self.ancestry(id).filter(|id| *id != ROOT).map(|id| self.node(id).name.as_str()).collect();
        names.reverse();
        names.iter().map(|name| format!("node_modules/{name}")).collect::<Vec<_>>().join("/")
    }
}

// === impl Edge ===

impl Edge {
    pub(super) fn is_peer(&self) -> bool {
        matches!(self.kind, EdgeKind::Peer | EdgeKind::OptionalPeer)
    }

    pub(super) fn fits(&self, manifest: &Manifest) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.fits(&manifest.name, &manifest.version))
    }
}

/// A name is of one kind: a dependency outweighs a peer, an optional one outweighs both.
pub(super) fn edges_of(manifest: &Manifest) -> BTreeMap<String, Edge> {
    let is_optional = |name: &String| manifest.peer_dependencies_meta.get(name).is_some_and(|meta| meta.optional);
    let peers = manifest
        .peer_dependencies
        .iter()
        .map(|(name, text)| (name, text, if is_optional(name) { EdgeKind::OptionalPeer } else { EdgeKind::Peer }));
    let required = manifest.dependencies.iter().map(|(name, text)| (name, text, EdgeKind::Required));
    let optional = manifest.optional_dependencies.iter().map(|(name, text)| (name, text, EdgeKind::Optional));
    let edge = |(name, text, kind): (&String, &String, EdgeKind)| {
        let spec = Spec::parse(name, text);
        (name.clone(), Edge { text: text.clone(), spec, kind, is_conflicted: false, is_given_up: false })
    };
    let all = peers.chain(required).chain(optional);
    all.filter(|(name, _, _)| !manifest.bundles(name)).map(edge).collect()
}
