//! For tests: a registry in memory, and Node to compare with.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use sha2::{Digest, Sha512};
use url::Url;

use crate::{Config, Entry, Fetch, FetchError, FetchResponse, LinkError, Linked, Linker, Registry};

pub(crate) const BASE: &str = "https://registry.test/";

/// Answers from memory, and misbehaves as told.
#[derive(Default)]
pub(crate) struct FakeRegistry {
    packuments: Mutex<BTreeMap<String, Value>>,
    tarballs: Mutex<HashMap<String, Bytes>>,
    /// For a path, answers that come before the right one.
    faults: Mutex<HashMap<String, VecDeque<Result<FetchResponse, FetchError>>>>,
    pub(crate) requests: Mutex<Vec<Request>>,
}

/// A path and its headers.
type Request = (String, Vec<(String, String)>);

// === impl FakeRegistry ===

impl FakeRegistry {
    /// `manifest` may hold anything that a version's entry in a packument may.
    pub(crate) fn publish(&self, name: &str, version: &str, manifest: &Value, files: &[(&str, &str)]) -> &Self {
        let mut own = manifest.clone();
        own["name"] = json!(name);
        own["version"] = json!(version);
        let package_json = own.to_string();
        let mut entries = vec![("package/package.json", package_json.as_str())];
        let prefixed: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("package/{path}"), *text)).collect();
        entries.extend(prefixed.iter().map(|(path, text)| (path.as_str(), *text)));
        self.publish_tarball(name, version, manifest, tarball(&entries))
    }

    pub(crate) fn publish_tarball(&self, name: &str, version: &str, manifest: &Value, tarball: Bytes) -> &Self {
        let path = format!("{name}/-/{version}.tgz");
        let mut entry = manifest.clone();
        let integrity = format!("sha512-{}", STANDARD.encode(Sha512::digest(&tarball)));
        entry["name"] = json!(name);
        entry["version"] = json!(version);
        if entry.get("dist").is_none() {
            entry["dist"] = json!({ "tarball": format!("{BASE}{path}"), "integrity": integrity });
        }
        let mut packuments = self.packuments.lock().unwrap();
        let packument = packuments
            .entry(name.to_owned())
            .or_insert_with(|| json!({ "name": name, "dist-tags": {}, "versions": {} }));
        packument["versions"][version] = entry;
        packument["dist-tags"]["latest"] = json!(version);
        self.tarballs.lock().unwrap().insert(path, tarball);
        self
    }

    pub(crate) fn tag(&self, name: &str, tag: &str, version: &str) -> &Self {
        self.packuments.lock().unwrap().get_mut(name).unwrap()["dist-tags"][tag] = json!(version);
        self
    }

    pub(crate) fn fail(&self, path: &str, answer: Result<FetchResponse, FetchError>) -> &Self {
        self.faults.lock().unwrap().entry(path.to_owned()).or_default().push_back(answer);
        self
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn answer(&self, path: &str, headers: &[(String, String)]) -> FetchResponse {
        if let Some(tarball) = self.tarballs.lock().unwrap().get(path) {
            return response(200, tarball.clone());
        }
        let name = path.replace("%2f", "/");
        match self.packuments.lock().unwrap().get(&name) {
            Some(packument) => {
                let body = packument.to_string();
                let etag = format!("\"{}\"", hex::encode(sha2::Sha256::digest(&body)));
                let is_known = headers.iter().any(|(key, value)| key == "if-none-match" && *value == etag);
                let mut answer = if is_known { response(304, Bytes::new()) } else { response(200, Bytes::from(body)) };
                answer.headers.push(("etag".to_owned(), etag));
                answer
            }
            None => response(404, Bytes::from_static(b"{}")),
        }
    }
}

#[async_trait]
impl Fetch for FakeRegistry {
    async fn get(
        &self,
        url: &str,
        headers: &[(String, String)],
        limit_bytes: u64,
    ) -> Result<FetchResponse, FetchError> {
        let path = url.strip_prefix(BASE).unwrap_or(url).to_owned();
        self.requests.lock().unwrap().push((path.clone(), headers.to_vec()));
        let fault = self.faults.lock().unwrap().get_mut(&path).and_then(VecDeque::pop_front);
        let answer = fault.unwrap_or_else(|| Ok(self.answer(&path, headers)))?;
        if answer.body.len() as u64 > limit_bytes {
            return Err(FetchError::TooLarge { limit_bytes });
        }
        Ok(answer)
    }
}

pub(crate) fn response(status: u16, body: Bytes) -> FetchResponse {
    FetchResponse { status, headers: Vec::new(), body }
}

/// Paths as they are written into the archive.
pub(crate) fn tarball(files: &[(&str, &str)]) -> Bytes {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        // Not `set_path`, which refuses what the tests want to try.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap().into()
}

pub(crate) fn config(cache_folder: &Path) -> Config {
    Config::new(cache_folder.to_owned(), Registry::at(Url::parse(BASE).unwrap()))
}

pub(crate) fn entry(source: &str) -> Entry {
    Entry { filename: "entry.js".to_owned(), source: source.to_owned(), ..Entry::default() }
}

pub(crate) fn entry_of(files: &[(&str, &str)]) -> Entry {
    let ((filename, source), rest) = files.split_first().unwrap();
    let files = rest.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Entry { filename: (*filename).to_owned(), source: (*source).to_owned(), files }
}

/// With a cache of its own.
pub(crate) async fn link_with(
    registry: Arc<FakeRegistry>,
    entry: &Entry,
    adjust: impl FnOnce(&mut Config),
) -> Result<Linked, LinkError> {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    adjust(&mut config);
    Linker::new(config, registry).link(entry, &|_| {}).await
}

pub(crate) async fn link(registry: Arc<FakeRegistry>, entry: &Entry) -> Result<Linked, LinkError> {
    link_with(registry, entry, |_| {}).await
}

/// Runs a table with a CommonJS loader and gives what it printed. The last lines of an error follow.
pub(crate) fn run_linked(linked: &Linked) -> String {
    let input = serde_json::to_vec(linked).unwrap();
    run_node(&["-e", include_str!("testing/loader.js")], &input, Path::new("/"))
}

/// Runs a file with Node itself.
pub(crate) fn run_file(folder: &Path, filename: &str) -> String {
    run_node(&[filename], b"", folder)
}

fn run_node(arguments: &[&str], input: &[u8], folder: &Path) -> String {
    let mut command = Command::new("node");
    command
        .arg("--no-warnings")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests need node");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    format!("{}{}", text(output.stdout), if output.status.success() { String::new() } else { text(output.stderr) })
}
