//! What `just release` makes, made of the binary under test: each part is unpacked and started as its users would.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rig::served::binary;
use serde_json::Value;

use crate::generated::root;

/// Everything, in a folder of its own.
struct Release {
    folder: tempfile::TempDir,
}

// === impl Release ===

impl Release {
    fn make(binary: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut build = Command::new(root().join("release/build.sh"));
        build.arg(folder.path().join("dist")).env("WELLSPRING_BINARY", binary).env("WELLSPRING_COMPRESSION", "1");
        succeed(&mut build);
        Self { folder }
    }

    fn dist(&self) -> PathBuf {
        self.folder.path().join("dist")
    }

    /// The only file whose name ends so.
    fn file(&self, ending: &str) -> PathBuf {
        let files = std::fs::read_dir(self.dist()).unwrap().map(|entry| entry.unwrap().path());
        let found: Vec<PathBuf> = files.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
        assert_eq!(found.len(), 1, "{ending}: {found:?}");
        found[0].clone()
    }

    fn place(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_release_is_installed_unpacked_and_started() {
    let release = Release::make(binary());

    checksums_hold(&release);
    the_archive_installs_and_a_damaged_one_does_not(&release);
    the_package_holds_the_binary_and_the_unit(&release);
    the_image_starts_as_a_user_without_rights(&release);
    the_bill_of_materials_names_what_is_in_the_binary(&release);
}

fn checksums_hold(release: &Release) {
    succeed(Command::new("sha256sum").args(["-c", "SHA256SUMS"]).current_dir(release.dist()));
    let listed = std::fs::read_to_string(release.dist().join("SHA256SUMS")).unwrap().lines().count();
    assert_eq!(listed, std::fs::read_dir(release.dist()).unwrap().count() - 1, "every file but the list itself");
}

fn the_archive_installs_and_a_damaged_one_does_not(release: &Release) {
    let (archive, prefix) = (release.file("linux.tar.gz"), release.place("prefix"));
    let install = |archive: &Path, prefix: &Path| {
        let mut install = Command::new("sh");
        install.arg(release.dist().join("install.sh")).env("WELLSPRING_ARCHIVE", archive).env("PREFIX", prefix);
        install
    };

    let said = succeed(&mut install(&archive, &prefix));
    assert!(said.starts_with(&format!("installed wellspring {}", env!("CARGO_PKG_VERSION"))), "{said}");
    succeed(Command::new(prefix.join("bin/wellspring")).arg("--version"));
    for file in
        ["share/man/man1/wellspring.1", "share/bash-completion/completions/wellspring", "share/doc/wellspring/LICENSE"]
    {
        assert!(prefix.join(file).exists(), "{file}");
    }

    let damaged = release.place("damaged");
    let copy = damaged.join(archive.file_name().unwrap());
    std::fs::write(&copy, b"something else").unwrap();
    std::fs::copy(release.dist().join("SHA256SUMS"), damaged.join("SHA256SUMS")).unwrap();
    let refused = install(&copy, &release.place("other")).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not what SHA256SUMS says"));
}

fn the_package_holds_the_binary_and_the_unit(release: &Release) {
    let (package, place) = (release.file(".deb"), release.place("deb"));

    let control = succeed(Command::new("dpkg-deb").arg("-f").arg(&package));
    succeed(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&place));

    assert!(control.contains("Package: wellspring") && control.contains("Depends: libc6 (>= 2."), "{control}");
    succeed(Command::new(place.join("usr/bin/wellspring")).arg("--version"));
    let unit = std::fs::read_to_string(place.join("lib/systemd/system/wellspring.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/wellspring serve"), "{unit}");
}

/// The configuration of the image, and its root file system.
fn unpack_image(release: &Release) -> (Value, PathBuf) {
    let (layout, rootfs) = (release.place("layout"), release.place("rootfs"));
    succeed(Command::new("tar").arg("-xf").arg(release.file("-image.tar")).arg("-C").arg(&layout));
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let path = layout.join("blobs/sha256").join(digest);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), descriptor["size"].as_u64().unwrap());
        let sum = succeed(Command::new("sha256sum").arg(&path));
        assert!(sum.starts_with(digest), "a blob is named by what it holds");
        path
    };
    let index = read(layout.join("index.json"));
    let manifest = read(blob(&index["manifests"][0]));
    let config = read(blob(&manifest["config"]));
    let layer = blob(&manifest["layers"][0]);
    succeed(Command::new("tar").arg("-xzf").arg(layer).arg("-C").arg(&rootfs));
    (config, rootfs)
}

fn the_image_starts_as_a_user_without_rights(release: &Release) {
    let (config, rootfs) = unpack_image(release);

    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/usr/bin/wellspring"]));
    if !is_root() {
        // Only root may start something in another root file system.
        return;
    }
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", "/data"];
    let mut server = Command::new("chroot");
    server.arg("--userspec=65532:65532").arg(&rootfs).arg("/usr/bin/wellspring").args(arguments);
    let mut server = Started(
        server.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stderr(Stdio::piped()).spawn().unwrap(),
    );
    let lines = BufReader::new(server.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = Vec::new();
    let address = lines
        .inspect(|line| said.push(line.clone()))
        .find_map(|line| line.strip_prefix("Wellspring is at ").map(str::to_owned));
    let address = address.unwrap_or_else(|| panic!("{}", said.join("\n")));
    let answered = succeed(Command::new("curl").args(["-sf", &format!("{address}/readyz")]));

    assert!(!answered.is_empty());
    let data = std::fs::metadata(rootfs.join("data/store.db")).unwrap();
    assert_eq!((data.uid(), data.mode() & 0o077), (65532, 0), "its data is its own");
}

/// Ended with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn the_bill_of_materials_names_what_is_in_the_binary(release: &Release) {
    let bill: Value = serde_json::from_slice(&std::fs::read(release.file(".spdx.json")).unwrap()).unwrap();

    let names: Vec<&str> =
        bill["packages"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(["wellspring", "wasmtime", "hyper", "rusqlite"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!names.contains(&"proptest"), "what only tests need is not in it");
}

/// What takes the place of a binary for musl: linked with nothing, and with as much to say as a release asks of it.
const STATIC: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
int main(int count, char **words) {
  if (count == 3 && strcmp(words[1], "man") == 0) {
    char path[4096];
    mkdir(words[2], 0755);
    snprintf(path, sizeof path, "%s/wellspring.1", words[2]);
    return fclose(fopen(path, "w"));
  }
  return puts("static") < 0;
}
"#;

#[test]
fn a_static_binary_asks_for_no_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let (code, binary) = (folder.path().join("static.c"), folder.path().join("wellspring"));
    std::fs::write(&code, STATIC).unwrap();
    succeed(Command::new("cc").arg("-static").arg("-o").arg(&binary).arg(&code));

    let release = Release::make(&binary);

    let control = succeed(Command::new("dpkg-deb").arg("-f").arg(release.file(".deb")));
    assert!(control.contains("\nDepends: ca-certificates\n"), "{control}");
    let (_, rootfs) = unpack_image(&release);
    let folders = std::fs::read_dir(&rootfs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut folders: Vec<String> = folders.collect();
    folders.sort();
    assert_eq!(folders, ["data", "etc", "tmp", "usr"], "neither `lib` nor `lib64`");
}

#[test]
fn a_release_for_a_system_that_it_cannot_be_made_for_says_so() {
    let other = if cfg!(target_arch = "x86_64") { "aarch64" } else { "x86_64" };
    for (target, reason) in [
        ("wasm32-wasip1", "no release for wasm32-wasip1".to_owned()),
        (&format!("{other}-unknown-linux-gnu"), format!("{other}-unknown-linux-musl is made on any")),
    ] {
        let mut build = Command::new(root().join("release/build.sh"));
        let refused = build.arg("/nowhere").env("WELLSPRING_TARGET", target).output().unwrap();

        assert!(!refused.status.success());
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains(&reason), "{said}");
    }
}

#[test]
fn manifests_name_the_version_and_the_probes_of_this_server() {
    let version = env!("CARGO_PKG_VERSION");
    for file in ["release/compose.yaml", "release/kubernetes.yaml"] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();

        assert!(text.contains(&format!("image: wellspring:{version}")), "{file}");
        for document in text.split("\n---\n") {
            let parsed: serde_yaml_ng::Value = serde_yaml_ng::from_str(document).unwrap();
            assert!(parsed.is_mapping(), "{file}");
        }
    }
}
