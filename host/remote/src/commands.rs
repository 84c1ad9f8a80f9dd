//! The commands, one file each: its arguments and what it does.

pub mod accounts;
mod apply;
pub mod audit;
mod components;
mod data_stores;
mod db;
mod delete;
mod deliveries;
mod deploy;
mod describe;
mod events;
mod history;
mod init;
pub mod keys;
mod list;
mod login;
mod logs;
mod names;
mod publish;
mod replay;
mod rollback;
pub mod run;
mod runs;
mod subscribe;
mod update;
mod webhooks;
mod whoami;
mod workflows;

use crate::error::Error;
use crate::generate;

pub use events::print_event;
pub use logs::print_log_event;
#[cfg(test)]
pub(crate) use workflows::template as workflow_template;

/// Everything that talks to a server, and what helps with it.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Write a new component, with type definitions so that an editor completes it
    Init(init::Arguments),
    /// Keep a server's address and your API key, so that commands need neither
    Login(login::LoginArguments),
    /// Forget a login
    Logout(login::LogoutArguments),
    /// Show which user you are at which server, and what is used of your quotas
    Whoami(whoami::Arguments),
    /// List your API keys, make, rename and revoke them
    Keys(keys::Arguments),
    /// Show what was changed in your account, by which key, from where, and how it ended
    Audit(audit::Arguments),
    /// Deploy a source from a file, an address, or a saved or published component; again, to update it
    Deploy(deploy::Arguments),
    /// Make the server match a folder: show what would change, then deploy, update and delete
    Apply(apply::Arguments),
    /// Change a source: its code, its name, its props, whether it is active
    Update(update::Arguments),
    /// List the versions of a source: what it runs, and what it can be rolled back to
    History(history::Arguments),
    /// Go back to the code and props of an earlier version of a source
    Rollback(rollback::Arguments),
    /// Delete sources and components
    Delete(delete::Arguments),
    /// List sources, components, the registry, webhooks, streams, accounts and more
    List(list::Arguments),
    /// Show a source, component, webhook or subscription
    Describe(describe::Arguments),
    /// Show the last events of a source, and follow it
    Events(events::Arguments),
    /// Show the log of a source, and follow it
    Logs(logs::Arguments),
    /// Show what ran, what it did and how it ended, and follow it
    Runs(runs::Arguments),
    /// Run a recorded run again on what it was answered then, without effects, and compare
    Replay(replay::Arguments),
    /// List, read, set and clear what a source keeps between its runs
    Db(db::Arguments),
    /// Make data stores that sources and workflows share, and change what is in them
    DataStores(data_stores::Arguments),
    /// Save a component, to deploy or run it later
    Publish(publish::PublishArguments),
    /// Take a component out of the registry
    Unpublish(publish::UnpublishArguments),
    /// List your components, and delete them
    Components(components::Arguments),
    /// Deploy workflows from documents, run them, and look at their runs
    Workflows(workflows::Arguments),
    /// Send the events of an emitter to a listener
    Subscribe(subscribe::SubscribeArguments),
    /// End a subscription
    Unsubscribe(subscribe::UnsubscribeArguments),
    /// List, create, change and delete webhooks
    Webhooks(webhooks::Arguments),
    /// List deliveries that were given up, and deliver them again
    Deliveries(deliveries::Arguments),
    /// Print completions for a shell
    Completions(generate::CompletionsArguments),
    /// Write the manual pages
    Man(generate::ManArguments),
    /// Print what can stand at a place of a command line: completions ask for it
    #[command(hide = true)]
    Names(names::Arguments),
    /// Print the reference of all commands as Markdown
    #[command(hide = true)]
    Reference,
}

// === impl Command ===

impl Command {
    /// Whether errors are to be printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Self::Whoami(arguments) => arguments.connection.json,
            Self::Keys(arguments) => arguments.connection.json,
            Self::Audit(arguments) => arguments.connection.json,
            Self::Deploy(arguments) => arguments.connection.json,
            Self::Apply(arguments) => arguments.connection.json,
            Self::Update(arguments) => arguments.connection.json,
            Self::History(arguments) => arguments.connection.json,
            Self::Rollback(arguments) => arguments.connection.json,
            Self::Delete(arguments) => arguments.connection.json,
            Self::List(arguments) => arguments.connection.json,
            Self::Describe(arguments) => arguments.connection.json,
            Self::Events(arguments) => arguments.connection.json,
            Self::Logs(arguments) => arguments.connection.json,
            Self::Runs(arguments) => arguments.connection.json,
            Self::Replay(arguments) => arguments.connection.json,
            Self::Db(arguments) => arguments.connection.json,
            Self::DataStores(arguments) => arguments.connection.json,
            Self::Publish(arguments) => arguments.connection.json,
            Self::Unpublish(arguments) => arguments.connection.json,
            Self::Components(arguments) => arguments.connection.json,
            Self::Workflows(arguments) => arguments.connection.json,
            Self::Subscribe(arguments) => arguments.connection.json,
            Self::Unsubscribe(arguments) => arguments.connection.json,
            Self::Webhooks(arguments) => arguments.connection.json,
            Self::Deliveries(arguments) => arguments.connection.json,
            Self::Login(_) | Self::Logout(_) | Self::Init(_) => false,
            Self::Completions(_) | Self::Man(_) | Self::Names(_) | Self::Reference => false,
        }
    }

    /// `whole` is the command line this is part of.
    pub(crate) async fn run(self, whole: clap::Command) -> Result<(), Error> {
        match self {
            Self::Init(arguments) => init::run(&arguments),
            Self::Login(arguments) => login::login(&arguments).await,
            Self::Logout(arguments) => login::logout(&arguments),
            Self::Whoami(arguments) => whoami::run(&arguments).await,
            Self::Keys(arguments) => keys::run(&arguments).await,
            Self::Audit(arguments) => audit::run(&arguments).await,
            Self::Deploy(arguments) => deploy::run(&arguments).await,
            Self::Apply(arguments) => apply::run(&arguments).await,
            Self::Update(arguments) => update::run(&arguments).await,
            Self::History(arguments) => history::run(&arguments).await,
            Self::Rollback(arguments) => rollback::run(&arguments).await,
            Self::Delete(arguments) => delete::run(&arguments).await,
            Self::List(arguments) => list::run(&arguments).await,
            Self::Describe(arguments) => describe::run(&arguments).await,
            Self::Events(arguments) => events::run(&arguments).await,
            Self::Logs(arguments) => logs::run(&arguments).await,
            Self::Runs(arguments) => runs::run(&arguments).await,
            Self::Replay(arguments) => replay::run(&arguments).await,
            Self::Db(arguments) => db::run(&arguments).await,
            Self::DataStores(arguments) => data_stores::run(&arguments).await,
            Self::Publish(arguments) => publish::publish(&arguments).await,
            Self::Unpublish(arguments) => publish::unpublish(&arguments).await,
            Self::Components(arguments) => components::run(&arguments).await,
            Self::Workflows(arguments) => workflows::run(&arguments).await,
            Self::Subscribe(arguments) => subscribe::subscribe(&arguments).await,
            Self::Unsubscribe(arguments) => subscribe::unsubscribe(&arguments).await,
            Self::Webhooks(arguments) => webhooks::run(&arguments).await,
            Self::Deliveries(arguments) => deliveries::run(&arguments).await,
            Self::Completions(arguments) => generate::completions(&arguments, whole),
            Self::Man(arguments) => generate::man(&arguments, &whole),
            Self::Names(arguments) => names::run(&arguments, whole).await,
            Self::Reference => generate::print_reference(whole),
        }
    }
}
