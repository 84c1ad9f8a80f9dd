//! `wellspring-client`: the commands against a server, without the server.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// The commands of Wellspring that talk to a server.
#[derive(Parser)]
#[command(name = "wellspring", bin_name = "wellspring", version, max_term_width = 100, after_help = remote::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Remote(Box<remote::Command>),
    /// Run a source or an action once, by hand
    Run(remote::run::RunArguments),
    /// Connect accounts of apps, and list and delete them
    Accounts(remote::accounts::AccountsArguments),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Remote(command) => remote::execute(*command, Arguments::command()).await,
        Command::Run(arguments) => remote::run::execute(arguments).await,
        Command::Accounts(arguments) => remote::accounts::execute(arguments).await,
    }
}
