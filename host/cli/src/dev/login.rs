//! Lets commands in another terminal find the server of `dev` and its key by themselves, while it runs.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use platform::Secret;
use serde_json::json;

/// Removed when it is dropped: commands then use their own logins again.
pub(super) struct Login(PathBuf);

// === impl Login ===

impl Login {
    pub(super) fn offer(data: &Path, url: &str, key: &Secret<String>) -> Result<Self> {
        let path = data.join(remote::DEV_LOGIN);
        let text = json!({"url": url, "api_key": key.expose(), "process": std::process::id()}).to_string();
        write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        // One that stays names a process that is gone, and is not used.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let _ = std::fs::remove_file(path);
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
