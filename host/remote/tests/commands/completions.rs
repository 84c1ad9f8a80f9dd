//! Completions, as the shells themselves give them: `tests/run.sh` installs zsh and fish.

use std::process::Command;

use crate::client::{BINARY, Machine};
use crate::world::account;

/// A shell that completes names of the server, and how it is asked what it offers for a line.
struct Shell {
    name: &'static str,
    offered: fn(&Machine, &str) -> Vec<String>,
}

const SHELLS: [Shell; 3] = [
    Shell { name: "bash", offered: in_bash },
    Shell { name: "zsh", offered: in_zsh },
    Shell { name: "fish", offered: in_fish },
];

/// Asks zsh on a terminal of its own, because completion is a part of its line editor: what `compadd` is given and matches. The
/// script is found as it is installed, in a folder of functions.
const ASK_ZSH: &str = r#"zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT= fpath=($PWD $fpath); autoload -Uz compinit && compinit -u -D
compadd() {
  [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] || { local -a hits; builtin compadd -A hits "$@"; print -rl -- $hits >> offered }
  builtin compadd "$@"
}
ask() { zle complete-word; print -r -- "asked:$((1 + 1))" }
zle -N ask; bindkey "^I" ask; print "ready:$((1 + 1))"'
zpty -r shell said '*ready:2*'
zpty -w -n shell "$1"$'\t'
zpty -r shell said '*asked:2*'
"#;

/// The shell's own program, in whose path the client is `wellspring`.
fn shell(machine: &Machine, program: &str) -> Command {
    let bin = machine.folder().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    if !bin.join("wellspring").exists() {
        std::os::unix::fs::symlink(BINARY, bin.join("wellspring")).unwrap();
    }
    // A shell that waits for ever fails the test.
    let mut command = machine.command("timeout");
    command.args(["60", program]).env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    command
}

fn lines(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}: {failed}{said}", output.status);
    said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn script(machine: &Machine, shell: &str) -> String {
    machine.run(&["completions", shell]).succeeded().stdout
}

fn in_bash(machine: &Machine, line: &str) -> Vec<String> {
    let script = machine.file("completions.bash", &script(machine, "bash"));
    let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
    let asks = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={}; _wellspring_with_names wellspring; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
        words.len() - 1,
    );
    lines(shell(machine, "bash").args(["-c", &asks]))
}

fn in_zsh(machine: &Machine, line: &str) -> Vec<String> {
    machine.file("_wellspring", &script(machine, "zsh"));
    let ask = machine.file("ask.zsh", ASK_ZSH);
    let offered = machine.file("offered", "");
    lines(shell(machine, "zsh").arg("-f").arg(ask).arg(line));
    std::fs::read_to_string(offered).unwrap().lines().map(str::to_owned).collect()
}

fn in_fish(machine: &Machine, line: &str) -> Vec<String> {
    let script = machine.file("completions.fish", &script(machine, "fish"));
    let asks = format!("source {}; complete -C '{line}'", script.display());
    let offered = lines(shell(machine, "fish").args(["--no-config", "-c", &asks]));
    // Each with what it means, behind a tab.
    offered.iter().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn completions_are_made_for_every_shell() {
    let machine = Machine::new();

    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = script(&machine, shell);
        assert!(script.contains("unsubscribe") && script.contains("wellspring"), "{shell}");
    }
}

#[test]
fn completions_know_what_is_on_the_server() {
    let fake = account();
    let machine = Machine::of(&fake);

    for Shell { name, offered } in SHELLS {
        let offered = |line: &str| offered(&machine, line);
        assert_eq!(offered("wellspring events "), ["hello-world", "ticker"], "{name}");
        assert_eq!(offered("wellspring events --json tick"), ["ticker"], "{name}");
        // As the shell takes it; fish quotes what it inserts, and lists it bare.
        let expected = if name == "fish" { "My hook" } else { "My\\ hook" };
        assert_eq!(offered("wellspring webhooks delete "), [expected], "{name}");
    }
}

#[test]
fn completions_know_commands_and_options_without_a_server() {
    let machine = Machine::new();

    for Shell { name, offered } in SHELLS {
        assert!(offered(&machine, "wellspring ev").contains(&"events".to_owned()), "{name}");
        let options = offered(&machine, "wellspring events --fol");
        assert!(options.iter().any(|option| option.starts_with("--follow")), "{name}: {options:?}");
    }
    let said = machine.run(&["names", "--", "events"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""), "and no complaint");
}
