//! Accounts that a service grants: the page in a browser, or a code for another device, and waiting for the end.

use std::time::Duration;

use serde_json::{Value, json};

use super::print_connected;
use crate::ask::Ask;
use crate::client::path_segment;
use crate::error::Error;
use crate::find;
use crate::models::{Account, AccountTest, AccountUse, App, Connect};
use crate::output::Table;
use crate::output::table::{text, whole};
use crate::session::Session;

/// How often the server is asked whether the account is connected.
const POLL: Duration = Duration::from_secs(2);

/// How a user gets to the service.
#[derive(Debug, Default, clap::Args)]
pub struct Way {
    /// Print the address of the page instead of opening a browser
    #[arg(long)]
    no_browser: bool,
    /// Show a code to type in on another device, where the service has one
    #[arg(long)]
    device: bool,
    /// A scope to ask for, instead of those of the app; may be given several times
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// A value that the app needs, with --device: `subdomain=acme`
    #[arg(long = "field", value_name = "NAME=VALUE")]
    fields: Vec<String>,
    /// Print the link and do not wait for its end: to hand it on
    #[arg(long, conflicts_with = "device")]
    no_wait: bool,
}

#[derive(Debug, clap::Args)]
pub struct ClientArguments {
    /// The slug of the app
    app: String,
    /// The id that the service gave
    #[arg(long, required_unless_present = "delete")]
    client_id: Option<String>,
    /// A file with the client's secret; `-` is standard input. Without it the secret is asked for, and not shown
    #[arg(long, value_name = "FILE")]
    client_secret: Option<std::path::PathBuf>,
    /// A scope to ask for, instead of those of the app; may be given several times
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Delete it: new accounts are connected with the operator's client again
    #[arg(long)]
    delete: bool,
}

/// Whether the server has a page for the app; an older one, or an app that is known by name only, has none.
pub(super) async fn has_page(session: &Session, app: &App) -> bool {
    let found: Result<Value, Error> = session.client.get(&format!("apps/{}", app.name_slug)).await;
    found.is_ok_and(|found| {
        let has_fields = found.pointer("/provider/fields").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
        found.get("needs_client") == Some(&Value::Bool(true)) || has_fields
    })
}

pub(super) async fn connect(session: &Session, app: &str, name: Option<&str>, way: &Way) -> Result<(), Error> {
    run(session, json!({"app": app, "name": name}), way).await
}

pub(super) async fn reconnect(session: &Session, wanted: &str, way: &Way) -> Result<(), Error> {
    let account = account(session, wanted).await?;
    run(session, json!({"app": account.app, "account_id": account.id}), way).await
}

async fn run(session: &Session, mut wish: Value, way: &Way) -> Result<(), Error> {
    way.add_to(&mut wish)?;
    let begun: Connect = session.client.post("connects", &wish).await?;
    match (&begun.user_code, &begun.verification_uri, &begun.url) {
        (Some(code), Some(address), _) => {
            session.output.say(&format!("open {address} and type in"));
            session.output.line(code)?;
        }
        (_, _, Some(url)) if way.no_wait => {
            return if session.output.is_json { session.output.json(&begun) } else { session.output.line(url) };
        }
        (_, _, Some(url)) => {
            session.output.say(&format!("open this page within a quarter of an hour:\n{url}"));
            if !way.no_browser && !session.output.is_json {
                open(url);
            }
        }
        _ => {}
    }
    let account_id = wait(session, &begun.id).await?;
    let account: Account = session.client.get(&format!("accounts/{account_id}")).await?;
    print_connected(&session.output, &account)
}

/// Until the account is connected, or it is known why it is not.
#[expect(clippy::disallowed_methods, reason = "a pause between questions to a server")]
async fn wait(session: &Session, id: &str) -> Result<String, Error> {
    let progress = session.output.progress("waiting until it is connected");
    loop {
        let connect: Connect = session.client.get(&format!("connects/{id}")).await?;
        match (connect.state.as_str(), connect.account_id, connect.error) {
            ("connected", Some(account_id), _) => return Ok(account_id),
            ("failed", _, error) => {
                let message = error.map_or_else(|| "it is not known why".to_owned(), |error| error.message);
                return Err(Error::NotConnected { message });
            }
            _ => progress.set("waiting until it is connected"),
        }
        tokio::time::sleep(POLL).await;
    }
}

pub(super) async fn test(session: &Session, wanted: &str) -> Result<(), Error> {
    let account = account(session, wanted).await?;
    let tested: AccountTest = session.client.post(&format!("accounts/{}/test", account.id), &json!({})).await?;
    if session.output.is_json {
        session.output.json(&tested)?;
    } else {
        session.output.line(&tested.message)?;
    }
    if tested.ok { Ok(()) } else { Err(Error::AccountRefused { account: account.name }) }
}

pub(super) async fn rename(session: &Session, wanted: &str, name: &str) -> Result<(), Error> {
    let account = account(session, wanted).await?;
    let renamed: Account = session.client.put(&format!("accounts/{}", account.id), &json!({"name": name})).await?;
    if session.output.is_json {
        return session.output.json(&renamed);
    }
    session.output.say(&format!("{} is called {} now", account.name, renamed.name));
    Ok(())
}

pub(super) async fn uses(session: &Session, wanted: &str) -> Result<(), Error> {
    let account = account(session, wanted).await?;
    let uses: Vec<AccountUse> = session.client.get(&format!("accounts/{}/uses", account.id)).await?;
    let mut table = Table::new([whole("ID"), text("NAME")]);
    for used in &uses {
        table.row([used.id.clone(), used.name.clone()]);
    }
    super::super::list::print(&session.output, &uses, &table, "nothing uses this account")
}

pub(super) async fn client(session: &Session, wanted: &ClientArguments) -> Result<(), Error> {
    let path = format!("apps/{}/client", path_segment(&wanted.app)?);
    if wanted.delete {
        session.client.delete(&path, &[]).await?;
        return session.output.deleted(&wanted.app, "client");
    }
    let secret = secret(wanted.client_secret.as_deref())?;
    let scopes = (!wanted.scopes.is_empty()).then_some(&wanted.scopes);
    let body = json!({"client_id": wanted.client_id, "client_secret": secret, "scopes": scopes});
    let client: Value = session.client.put(&path, &body).await?;
    if session.output.is_json {
        return session.output.json(&client);
    }
    let address = client.get("redirect_uri").and_then(Value::as_str).unwrap_or_default();
    session.output.say(&format!("accounts of {} are connected with your client from now on", wanted.app));
    session.output.hint(&format!("register this address with the service: {address}"));
    Ok(())
}

/// The secret of a client: of a file, or typed in. Empty for a public client.
pub fn secret(path: Option<&std::path::Path>) -> Result<String, Error> {
    let Some(path) = path else {
        let hint = "give it with --client-secret FILE, or --client-secret - and standard input";
        let person = crate::ask::person().ok_or(Error::NoTerminal { hint })?;
        return person.secret("Secret of the client", true);
    };
    let read = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    let text = read.map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })?;
    Ok(text.trim().to_owned())
}

async fn account(session: &Session, wanted: &str) -> Result<Account, Error> {
    find::pick(session.client.all("users/me/accounts").await?, wanted)
}

/// Best effort: the address was printed as well.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let _ = std::process::Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}

// === impl Way ===

impl Way {
    fn add_to(&self, wish: &mut Value) -> Result<(), Error> {
        let mut fields = serde_json::Map::new();
        for field in &self.fields {
            let (name, value) = field.split_once('=').ok_or_else(|| Error::MalformedField { given: field.clone() })?;
            fields.insert(name.to_owned(), value.into());
        }
        if let Some(wish) = wish.as_object_mut() {
            if !self.scopes.is_empty() {
                wish.insert("scopes".to_owned(), json!(self.scopes));
            }
            if self.device {
                wish.insert("device".to_owned(), true.into());
                wish.insert("fields".to_owned(), fields.into());
            }
        }
        Ok(())
    }
}
