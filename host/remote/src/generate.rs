//! Generates completions, manual pages and the reference from the description of the command line.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::error::Error;
use crate::output::{Output, talk};

/// What holds for every command.
const HEAD: &str = "# Commands

Written by `just generate` from the program's own help. `wellspring man FOLDER` writes the same as manual pages,
`wellspring completions SHELL` completes it in bash, zsh, fish, elvish and PowerShell, in the first three also names of sources,
workflows and what else is on the server. `cargo build --release -p remote` builds
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
    let script = String::from_utf8_lossy(&script).trim_end().to_owned();
    Output::of_process(false).line(&with_names(arguments.shell, script))
}

/// Completions that also ask the server for the names of sources, workflows and whatever else a place takes.
fn with_names(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => format!("{script}\n\n{BASH_NAMES}"),
        Shell::Fish => format!("{script}\n{FISH_NAMES}"),
        // The last lines call the function, or say what completes the command.
        Shell::Zsh => match script.rsplit_once("if [ \"$funcstack[1]\"") {
            Some((functions, _)) => format!("{functions}{ZSH_NAMES}"),
            None => script,
        },
        _ => script,
    }
}

const BASH_NAMES: &str = r#"_wellspring_with_names() {
    local word=${COMP_WORDS[COMP_CWORD]} name
    local -a names=()
    if [[ $word != -* ]]; then
        while IFS= read -r name; do
            [[ $name == "$word"* ]] && names+=("$(printf %q "$name")")
        done < <("${COMP_WORDS[0]}" names -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2> /dev/null)
    fi
    if [[ ${#names[@]} -gt 0 ]]; then
        COMPREPLY=("${names[@]}")
    else
        _wellspring "$@"
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _wellspring_with_names -o nosort -o bashdefault -o default wellspring
else
    complete -F _wellspring_with_names -o bashdefault -o default wellspring
fi"#;

const ZSH_NAMES: &str = r#"_wellspring_with_names() {
    local -a names
    if [[ ${words[CURRENT]} != -* ]]; then
        names=(${(f)"$(${words[1]} names -- "${(@)words[2,CURRENT-1]}" 2> /dev/null)"})
    fi
    if (( $#names )); then
        compadd -a names
    else
        _wellspring "$@"
    fi
}

compdef _wellspring_with_names wellspring
if [ "$funcstack[1]" = "_wellspring" ]; then
    _wellspring_with_names "$@"
fi"#;

const FISH_NAMES: &str = "complete -c wellspring -f -n 'not string match -q -- \"-*\" (commandline -ct)' -a '(wellspring names -- (commandline -opc)[2..] 2> /dev/null)'";

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
