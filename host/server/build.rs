//! Compresses the console's files, so that the binary holds them as they are sent.
//!
//! The files are committed (`host/console/dist`), made from their sources by `host/console/build.sh`: a build of the server
//! needs no Node.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let dist = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("../console/dist");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    println!("cargo:rerun-if-changed={}", dist.display());
    let mut names = fs::read_dir(&dist)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let path = dist.join(&name);
        println!("cargo:rerun-if-changed={}", path.display());
        let name = name.to_string_lossy();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(&path)?)?;
        fs::write(out.join(format!("{name}.gz")), encoder.finish()?)?;
        let gzip = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.gz\"))");
        writeln!(table, "    File {{ name: \"{name}\", gzip: {gzip} }},").map_err(io::Error::other)?;
    }
    table.push_str("]\n");
    fs::write(out.join("console.rs"), table)
}
