//! Whether something was saved. What, is found by reading: editors write, rename and replace in their own ways.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

/// Saving is several events; this much quiet ends it.
const QUIET: Duration = Duration::from_millis(60);

pub(super) struct Watching {
    saved: mpsc::Receiver<()>,
    /// Watches as long as it lives.
    _watcher: RecommendedWatcher,
}

// === impl Watching ===

impl Watching {
    /// Of the folder and everything below it: a component may refer to files beside it.
    pub(super) fn start(path: &Path) -> Result<Self> {
        let (sender, saved) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_a_save(&event)) {
                // One that waits says as much as a hundred.
                let _ = sender.try_send(());
            }
        });
        let mut watcher = watcher.context("files cannot be watched here")?;
        let folder = folder_of(path);
        watcher
            .watch(&folder, RecursiveMode::Recursive)
            .with_context(|| format!("cannot watch {}", folder.display()))?;
        Ok(Self { saved, _watcher: watcher })
    }

    pub(super) async fn changed(&mut self) -> Result<()> {
        self.saved.recv().await.context("files are no longer watched")?;
        while tokio::time::timeout(QUIET, self.saved.recv()).await.is_ok_and(|saved| saved.is_some()) {}
        Ok(())
    }
}

pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if path.is_file() => parent.to_owned(),
        _ => path.to_owned(),
    }
}

/// Reading is no change, and what packages, version control and the server itself write is none of the author's.
fn is_a_save(event: &Event) -> bool {
    let is_ours = |path: &PathBuf| {
        let names = path.components().filter_map(|component| component.as_os_str().to_str());
        !names.into_iter().any(|name| matches!(name, "node_modules" | ".git" | ".wellspring"))
    };
    let is_write = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_));
    is_write && event.paths.iter().any(is_ours)
}

#[cfg(test)]
mod tests;
