//! The shell in which the blocks of a documentation page run: a fresh folder, a server of its own, one block after the other.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rig::served::{KEY, binary};
use tempfile::TempDir;

pub(super) struct Shell {
    folder: TempDir,
    address: String,
    server: Option<Child>,
}

// === impl Shell ===

impl Shell {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::os::unix::fs::symlink(binary(), programs.join("wellspring")).unwrap();
        // `cargo run --release --` stands for the binary: building it is not what is tested here.
        let cargo = "#!/bin/sh\n[ \"$1 $2 $3\" = 'run --release --' ] || exit 2\nshift 3\nexec wellspring \"$@\"\n";
        std::fs::write(programs.join("cargo"), cargo).unwrap();
        std::fs::set_permissions(programs.join("cargo"), std::fs::Permissions::from_mode(0o755)).unwrap();
        // What the engine compiled for other tests.
        let compiled = std::env::temp_dir().join("wellspring-tests-cache");
        std::fs::create_dir_all(&compiled).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::os::unix::fs::symlink(compiled, folder.path().join("data/cache")).unwrap();
        rig::served::write_key(&folder.path().join("data/encryption.key"));
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        Self { folder, address, server: None }
    }

    fn command(&self, text: &str) -> Command {
        let folder = self.folder.path();
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", text]).current_dir(folder.join("work")).stdin(Stdio::null());
        command.env_clear().env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.join("bin").display()));
        command
            .env("HOME", folder)
            .env("TZ", "UTC")
            .env("WELLSPRING_CACHE", std::env::temp_dir().join("wellspring-tests-cache-of-runs"));
        // What differs from a reader's machine: where the server listens and keeps its data. The key is the reader's.
        command.env("WELLSPRING_LISTEN", &self.address).env("WELLSPRING_URL", format!("http://{}", self.address));
        command.env("WELLSPRING_DATA", folder.join("data")).env("WELLSPRING_API_KEY", KEY);
        command
    }

    /// Returns when the server says where it is.
    pub(super) fn start_server(&mut self, text: &str) {
        assert!(self.server.is_none(), "one server is enough");
        let mut child = self.command(&format!("exec {text}")).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let said: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("Wellspring is at ")).collect();
        assert!(child.try_wait().unwrap().is_none(), "the server ended: {}", said.join("\n"));
        // Its pipe must not fill.
        std::thread::spawn(move || lines.for_each(drop));
        self.server = Some(child);
    }

    /// What the block printed, on either output.
    pub(super) fn run(&mut self, text: &str) -> String {
        // Variables and the current folder go from block to block, as in a terminal.
        let state = self.folder.path().join("state");
        let state = state.display();
        let keep = format!("{{ export -p; echo \"cd '$PWD'\"; }} > {state}");
        let script = format!("[ -f {state} ] && . {state}\nset -e\n{text}\n{keep}");
        let output = self.command(&script).output().unwrap();
        let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{text}\nended with {}:\n{printed}", output.status);
        printed
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            // It may have ended by itself, which the test has told by then.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// A script that a test does not run must at least be one.
pub(super) fn check_script(root: &Path, text: &str) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let script = root.join(line.split_whitespace().next().unwrap());
        let mode = std::fs::metadata(&script).unwrap_or_else(|_| panic!("{line}")).permissions().mode();
        assert_ne!(mode & 0o111, 0, "{line} can be run");
        assert!(Command::new("bash").arg("-n").arg(&script).status().unwrap().success(), "{line} parses");
    }
}
