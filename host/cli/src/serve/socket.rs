//! The operator socket in the data folder, where the operator's commands reach a running server.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use crate::logging;

pub(crate) fn socket_of(data: &Path) -> PathBuf {
    data.join("operator.sock")
}

/// None when there can be no socket, which is said: the server works without it, and its operator's commands wait.
pub(super) async fn open(data: &Path) -> Option<(UnixListener, PathBuf)> {
    let path = socket_of(data);
    // With Redis, several servers may share a folder; the first has the socket.
    if UnixStream::connect(&path).await.is_ok() {
        return None;
    }
    let _ = std::fs::remove_file(&path);
    let bound = UnixListener::bind(&path).and_then(|listener| {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
        Ok(listener)
    });
    match bound {
        Ok(listener) => Some((listener, path)),
        Err(error) => {
            logging::warn(&format!("no socket for the operator's commands at {}: {error}", path.display()));
            None
        }
    }
}
