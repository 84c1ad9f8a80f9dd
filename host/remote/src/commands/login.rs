//! `login` and `logout`: profiles that are kept.

use std::io::IsTerminal;

use crate::ask::{self, Ask};
use crate::client::{Client, Key, is_on_this_machine};
use crate::error::Error;
use crate::models::User;
use crate::output::{Output, talk};
use crate::profiles::{self, Profile, Profiles};
use crate::session::DEFAULT_URL;

#[derive(Debug, clap::Args)]
pub struct LoginArguments {
    /// Where the server is
    #[arg(long, value_name = "URL", env = "WELLSPRING_URL", hide_env_values = true, default_value = DEFAULT_URL)]
    url: String,
    /// Keep it under this name; it becomes the current one
    #[arg(long, value_name = "NAME", env = "WELLSPRING_PROFILE", hide_env_values = true)]
    #[arg(default_value = profiles::DEFAULT)]
    profile: String,
}

#[derive(Debug, clap::Args)]
pub struct LogoutArguments {
    /// Which one to forget; the current one when absent
    #[arg(long, value_name = "NAME", env = "WELLSPRING_PROFILE", hide_env_values = true)]
    profile: Option<String>,
}

/// The key comes from WELLSPRING_API_KEY, from a person, or from standard input: never from a flag, which others see.
pub(super) async fn login(arguments: &LoginArguments) -> Result<(), Error> {
    let path = profiles::default_path()?;
    let mut profiles = Profiles::read(&path)?;
    warn_of_plain_text(&arguments.url);
    let key = read_key()?;
    let client = Client::new(&arguments.url, Some(Key::new(&key)))?;
    let user: User = client.get("users/me").await?;
    let profile = Profile { url: client.url().to_owned(), api_key: key };
    profiles.profiles.insert(arguments.profile.clone(), profile);
    profiles.current = Some(arguments.profile.clone());
    profiles.write(&path)?;
    talk(&format!("logged in to {} as {} (profile {})", client.url(), user.username, arguments.profile));
    match client.server_version().await {
        Some(server) if server != env!("CARGO_PKG_VERSION") => {
            talk(&format!("warning: the server is version {server}, this is {}", env!("CARGO_PKG_VERSION")));
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn logout(arguments: &LogoutArguments) -> Result<(), Error> {
    let path = profiles::default_path()?;
    let mut profiles = Profiles::read(&path)?;
    let Some((name, _)) = profiles.choose(arguments.profile.as_deref())? else {
        talk("there is no login to forget");
        return Ok(());
    };
    let name = name.to_owned();
    profiles.profiles.remove(&name);
    if profiles.current.as_ref() == Some(&name) {
        profiles.current = None;
    }
    profiles.write(&path)?;
    talk(&format!("forgot the login {name}; its API key is still valid until it is revoked"));
    Ok(())
}

fn read_key() -> Result<String, Error> {
    let given = std::env::var("WELLSPRING_API_KEY").ok().filter(|key| !key.is_empty());
    if let Some(key) = given {
        return Ok(key);
    }
    if let Some(person) = ask::person() {
        return person.secret("API key", false).map(|key| key.trim().to_owned());
    }
    let no_key = Error::NoTerminal { hint: "set WELLSPRING_API_KEY, or pipe the key into `wellspring login`" };
    if std::io::stdin().is_terminal() {
        return Err(no_key);
    }
    let text = std::io::read_to_string(std::io::stdin().lock()).map_err(|source| Error::Output { source })?;
    let key = text.trim().to_owned();
    if key.is_empty() { Err(no_key) } else { Ok(key) }
}

fn warn_of_plain_text(url: &str) {
    let Ok(parsed) = url::Url::parse(url) else { return };
    if parsed.scheme() == "http" && !is_on_this_machine(&parsed) {
        Output::of_process(false).warn("the key travels unencrypted; use https for a server elsewhere");
    }
}
