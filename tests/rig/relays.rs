//! A mail server and an object store of their own kind, from npm; `tests/relays/serve.sh` installs and starts them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::wait::{until, within};

/// How the object store's files of objects end.
const OBJECT: &str = "._S3rver_object";
const MISSING: &str = "node and npm are needed: `just test` installs them and runs the tests";

pub struct Relays {
    folder: TempDir,
    lines: Lines<BufReader<ChildStdout>>,
    ports: Value,
    _child: Child,
    // They end when it is closed.
    _stdin: ChildStdin,
}

// === impl Relays ===

impl Relays {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new("relays/serve.sh");
        let mut command = Command::new(script);
        command.arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect(MISSING);
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut lines = BufReader::new(stdout).lines();
        let ports = lines.next_line().await.unwrap().expect(MISSING);
        Self { folder, lines, ports: serde_json::from_str(&ports).unwrap(), _child: child, _stdin: stdin }
    }

    /// The address of the object store.
    pub fn object_store(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports["s3"])
    }

    /// Options of a server that sends through them.
    pub fn options(&self) -> Vec<String> {
        let smtp = format!("smtp://wellspring:p%3Ass%2Fw%40rd@127.0.0.1:{}?tls=none", self.ports["smtp"]);
        let s3 = self.object_store();
        let options = [
            ("--smtp-url", smtp.as_str()),
            ("--smtp-from", "Wellspring <noreply@wells.test>"),
            ("--s3-endpoint", s3.as_str()),
            ("--s3-access-key-id", "S3RVER"),
            ("--s3-bucket", "lake"),
        ];
        options.into_iter().flat_map(|(name, value)| [name.to_owned(), value.to_owned()]).collect()
    }

    /// And what stands in its environment.
    pub fn environment() -> (String, String) {
        ("WELLSPRING_S3_SECRET_ACCESS_KEY".to_owned(), "S3RVER".to_owned())
    }

    /// The next mail that arrives: `{from, to, message}`.
    pub async fn next_mail(&mut self) -> Value {
        let line = within("the next mail", self.lines.next_line()).await.unwrap().expect("the mail server lives");
        serde_json::from_str(&line).unwrap()
    }

    /// The objects under a prefix of a bucket, by their names, once there are so many.
    pub async fn objects(&self, bucket: &str, prefix: &str, count: usize) -> Vec<(String, String)> {
        let root = self.folder.path().join(bucket);
        let what = format!("{count} objects under {bucket}/{prefix}");
        let stored = until(&what, async || {
            let mut found = Vec::new();
            walk(&root.join(prefix), &mut found);
            found.retain(|path| is_whole(path));
            (found.len() >= count).then_some(found)
        });
        let name = |path: &Path| {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            name.trim_end_matches(OBJECT).to_owned()
        };
        stored.await.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
    }
}

/// Beside each object lie its digest, which is written when the object is there in full, and its properties.
fn is_whole(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let digest = std::fs::read(format!("{name}.md5")).unwrap_or_default();
    name.ends_with(OBJECT) && !digest.is_empty()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => walk(&entry.path(), found),
            false => found.push(entry.path()),
        }
    }
    found.sort();
}
