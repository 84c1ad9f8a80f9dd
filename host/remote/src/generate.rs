//! What is made from the command line's own description: completions, manual pages, the reference.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::error::Error;
use crate::output::{Output, talk};

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
    let mut text = String::from("# Commands\n\nWritten by `just generate` from the program's own help.\n");
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
