//! The data folder, the store and the key that opens its secrets.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use platform::manage::first_start;
use store::embedded::Inspection;

use super::{Finding, keeping};
use crate::serve::socket_of;
use crate::settings::{Settings, without_password};
use crate::wiring::assembly::{Secrets, open_idle_platform, store_file};

const SPACE_WANTED_BYTES: u64 = 1 << 30;
const SPACE_NEEDED_BYTES: u64 = 64 << 20;

pub(super) fn check_folder(data: &Path) -> Vec<Finding> {
    let Ok(metadata) = std::fs::metadata(data) else {
        return vec![Finding::ok("data folder", format!("{} is made by the first start", data.display()))];
    };
    let mut findings = vec![match metadata.permissions().mode() & 0o077 {
        0 => Finding::ok("data folder", format!("{} is private", data.display())),
        _ => Finding::warn(
            "data folder",
            format!("others can look into {}", data.display()),
            format!("chmod 700 {}", data.display()),
        ),
    }];
    if let Err(error) = tempfile::tempfile_in(data) {
        let advice = "give the user that runs the server the folder, on a file system that is not read-only";
        findings.push(Finding::fail("data folder", format!("nothing can be written: {error}"), advice));
    }
    if let Ok(space) = rustix::fs::statvfs(data) {
        findings.push(space_left(space.f_bavail.saturating_mul(space.f_frsize)));
    }
    findings
}

fn space_left(bytes: u64) -> Finding {
    let (says, advice) = (format!("{} MiB left", bytes >> 20), "make room: without it nothing new is accepted");
    match bytes {
        ..SPACE_NEEDED_BYTES => Finding::fail("disk", says, advice),
        SPACE_NEEDED_BYTES..SPACE_WANTED_BYTES => Finding::warn("disk", says, advice),
        _ => Finding::ok("disk", says),
    }
}

pub(super) async fn check(settings: &Settings, secrets: &Secrets) -> Vec<Finding> {
    match &settings.store {
        Some(url) => check_shared(settings, secrets, url).await,
        None => check_embedded(settings, secrets).await,
    }
}

#[expect(clippy::disallowed_methods, reason = "measures the machine")]
async fn check_shared(settings: &Settings, secrets: &Secrets, url: &str) -> Vec<Finding> {
    let begun = Instant::now();
    match open_idle_platform(settings, secrets).await {
        Ok(platform) => {
            let says = format!("{} answers within {} ms", without_password(url), begun.elapsed().as_millis());
            let mut findings = vec![Finding::ok("store", says), check_key(&platform).await];
            findings.extend(keeping::check(&platform, settings).await);
            findings
        }
        Err(error) => {
            let advice = "see that it runs, that the address and its password are right, and that it is reachable";
            vec![Finding::fail("store", format!("{error:#}"), advice)]
        }
    }
}

async fn check_embedded(settings: &Settings, secrets: &Secrets) -> Vec<Finding> {
    let path = store_file(settings);
    if !path.exists() {
        return vec![Finding::ok("store", "is made by the first start")];
    }
    let inspection = match store::embedded::inspect(&path) {
        Ok(inspection) => inspection,
        Err(error) => return vec![Finding::fail("store", format!("{:#}", anyhow::Error::from(error)), RESTORE)],
    };
    let mut findings = vec![judge(&inspection)];
    if inspection.is_in_use {
        // The server that has it open has checked the key.
        findings.push(match tokio::net::UnixStream::connect(socket_of(&settings.data)).await {
            Ok(_) => Finding::ok("server", "runs, and takes the operator's commands"),
            Err(_) => Finding::warn(
                "server",
                "runs, but takes no commands of the operator",
                "the path of the data folder may be too long for a socket: about 90 characters are fine",
            ),
        });
        return findings;
    }
    match open_idle_platform(settings, secrets).await {
        Ok(platform) => findings.push(check_key(&platform).await),
        Err(error) => findings.push(Finding::fail("store", format!("{error:#}"), RESTORE)),
    }
    findings
}

const RESTORE: &str = "restore it from a backup: wellspring restore <file>";

fn judge(inspection: &Inspection) -> Finding {
    let Inspection { schema, known_schema, damage, .. } = inspection;
    if let Some(first) = damage.first() {
        return Finding::fail("store", format!("the file is damaged: {first}"), RESTORE);
    }
    if schema > known_schema {
        let says = format!("was written by a newer version (schema {schema}, this one knows {known_schema})");
        return Finding::fail("store", says, "run that version, or restore a backup from before the upgrade");
    }
    Finding::ok("store", format!("is sound, schema {schema}"))
}

async fn check_key(platform: &platform::Platform) -> Finding {
    if let Err(error) = first_start::check_key(platform).await {
        let advice = "put back the encryption.key, or the WELLSPRING_ENCRYPTION_KEYS, that the store was made with";
        return Finding::fail("key", format!("{:#}", anyhow::Error::from(error)), advice);
    }
    match first_start::has_unfinished_rotation(platform).await {
        Ok(true) => Finding::warn("key", "a rotation is unfinished", "wellspring rotate-key --resume"),
        _ => Finding::ok("key", "opens the store's secrets"),
    }
}

#[cfg(test)]
mod tests;
