//! The options that every command against a server takes: the server, the key, and the output format.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::client::{Client, Key};
use crate::error::Error;
use crate::output::Output;
use crate::profiles::{self, Profiles};

/// Where `wellspring serve` listens unless it is told otherwise.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7717";

/// In a data folder, while `wellspring dev` serves it: where it is and a key for it.
pub const DEV_LOGIN: &str = "dev.json";
/// The data folder, unless it is told otherwise.
const DATA_FOLDER: &str = ".wellspring";

/// The options that all commands share.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Server and output")]
pub struct Connection {
    /// Use this login instead of the current one
    #[arg(long, value_name = "NAME", env = "WELLSPRING_PROFILE", hide_env_values = true, global = true)]
    pub profile: Option<String>,
    /// Use this server. Its key is then in WELLSPRING_API_KEY, unless the login is for this server
    #[arg(long, value_name = "URL", env = "WELLSPRING_URL", hide_env_values = true, global = true)]
    pub url: Option<String>,
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
}

/// A command's server and its output.
#[derive(Debug)]
pub struct Session {
    pub client: Client,
    pub output: Output,
}

/// What the environment holds, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) api_key: Option<String>,
    pub(crate) profiles: PathBuf,
    /// The server of `dev` in this folder or above.
    pub(crate) dev: Option<DevLogin>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct DevLogin {
    url: String,
    api_key: String,
    process: u32,
}

// === impl Environment ===

impl Environment {
    pub(crate) fn read() -> Result<Self, Error> {
        let api_key = std::env::var("WELLSPRING_API_KEY").ok().filter(|key| !key.is_empty());
        Ok(Self { api_key, profiles: profiles::default_path()?, dev: DevLogin::find() })
    }
}

// === impl DevLogin ===

impl DevLogin {
    fn find() -> Option<Self> {
        let here = std::env::current_dir().ok()?;
        here.ancestors().find_map(|folder| Self::read(&folder.join(DATA_FOLDER).join(DEV_LOGIN)))
    }

    /// Of a process that still runs, and written by the same user: a folder may be another's.
    fn read(path: &Path) -> Option<Self> {
        let owner = std::fs::metadata(path).ok()?.uid();
        let login: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let process = std::fs::metadata(format!("/proc/{}", login.process)).ok()?;
        (process.uid() == owner && owner == std::fs::metadata("/proc/self").ok()?.uid()).then_some(login)
    }
}

impl std::fmt::Debug for DevLogin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DevLogin").field("url", &self.url).finish_non_exhaustive()
    }
}

// === impl Connection ===

impl Connection {
    pub fn output(&self) -> Output {
        Output::of_process(self.json)
    }

    /// The client that flags, environment and profiles make together.
    pub fn open(&self) -> Result<Session, Error> {
        let output = self.output();
        let environment = Environment::read()?;
        if environment.api_key.is_none() && profiles::is_readable_by_others(&environment.profiles) {
            let path = environment.profiles.display();
            output.warn(&format!("others can read your keys; run `chmod 600 {path}`"));
        }
        Ok(Session { client: self.client(&environment)?, output })
    }

    pub(crate) fn client(&self, environment: &Environment) -> Result<Client, Error> {
        let given_key = environment.api_key.clone().map(Key::new);
        // With both given no profile is needed, not even a readable file.
        if let (Some(url), Some(key), None) = (&self.url, &given_key, &self.profile) {
            return Client::new(url, Some(key.clone()));
        }
        // `dev` in this folder is what is being worked with, whatever else there are logins for.
        if let (None, None, None, Some(dev)) = (&self.url, &given_key, &self.profile, &environment.dev) {
            return Client::new(&dev.url, Some(Key::new(&dev.api_key)));
        }
        let profiles = Profiles::read(&environment.profiles)?;
        let profile = profiles.choose(self.profile.as_deref())?.map(|(_, profile)| profile);
        let url = self.url.as_deref().or(profile.map(|profile| profile.url.as_str())).unwrap_or(DEFAULT_URL);
        let client = Client::new(url, None)?;
        // A kept key goes to the server it was made for and to no other.
        let kept =
            profile.filter(|profile| Client::new(&profile.url, None).is_ok_and(|home| home.url() == client.url()));
        Client::new(url, given_key.or_else(|| kept.map(|profile| Key::new(&profile.api_key))))
    }
}
