//! `accounts`: credentials for apps. They are taken in, and never given out.

mod connecting;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use async_recursion::async_recursion as boxed;
use serde_json::{Map, Value, json};

pub use self::connecting::secret;
use self::connecting::{ClientArguments, Way};
use super::list;
use crate::ask::{self, Ask};
use crate::error::Error;
use crate::find;
use crate::models::{Account, App};
use crate::output::table::{text, whole};
use crate::output::{Output, Table, ago};
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
pub struct AccountsArguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the connected accounts (what `accounts` alone does)
    List,
    /// Connect an account of an app: opens its page in the browser, and waits until it is connected
    Connect(ConnectArguments),
    /// Connect an account again: it keeps its id, and the sources that use it go on
    Reconnect {
        /// The id or name of an account
        account: String,
        #[command(flatten)]
        way: Way,
    },
    /// Try the credentials of an account at its service
    Test {
        /// The id or name of an account
        account: String,
    },
    /// Rename an account
    Rename {
        /// The id or name of an account
        account: String,
        /// Its new name
        name: String,
    },
    /// List what uses an account, and would break without it
    Uses {
        /// The id or name of an account
        account: String,
    },
    /// Bring your own client of an app, which new accounts are connected with
    Client(ClientArguments),
    /// Delete connected accounts that no source uses
    Delete {
        /// The ids or names of accounts
        #[arg(required = true)]
        accounts: Vec<String>,
        #[command(flatten)]
        manner: DeleteOptions,
    },
}

#[derive(Debug, clap::Args)]
pub struct ConnectArguments {
    /// The slug of the app: `wellspring list apps` shows them
    pub app: String,
    /// For you to recognise it [default: the name of the app]
    #[arg(long)]
    name: Option<String>,
    /// Give the credentials here instead: a file with a JSON object of strings; `-` is standard input
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    #[command(flatten)]
    way: Way,
}

/// Options of a deletion.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DeleteOptions {
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Delete it although sources use it: their runs then fail, and say why
    #[arg(long)]
    pub force: bool,
}

#[boxed(?Send)]
pub async fn execute(arguments: AccountsArguments) -> ExitCode {
    let is_json = arguments.connection.json;
    crate::finish(crate::until_interrupted(run(&arguments)).await, is_json)
}

async fn run(arguments: &AccountsArguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    match &arguments.command {
        None | Some(Command::List) => list(&session).await,
        Some(Command::Connect(wanted)) => connect(&session, wanted).await,
        Some(Command::Reconnect { account, way }) => connecting::reconnect(&session, account, way).await,
        Some(Command::Test { account }) => connecting::test(&session, account).await,
        Some(Command::Rename { account, name }) => connecting::rename(&session, account, name).await,
        Some(Command::Uses { account }) => connecting::uses(&session, account).await,
        Some(Command::Client(client)) => connecting::client(&session, client).await,
        Some(Command::Delete { accounts, manner }) => delete(&session, accounts, *manner).await,
    }
}

pub(super) async fn list(session: &Session) -> Result<(), Error> {
    print(&session.output, &session.client.all("users/me/accounts").await?)
}

async fn connect(session: &Session, wanted: &ConnectArguments) -> Result<(), Error> {
    // Before the user types a secret.
    let app = find::app(&session.client, &wanted.app).await?;
    if wanted.credentials.is_none() && connecting::has_page(session, &app).await {
        return connecting::connect(session, &wanted.app, wanted.name.as_deref(), &wanted.way).await;
    }
    let account: Account = session.client.post("accounts", &wanted.body(Some(&app))?).await?;
    print_connected(&session.output, &account)
}

async fn delete(session: &Session, wanted: &[String], manner: DeleteOptions) -> Result<(), Error> {
    let all: Vec<Account> = session.client.all("users/me/accounts").await?;
    let accounts = choose(&all, wanted)?;
    manner.confirm(&accounts)?;
    let query: &[(&str, &str)] = if manner.force { &[("force", "true")] } else { &[] };
    for account in accounts {
        session.client.delete(&format!("accounts/{}", account.id), query).await?;
        session.output.deleted(&account.id, &account.name)?;
    }
    Ok(())
}

/// Those that were named, all of them or none.
pub fn choose(all: &[Account], wanted: &[String]) -> Result<Vec<Account>, Error> {
    wanted.iter().map(|wanted| find::pick(all.to_vec(), wanted)).collect()
}

pub fn print(output: &Output, accounts: &[Account]) -> Result<(), Error> {
    let mut table = Table::new([whole("ID"), whole("APP"), text("NAME"), whole("STATE"), whole("CREATED")]);
    for account in accounts {
        let (id, app, name) = (account.id.clone(), account.app.clone(), account.name.clone());
        table.row([id, app, name, account.state.clone(), ago(account.created_at)]);
    }
    list::print(output, accounts, &table, "there are no accounts; `wellspring accounts connect` connects one")
}

pub fn print_connected(output: &Output, account: &Account) -> Result<(), Error> {
    if output.is_json {
        return output.json(account);
    }
    output.say(&format!("connected {} of {}", account.name, account.app));
    output.line(&account.id)?;
    output.hint(&format!("wellspring deploy FILE --prop PROP={}", account.id));
    Ok(())
}

// === impl DeleteOptions ===

impl DeleteOptions {
    pub fn confirm(self, accounts: &[Account]) -> Result<(), Error> {
        if self.yes {
            return Ok(());
        }
        let names: Vec<&str> = accounts.iter().map(|account| account.name.as_str()).collect();
        let outcome = if self.force { " Runs of sources that use it fail from then on." } else { "" };
        ask::confirm(&format!("Delete the account {}?{outcome}", names.join(", ")))
    }
}

// === impl ConnectArguments ===

impl ConnectArguments {
    /// What the API is sent, with the credentials read or asked for.
    pub fn body(&self, app: Option<&App>) -> Result<Value, Error> {
        let credentials = match &self.credentials {
            Some(path) => read(path)?,
            None => {
                let hint = "give them with --credentials FILE, or --credentials - and standard input";
                ask_for(&ask::person().ok_or(Error::NoTerminal { hint })?, app)?
            }
        };
        Ok(json!({"app": self.app, "name": self.name, "credentials": credentials}))
    }
}

fn read(path: &Path) -> Result<Map<String, Value>, Error> {
    let read = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    let text = read.map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })?;
    // Without the cause, which would show a piece of them.
    let credentials: Map<String, Value> = serde_json::from_str(&text).map_err(|_| Error::MalformedCredentials)?;
    match credentials.values().all(Value::is_string) {
        true => Ok(credentials),
        false => Err(Error::MalformedCredentials),
    }
}

/// One credential after the other, by name. What components read is up to the app; the usual name is proposed.
fn ask_for(person: &dyn Ask, app: Option<&App>) -> Result<Map<String, Value>, Error> {
    let usual = match app.map(|app| app.auth_type.as_str()) {
        Some("oauth") => "oauth_access_token",
        _ => "api_key",
    };
    let mut credentials = Map::new();
    let mut name = person.text("Name of the credential", Some(usual), false)?;
    while !name.is_empty() {
        let secret = person.secret(&format!("Value of {name}"), false)?;
        credentials.insert(name, secret.into());
        name = person.text("Name of another one (none: Enter)", None, true)?;
    }
    Ok(credentials)
}

#[cfg(test)]
mod tests;
