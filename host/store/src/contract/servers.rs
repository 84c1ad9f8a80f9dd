//! The worlds: one per engine.

use std::sync::Arc;

use super::World;
use crate::embedded::Embedded;
use crate::fake::Memory;

pub(crate) async fn memory() -> World {
    World::new(Arc::new(Memory::new()), ())
}

pub(crate) async fn embedded() -> World {
    let folder = tempfile::tempdir().unwrap();
    let store = Embedded::open(&folder.path().join("store.db")).unwrap();
    World::new(Arc::new(store), folder)
}
