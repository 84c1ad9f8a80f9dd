//! `init`: a component to start from, and what makes an editor complete it.

mod templates;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::output::{Output, talk};
use templates::Language;

const TYPES: &str = include_str!("init/wellspring.d.ts");
const GLOBALS: &str = include_str!("init/wellspring.globals.d.ts");
const JAVASCRIPT: &str = include_str!("init/jsconfig.json");
const TYPESCRIPT: &str = include_str!("init/tsconfig.json");

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to write
    #[arg(value_enum)]
    kind: Kind,
    /// What to call it; the file is named after it
    name: Option<String>,
    /// A source that receives HTTP requests (the default)
    #[arg(long)]
    http: bool,
    /// A source that runs again and again
    #[arg(long)]
    timer: bool,
    /// A source that remembers something between runs
    #[arg(long)]
    db: bool,
    /// Write TypeScript
    #[arg(long)]
    ts: bool,
    /// Where to write it
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Write over a component that is there
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Source,
    Action,
    App,
}

/// What a new source has.
#[derive(Clone, Copy, Debug)]
struct Parts {
    http: bool,
    timer: bool,
    db: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Error> {
    let name = arguments.name.clone().unwrap_or_else(|| default_name(arguments.kind).to_owned());
    let slug = slug_of(&name);
    // A source that nothing triggers is of no use to start from.
    let parts = Parts { http: arguments.http || !arguments.timer, timer: arguments.timer, db: arguments.db };
    let language = if arguments.ts { Language::TypeScript } else { Language::JavaScript };
    let ending = language.extension();
    let (file, code) = match arguments.kind {
        Kind::Source => (format!("{slug}.{ending}"), templates::source(&name, &slug, parts, language)),
        Kind::Action => (format!("{slug}.{ending}"), templates::action(&name, &slug, language)),
        Kind::App => (format!("{slug}.app.{ending}"), templates::app(&slug, language)),
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { verb: "write", path, source }
    };
    std::fs::create_dir_all(&arguments.folder).map_err(failed(&arguments.folder))?;
    let is_here = arguments.folder == Path::new(".");
    let path = if is_here { PathBuf::from(&file) } else { arguments.folder.join(&file) };
    write_new(&path, &code, arguments.force)?;
    for (name, text) in [("wellspring.d.ts", TYPES), ("wellspring.globals.d.ts", GLOBALS)] {
        let path = arguments.folder.join(name);
        std::fs::write(&path, text).map_err(failed(&path))?;
    }
    let (settings, text) = match language {
        Language::JavaScript => ("jsconfig.json", JAVASCRIPT),
        Language::TypeScript => ("tsconfig.json", TYPESCRIPT),
    };
    // Settings of the project that exist already stay as they are.
    match write_new(&arguments.folder.join(settings), text, false) {
        Ok(()) | Err(Error::Exists { .. }) => {}
        Err(error) => return Err(error),
    }
    Output::of_process(false).line(&path.display().to_string())?;
    talk(&format!("hint: {}", next_step(arguments.kind, language, &path)));
    Ok(())
}

fn write_new(path: &Path, text: &str, is_forced: bool) -> Result<(), Error> {
    let opened = std::fs::OpenOptions::new().write(true).create(true).create_new(!is_forced).truncate(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
        _ => Error::File { verb: "write", path: path.to_owned(), source },
    })
}

fn next_step(kind: Kind, language: Language, path: &Path) -> String {
    let path = path.display();
    match (kind, language) {
        (Kind::Source, _) => format!("wellspring deploy {path}"),
        (Kind::Action, _) => format!("wellspring publish {path}"),
        (Kind::App, Language::JavaScript) => {
            format!("const app = require(\"./{path}\"), then `props: {{ app }}` in a component")
        }
        (Kind::App, Language::TypeScript) => {
            let module = path.to_string();
            let module = module.trim_end_matches(".ts");
            format!("import app from \"./{module}\", then `props: {{ app }}` in a component")
        }
    }
}

fn default_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Source => "My source",
        Kind::Action => "My action",
        Kind::App => "my_app",
    }
}

/// As the server makes slugs of names.
fn slug_of(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_lowercase() && !letter.is_ascii_digit() && letter != '_');
    let slug = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "component".to_owned() } else { slug }
}
