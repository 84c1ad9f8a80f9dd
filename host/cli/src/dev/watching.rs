//! Whether something was saved. What, is found by reading: editors write, rename and replace in their own ways.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::failures::Wake;

/// Saving is several events; this much quiet ends it.
const QUIET: Duration = Duration::from_millis(60);

pub(super) struct Watching {
    saved: mpsc::Receiver<()>,
    folder: PathBuf,
    /// Files outside of the folder that count as well.
    outside: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Of those files.
    folders: BTreeSet<PathBuf>,
    /// Watches as long as it lives.
    watcher: RecommendedWatcher,
}

// === impl Watching ===

impl Watching {
    /// Of the folder and everything below it: a component may refer to files beside it.
    pub(super) fn start(path: &Path) -> Result<Self> {
        let (sender, saved) = mpsc::channel(1);
        let folder = folder_of(path);
        let outside: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let (below, beside) = (folder.clone(), outside.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event
                .is_ok_and(|event| is_a_save(&event, &below, &beside.lock().unwrap_or_else(PoisonError::into_inner)))
            {
                // One that waits says as much as a hundred.
                let _ = sender.try_send(());
            }
        });
        let mut watcher = watcher.context("files cannot be watched here")?;
        watcher
            .watch(&folder, RecursiveMode::Recursive)
            .with_context(|| format!("cannot watch {}", folder.display()))?;
        Ok(Self { saved, folder, outside, folders: BTreeSet::new(), watcher })
    }

    /// From now on these files too, wherever they are. Their folders are watched, because editors replace files. Whether
    /// there are more folders than before: one of the files may have been saved since it was read.
    pub(super) fn also(&mut self, files: BTreeSet<PathBuf>) -> bool {
        let outside: BTreeSet<PathBuf> = files.into_iter().filter(|file| !file.starts_with(&self.folder)).collect();
        let folders: BTreeSet<PathBuf> = outside.iter().filter_map(|file| Some(file.parent()?.to_owned())).collect();
        *self.outside.lock().unwrap_or_else(PoisonError::into_inner) = outside;
        for folder in self.folders.difference(&folders) {
            // It may be gone.
            let _ = self.watcher.unwatch(folder);
        }
        // One that cannot be watched is watched when it can: a save in the folder leads here again.
        let is_watched = |folder: &PathBuf| {
            self.folders.contains(folder) || self.watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
        };
        let watched: BTreeSet<PathBuf> = folders.into_iter().filter(is_watched).collect();
        let is_more = !watched.is_subset(&self.folders);
        self.folders = watched;
        is_more
    }

    /// When something was saved, or after `patience`.
    pub(super) async fn changed(&mut self, patience: Option<Duration>) -> Result<Wake> {
        let saved = match patience {
            None => self.saved.recv().await,
            Some(patience) => match tokio::time::timeout(patience, self.saved.recv()).await {
                Ok(saved) => saved,
                Err(_) => return Ok(Wake::Waited),
            },
        };
        saved.context("files are no longer watched")?;
        while tokio::time::timeout(QUIET, self.saved.recv()).await.is_ok_and(|saved| saved.is_some()) {}
        Ok(Wake::Saved)
    }
}

pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if path.is_file() => parent.to_owned(),
        _ => path.to_owned(),
    }
}

/// Reading is no change, and what packages, version control and the server itself write is none of the author's.
fn is_a_save(event: &Event, folder: &Path, outside: &BTreeSet<PathBuf>) -> bool {
    let is_ours = |path: &PathBuf| {
        let Ok(below) = path.strip_prefix(folder) else { return outside.contains(path) };
        let names = below.components().filter_map(|component| component.as_os_str().to_str());
        !names.into_iter().any(|name| matches!(name, "node_modules" | ".git" | ".wellspring"))
    };
    let is_write = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_));
    is_write && event.paths.iter().any(is_ours)
}

#[cfg(test)]
mod tests;
