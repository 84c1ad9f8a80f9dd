//! `wellspring users`: who may use this server, and how much of it.

use std::process::ExitCode;

use anyhow::{Context, Result};
use remote::Output;
use remote::audit::Wanted;
use remote::models::AuditEntry;
use remote::output::table::{text, whole};
use remote::output::{Table, ago, utc_day};
use remote::spans::Span;
use serde_json::{Map, Value, json};

use super::{Common, OperatorClient, confirm, text_of};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List all users
    List,
    /// Create a user and print their API key, which is shown this once
    Create {
        username: String,
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        #[arg(long, value_parser = ["admin", "member"])]
        role: Option<String>,
        #[command(flatten)]
        quotas: Quotas,
    },
    /// Change a user's role, plan or quotas; what is not given stays
    Set {
        /// A name or an id
        user: String,
        #[arg(long, value_parser = ["admin", "member"])]
        role: Option<String>,
        #[arg(long, value_parser = ["free", "paid"])]
        plan: Option<String>,
        #[command(flatten)]
        quotas: Quotas,
    },
    /// Make a further API key for a user and print it, such as when theirs is lost
    NewKey {
        /// A name or an id
        user: String,
        /// What to call it
        #[arg(long)]
        name: Option<String>,
        /// What it may do; everything that the user may, without it
        #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', value_parser = ["read", "write", "deploy", "admin"])]
        scopes: Vec<String>,
        /// How long it is valid: `12h`, `30d`, `8w`; without end, without it
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
    },
    /// Show the audit log of all users, or of one: what was changed, by whom, from where, and how it ended
    Audit {
        /// A name or an id
        user: Option<String>,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Delete a user with their sources, events, accounts and everything else; no hooks run
    Delete {
        /// A name or an id
        user: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(clap::Args)]
struct Quotas {
    /// Compute time a day, in milliseconds
    #[arg(long, value_name = "MS")]
    daily_compute_time_quota: Option<u64>,
    /// Invocations a day
    #[arg(long, value_name = "COUNT")]
    daily_invocations_quota: Option<u64>,
}

pub(crate) async fn run(Arguments { common, command }: Arguments) -> Result<ExitCode> {
    let (client, output) = (common.open().await?, common.output());
    match command {
        Command::List => list(&client, &output).await?,
        Command::Create { username, email, role, quotas } => {
            let wish = fields([("username", Some(username)), ("email", Some(email)), ("role", role)], &quotas);
            print_key(&output, &client.post("/v1/admin/users", wish).await?)?;
        }
        Command::Set { user, role, plan, quotas } => {
            let path = path_of(&client, &user).await?;
            let changed = client.put(&path, fields([("role", role), ("plan", plan)], &quotas)).await?;
            print_users(&output, &[changed])?;
        }
        Command::NewKey { user, name, scopes, expires } => {
            let path = format!("{}/keys", path_of(&client, &user).await?);
            let wish = remote::keys::wish(name.as_deref(), &scopes, expires);
            print_key(&output, &client.post(&path, wish).await?)?;
        }
        Command::Audit { user, wanted } => audit(&client, &output, user.as_deref(), &wanted).await?,
        Command::Delete { user, yes } => {
            let path = path_of(&client, &user).await?;
            confirm(&format!("Delete {user} with everything they have?"), yes)?;
            client.delete(&path).await?;
            output.say(match client.has_server() {
                true => "deleted; their data is being cleared",
                false => "deleted; their data is cleared when a server runs",
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(client: &OperatorClient, output: &Output) -> Result<()> {
    print_users(output, &client.list("/v1/admin/users").await?)
}

async fn audit(client: &OperatorClient, output: &Output, user: Option<&str>, wanted: &Wanted) -> Result<()> {
    let of_user = match user {
        Some(user) => format!("&user_id={}", path_of(client, user).await?.trim_start_matches("/v1/admin/users/")),
        None => String::new(),
    };
    let mut entries: Vec<AuditEntry> = Vec::new();
    loop {
        let after = entries.last().map_or_else(String::new, |entry| format!("&after={}", entry.id));
        let path = format!("/v1/admin/audit?limit={}{of_user}{after}", wanted.page_size());
        let page = serde_json::from_value(client.get(&path).await?)?;
        if !wanted.take(&mut entries, page) {
            return Ok(remote::audit::print(output, &entries)?);
        }
    }
}

/// The path of a user that is given by name or id.
async fn path_of(client: &OperatorClient, user: &str) -> Result<String> {
    let users = client.list("/v1/admin/users").await?;
    let is_meant = |known: &&Value| {
        text_of(known, "id") == user || text_of(known, "username").to_lowercase() == user.to_lowercase()
    };
    let found = users.iter().find(is_meant).with_context(|| format!("there is no user `{user}`"))?;
    Ok(format!("/v1/admin/users/{}", text_of(found, "id")))
}

fn fields<const N: usize>(texts: [(&str, Option<String>); N], quotas: &Quotas) -> Value {
    let numbers = [
        ("daily_compute_time_quota", quotas.daily_compute_time_quota),
        ("daily_invocations_quota", quotas.daily_invocations_quota),
    ];
    let mut wish = Map::new();
    wish.extend(texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text?)))));
    wish.extend(numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), json!(number?)))));
    Value::Object(wish)
}

/// The key alone is data; what it is for is talk.
fn print_key(output: &Output, made: &Value) -> Result<()> {
    if output.is_json {
        return Ok(output.json(made)?);
    }
    output.say("the key is shown only now");
    Ok(output.line(&text_of(made, "api_key"))?)
}

fn print_users(output: &Output, users: &[Value]) -> Result<()> {
    if output.is_json {
        return Ok(output.json(&users)?);
    }
    let mut table = Table::new([
        whole("ID"),
        text("USERNAME"),
        text("EMAIL"),
        whole("ROLE"),
        whole("PLAN"),
        whole("INVOCATIONS/DAY"),
        whole("COMPUTE MS/DAY"),
        whole("BILLING PERIOD"),
        whole("CREATED"),
    ]);
    for user in users {
        // On a paid plan invocations are counted, and no quota stops them.
        let quota = |name: &str| {
            let quota = user.pointer(&format!("/quotas/{name}")).and_then(Value::as_u64);
            quota.map_or_else(|| "-".to_owned(), |quota| quota.to_string())
        };
        let created = user.get("created_at").and_then(Value::as_i64).map(ago).unwrap_or_default();
        table.row([
            text_of(user, "id"),
            text_of(user, "username"),
            text_of(user, "email"),
            text_of(user, "role"),
            text_of(user, "plan"),
            quota("daily_invocations"),
            quota("daily_compute_ms"),
            period_of(user),
            created,
        ]);
    }
    Ok(output.table(&table)?)
}

/// The days of a paid plan's period, and what was invoked in it.
fn period_of(user: &Value) -> String {
    let number = |name: &str| user.get(name).and_then(Value::as_i64);
    let day = |name: &str| Some(utc_day(number(name)? / 1000));
    match (day("period_start_ms"), day("period_end_ms"), number("period_invocations")) {
        (Some(start), Some(end), Some(invocations)) => format!("{start} to {end}: {invocations}"),
        _ => "-".to_owned(),
    }
}
