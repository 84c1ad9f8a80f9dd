//! Generates completions, manual pages and the reference from the description of the command line.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::error::Error;
use crate::output::{Output, talk};

/// What holds for every command.
const HEAD: &str = "# Commands

Written by `just generate` from the program's own help. `wellspring man FOLDER` writes the same as manual pages,
`wellspring completions SHELL` completes it in bash, zsh, fish, elvish and PowerShell. `cargo build --release -p remote` builds
`wellspring-client`: the commands that talk to a server, without the server.

**Which server.** `--url`, else `WELLSPRING_URL`, else the login of `--profile` or `WELLSPRING_PROFILE`, else the last login, else
`http://127.0.0.1:7717`. **Which key.** `WELLSPRING_API_KEY`, else that of the login, if the login is for this server. Logins are in
`$XDG_CONFIG_HOME/wellspring/profiles.toml` (`~/.config` when it is not set), readable by you alone.

**Names.** Sources go by id, slug or name; components by id, key or name; webhooks by id, name or address. A typo gets a suggestion,
never a guess.

**Output.** Data is on standard output, talk on standard error. `--json` prints JSON instead: a document, or a line for each event
with `events` and `logs`; errors are then JSON too, on standard error. Colours and cut lines are for terminals (`NO_COLOR` and
`COLUMNS` are heard); without one nothing is cut and nothing is asked.

| exit code | |
|---|---|
| 0 | done |
| 1 | failed, or refused by the server |
| 2 | wrong usage: an unknown option, a prop that is missing or does not fit, a confirmation without a terminal to ask on |
| 130 | interrupted, which is also how following ends |
";

#[derive(Debug, clap::Args)]
pub struct CompletionsArguments {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub struct ManArguments {
    /// Where to write them; made if it is not there
    folder: PathBuf,
}

pub(crate) fn completions(arguments: &CompletionsArguments, mut whole: clap::Command) -> Result<(), Error> {
    let name = whole.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut whole, name, &mut script);
    Output::of_process(false).line(String::from_utf8_lossy(&script).trim_end())
}

pub(crate) fn man(arguments: &ManArguments, whole: &clap::Command) -> Result<(), Error> {
    let failed = |source| Error::File { verb: "write", path: arguments.folder.clone(), source };
    std::fs::create_dir_all(&arguments.folder).map_err(failed)?;
    clap_mangen::generate_to(whole.clone(), &arguments.folder).map_err(failed)?;
    talk(&format!("wrote the manual to {}; read it with `man -M` or `man ./FILE`", arguments.folder.display()));
    Ok(())
}

pub(crate) fn print_reference(whole: clap::Command) -> Result<(), Error> {
    Output::of_process(false).line(reference(whole).trim_end())
}

/// The help of every command, as Markdown.
pub(crate) fn reference(mut whole: clap::Command) -> String {
    whole.build();
    let mut text = HEAD.to_owned();
    section(&mut text, &mut whole);
    text
}

fn section(text: &mut String, command: &mut clap::Command) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    // As wide on every terminal.
    let help = command.clone().term_width(100).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    // Writing to a string does not fail.
    let _ = write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim());
    for subcommand in command.get_subcommands_mut() {
        if !subcommand.is_hide_set() && subcommand.get_name() != "help" {
            section(text, subcommand);
        }
    }
}
