//! A package together with the peers it needs, chosen before any of them is placed.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    arena::{Edge, EdgeKind, NodeId, Tree, edges_of},
    plan::{PickFailure, Picker},
};
use crate::registry::Manifest;

/// Packages that will lie beside each other.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerSet {
    pub(super) members: BTreeMap<String, Arc<Manifest>>,
}

/// Chooses a version for an edge of `source`, and peers for it, and for them.
pub(super) fn choose(tree: &Tree, picker: &Picker<'_>, source: NodeId, name: &str) -> Result<PeerSet, PickFailure> {
    let mut set = PeerSet::default();
    if let Some(edge) = tree.edge(source, name) {
        let chosen = picker.pick(name, edge, &tree.location(source))?;
        set.members.insert(name.to_owned(), chosen);
        add_peers(tree, picker, source, &mut set, name)?;
    }
    Ok(set)
}

fn add_peers(tree: &Tree, picker: &Picker<'_>, source: NodeId, set: &mut PeerSet, of: &str) -> Result<(), PickFailure> {
    let Some(manifest) = set.members.get(of).cloned() else { return Ok(()) };
    for (name, edge) in edges_of(&manifest).iter().filter(|(_, edge)| edge.is_peer()) {
        let current = set.members.get(name);
        if current.is_some_and(|current| edge.fits(current)) {
            continue;
        }
        let choice = match current {
            None => choose_new(tree, picker, source, (name, edge), of),
            Some(_) => choose_instead(tree, picker, source, set, (name, edge), of),
        };
        let choice = match choice {
            Err(PickFailure::Failed(_)) if edge.kind == EdgeKind::OptionalPeer => None,
            choice => choice?,
        };
        if let Some(chosen) = choice {
            set.members.insert(name.clone(), chosen);
            add_peers(tree, picker, source, set, name)?;
        }
    }
    Ok(())
}

/// Where the dependent names the peer as well, its own words come first, unless what the peer edge
/// asks for suits both.
fn choose_new(
    tree: &Tree,
    picker: &Picker<'_>,
    source: NodeId,
    (name, edge): (&str, &Edge),
    of: &str,
) -> Result<Option<Arc<Manifest>>, PickFailure> {
    let Some(own) = tree.edge(source, name) else {
        return picker.pick(name, edge, of).map(Some);
    };
    let first = picker.pick(name, own, &tree.location(source))?;
    if edge.fits(&first) {
        return Ok(Some(first));
    }
    let second = picker.pick(name, edge, of)?;
    Ok(Some(if own.fits(&second) { second } else { first }))
}

/// The version that was chosen already does not satisfy this range; another may satisfy all. `None` leaves it.
fn choose_instead(
    tree: &Tree,
    picker: &Picker<'_>,
    source: NodeId,
    set: &PeerSet,
    (name, edge): (&str, &Edge),
    of: &str,
) -> Result<Option<Arc<Manifest>>, PickFailure> {
    let other = picker.pick(name, edge, of)?;
    let suits_source = tree.edge(source, name).is_none_or(|own| own.fits(&other));
    let suits_members = set
        .members
        .iter()
        .filter(|(member, _)| *member != name)
        .all(|(_, manifest)| edges_of(manifest).get(name).is_none_or(|wish| wish.fits(&other)));
    Ok((suits_source && suits_members).then_some(other))
}
