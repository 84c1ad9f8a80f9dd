//! The virtual file system that modules are resolved in, and the resolution itself, as Node does it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use oxc_resolver::{FileMetadata, FileSystem, ResolveError, ResolveOptions, ResolverGeneric};
use serde_json::Value;

use crate::{
    entry::{OWN_FOLDER, UNNAMED_FOLDER},
    modules::{Decorators, Format, RequestKind},
    registry::Files,
};

#[derive(Clone, Default)]
pub(crate) struct Volume {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    files: HashMap<String, Bytes>,
    folders: HashSet<String>,
    /// What manifests say about `.js` files, by their path: some are long and asked for often.
    formats: Mutex<HashMap<String, Format>>,
}

/// Finds files for specifiers.
pub(crate) struct Resolver {
    volume: Volume,
    require: ResolverGeneric<Volume>,
    import: ResolverGeneric<Volume>,
    own_require: ResolverGeneric<Volume>,
    own_import: ResolverGeneric<Volume>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// No such file or package.
    NotFound,
    /// The package is there and does not offer it.
    NotOffered { reason: String },
}

/// What Node tries for packages.
const EXTENSIONS: [&str; 3] = [".js", ".json", ".node"];

/// The component's own files may leave out the extension of TypeScript too.
const OWN_EXTENSIONS: [&str; 8] = [".js", ".ts", ".json", ".mjs", ".cjs", ".mts", ".cts", ".node"];

// === impl Volume ===

impl Volume {
    /// `packages` are by location (`node_modules/a/node_modules/b`).
    pub(crate) fn new(own: &BTreeMap<String, Bytes>, packages: &BTreeMap<String, Arc<Files>>) -> Self {
        let mut inner = Inner::default();
        for (path, content) in own {
            inner.add(path.clone(), content.clone());
        }
        for (location, files) in packages {
            for (path, content) in files.iter() {
                inner.add(format!("/{location}/{path}"), content.clone());
            }
        }
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn content(&self, path: &str) -> Option<&Bytes> {
        self.inner.files.get(path)
    }

    /// Files whose path begins so, in order, each with its size.
    pub(crate) fn below(&self, prefix: &str) -> Vec<(&str, usize)> {
        let files = self.inner.files.iter().filter(|(path, _)| path.starts_with(prefix));
        let mut files: Vec<(&str, usize)> = files.map(|(path, content)| (path.as_str(), content.len())).collect();
        files.sort_unstable();
        files
    }

    /// What the nearest `package.json` says about `.js` files.
    pub(crate) fn format_of_package(&self, path: &str) -> Format {
        self.manifest_of(path).map_or(Format::Open, |manifest| self.format_in(manifest))
    }

    /// The nearest `package.json` at or above a file, in the same package.
    pub(crate) fn manifest_of(&self, path: &str) -> Option<String> {
        self.nearest(path, "package.json")
    }

    /// What the nearest `tsconfig.json` says about decorators.
    pub(crate) fn decorators_of(&self, path: &str) -> Decorators {
        let config = self.nearest(path, "tsconfig.json").and_then(|config| self.content(&config));
        config.map_or(Decorators::NONE, |text| Decorators::of_tsconfig(text))
    }

    /// The nearest file of this name at or above a file, in the same package.
    fn nearest(&self, path: &str, wanted: &str) -> Option<String> {
        let mut folder = path;
        while let Some((parent, name)) = folder.rsplit_once('/') {
            folder = parent;
            if name == "node_modules" {
                break;
            }
            let found = format!("{parent}/{wanted}");
            if self.inner.files.contains_key(&found) {
                return Some(found);
            }
        }
        None
    }

    fn format_in(&self, manifest: String) -> Format {
        let mut formats = self.inner.formats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(format) = formats.get(&manifest) {
            return *format;
        }
        let content: Value =
            self.content(&manifest).and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default();
        let format = match content.get("type").and_then(Value::as_str) {
            Some("module") => Format::Esm,
            Some("commonjs") => Format::CommonJs,
            _ => Format::Open,
        };
        formats.insert(manifest, format);
        format
    }

    /// The folder of the package that a path lies in, for example `/node_modules/a`.
    pub(crate) fn package_folder(path: &str) -> Option<&str> {
        let marker = "/node_modules/";
        let start = path.rfind(marker)? + marker.len();
        let rest = path.get(start..)?;
        let segments = if rest.starts_with('@') { 2 } else { 1 };
        let length = rest.split('/').take(segments).map(|segment| segment.len() + 1).sum::<usize>().checked_sub(1)?;
        path.get(..start + length)
    }
}

impl Inner {
    fn add(&mut self, path: String, content: Bytes) {
        let mut folder = path.as_str();
        while let Some((parent, _)) = folder.rsplit_once('/') {
            let parent = if parent.is_empty() { "/" } else { parent };
            if !self.folders.insert(parent.to_owned()) || parent == "/" {
                break;
            }
            folder = parent;
        }
        self.files.insert(path, content);
    }
}

impl FileSystem for Volume {
    fn new() -> Self {
        Self::default()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let content = path.to_str().and_then(|path| self.content(path));
        content.map(|bytes| bytes.to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        String::from_utf8(self.read(path)?).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let path = path.to_str().unwrap_or_default();
        let is_file = self.inner.files.contains_key(path);
        let is_folder = self.inner.folders.contains(path);
        if is_file || is_folder {
            return Ok(FileMetadata::new(is_file, is_folder, false));
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, _: &Path) -> Result<PathBuf, ResolveError> {
        Err(io::Error::from(io::ErrorKind::NotFound).into())
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
}

// === impl Resolver ===

impl Resolver {
    pub(crate) fn new(volume: Volume) -> Self {
        let require = ResolverGeneric::new_with_file_system(volume.clone(), options("require", &EXTENSIONS));
        let import = require.clone_with_options(options("import", &EXTENSIONS));
        let own_require = require.clone_with_options(own_options("require"));
        let own_import = require.clone_with_options(own_options("import"));
        Self { volume, require, import, own_require, own_import }
    }

    pub(crate) fn volume(&self) -> &Volume {
        &self.volume
    }

    /// The path of what `importer` means by `specifier`.
    pub(crate) fn resolve(&self, importer: &str, specifier: &str, kind: RequestKind) -> Result<String, Missing> {
        let found = self.look_up(importer, specifier, kind);
        if found == Err(Missing::NotFound) && importer.starts_with(OWN_FOLDER) && specifier.starts_with('.') {
            let mut others = self.through_unnamed_folders(importer, specifier);
            return others.find_map(|path| self.look_up(importer, &path, kind).ok()).ok_or(Missing::NotFound);
        }
        found
    }

    /// Other readings of a relative path, for when the names of the folders above the entry are unknown: a file up there
    /// that asks for `./sources/x` names the folder that is known here only as the one the entry is in.
    fn through_unnamed_folders(&self, importer: &str, specifier: &str) -> impl Iterator<Item = String> {
        let mut parts: Vec<&str> = importer.split('/').skip(2).collect();
        parts.pop();
        for part in specifier.split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." | "" => {}
                name => parts.push(name),
            }
        }
        let parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
        let mut folder = OWN_FOLDER.to_owned();
        let mut rest = parts.into_iter();
        let volume = self.volume.clone();
        std::iter::from_fn(move || {
            folder = format!("{folder}/{UNNAMED_FOLDER}");
            rest.next().filter(|_| volume.inner.folders.contains(&folder))?;
            let rest: Vec<&str> = rest.as_slice().iter().map(String::as_str).collect();
            Some(format!("{folder}/{}", rest.join("/")))
        })
    }

    fn look_up(&self, importer: &str, specifier: &str, kind: RequestKind) -> Result<String, Missing> {
        let folder = importer.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let is_own = importer.starts_with(OWN_FOLDER);
        let (require, import) =
            if is_own { (&self.own_require, &self.own_import) } else { (&self.require, &self.import) };
        let (first, second) = match kind {
            RequestKind::Require => (require, import),
            RequestKind::Import | RequestKind::DynamicImport => (import, require),
        };
        // A package that offers something to `import` alone is still of use to `require`, and the other
        // way round: both end up in the same kind of module here.
        let resolved =
            first.resolve(folder, specifier).or_else(|error| second.resolve(folder, specifier).map_err(|_| error));
        match resolved {
            Ok(resolution) => resolution.path().to_str().map(str::to_owned).ok_or(Missing::NotFound),
            Err(ResolveError::NotFound(_)) => Err(Missing::NotFound),
            Err(error) => Err(Missing::NotOffered { reason: error.to_string() }),
        }
    }
}

fn options(kind: &str, extensions: &[&str]) -> ResolveOptions {
    ResolveOptions {
        cwd: Some("/".into()),
        condition_names: ["node", kind, "default"].map(str::to_owned).to_vec(),
        extensions: extensions.iter().map(ToString::to_string).collect(),
        main_fields: vec!["main".to_owned()],
        symlinks: false,
        ..ResolveOptions::default()
    }
}

/// TypeScript writes `./x.js` for what is `./x.ts`.
fn own_options(kind: &str) -> ResolveOptions {
    let alias = |from: &str, to: [&str; 2]| (from.to_owned(), to.map(str::to_owned).to_vec());
    ResolveOptions {
        extension_alias: vec![
            alias(".js", [".js", ".ts"]),
            alias(".mjs", [".mjs", ".mts"]),
            alias(".cjs", [".cjs", ".cts"]),
        ],
        ..options(kind, &OWN_EXTENSIONS)
    }
}

#[cfg(test)]
mod tests;
