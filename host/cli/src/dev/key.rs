//! The key that `dev` uses: one of the first account, kept in the data folder beside what it opens.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use platform::manage::keys::{KeyRequest, authenticate};
use platform::manage::{first_start, users};
use platform::{Caller, Error, Platform, Secret};

/// The one kept, while it is still valid, or a new one.
pub(super) async fn of_developer(platform: &Platform, data: &Path) -> Result<Secret<String>> {
    let path = data.join("dev.key");
    if let Ok(kept) = std::fs::read_to_string(&path) {
        let kept = Secret::new(kept.trim().to_owned());
        match authenticate(platform, &kept).await {
            Ok(_) => return Ok(kept),
            Err(Error::Unauthenticated(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let user = first_start::first_user(platform).await?;
    let wish = KeyRequest { name: Some("dev".to_owned()), ..KeyRequest::default() };
    let made = users::create_key(&Caller::operator(), platform, user.as_str(), wish).await?;
    write(&path, made.key.expose()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(made.key)
}

fn write(path: &Path, key: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{key}")
}
