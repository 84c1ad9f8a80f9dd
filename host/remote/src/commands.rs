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

use std::pin::Pin;

use crate::error::Error;
use crate::generate;

pub use events::print_event;
pub use logs::print_log_event;
#[cfg(test)]
pub(crate) use workflows::template as workflow_template;

/// What a command does.
type Work<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

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
        // Each on the heap: in one future all of them together would be the longest function of the program, by far.
        let work: Work<'_> = match &self {
            Self::Init(arguments) => return init::run(arguments),
            Self::Login(arguments) => Box::pin(login::login(arguments)),
            Self::Logout(arguments) => return login::logout(arguments),
            Self::Whoami(arguments) => Box::pin(whoami::run(arguments)),
            Self::Keys(arguments) => Box::pin(keys::run(arguments)),
            Self::Audit(arguments) => Box::pin(audit::run(arguments)),
            Self::Deploy(arguments) => Box::pin(deploy::run(arguments)),
            Self::Apply(arguments) => Box::pin(apply::run(arguments)),
            Self::Update(arguments) => Box::pin(update::run(arguments)),
            Self::History(arguments) => Box::pin(history::run(arguments)),
            Self::Rollback(arguments) => Box::pin(rollback::run(arguments)),
            Self::Delete(arguments) => Box::pin(delete::run(arguments)),
            Self::List(arguments) => Box::pin(list::run(arguments)),
            Self::Describe(arguments) => Box::pin(describe::run(arguments)),
            Self::Events(arguments) => Box::pin(events::run(arguments)),
            Self::Logs(arguments) => Box::pin(logs::run(arguments)),
            Self::Runs(arguments) => Box::pin(runs::run(arguments)),
            Self::Replay(arguments) => Box::pin(replay::run(arguments)),
            Self::Db(arguments) => Box::pin(db::run(arguments)),
            Self::DataStores(arguments) => Box::pin(data_stores::run(arguments)),
            Self::Publish(arguments) => Box::pin(publish::publish(arguments)),
            Self::Unpublish(arguments) => Box::pin(publish::unpublish(arguments)),
            Self::Components(arguments) => Box::pin(components::run(arguments)),
            Self::Workflows(arguments) => Box::pin(workflows::run(arguments)),
            Self::Subscribe(arguments) => Box::pin(subscribe::subscribe(arguments)),
            Self::Unsubscribe(arguments) => Box::pin(subscribe::unsubscribe(arguments)),
            Self::Webhooks(arguments) => Box::pin(webhooks::run(arguments)),
            Self::Deliveries(arguments) => Box::pin(deliveries::run(arguments)),
            Self::Completions(arguments) => return generate::completions(arguments, whole),
            Self::Man(arguments) => return generate::man(arguments, &whole),
            Self::Names(arguments) => Box::pin(names::run(arguments, whole)),
            Self::Reference => return generate::print_reference(whole),
        };
        work.await
    }
}
