//! The help of every command.

use crate::client::{Machine, check_snapshot};

const COMMANDS: [&[&str]; 65] = [
    &[],
    &["init"],
    &["login"],
    &["logout"],
    &["whoami"],
    &["keys"],
    &["keys", "create"],
    &["keys", "rename"],
    &["audit"],
    &["deploy"],
    &["update"],
    &["delete"],
    &["list"],
    &["describe"],
    &["events"],
    &["logs"],
    &["db"],
    &["data-stores"],
    &["data-stores", "create"],
    &["data-stores", "keys"],
    &["data-stores", "set"],
    &["data-stores", "delete"],
    &["runs"],
    &["runs", "show"],
    &["runs", "retry"],
    &["replay"],
    &["run"],
    &["publish"],
    &["unpublish"],
    &["components"],
    &["components", "delete"],
    &["accounts"],
    &["accounts", "connect"],
    &["accounts", "delete"],
    &["workflows"],
    &["workflows", "init"],
    &["workflows", "deploy"],
    &["workflows", "list"],
    &["workflows", "describe"],
    &["workflows", "run"],
    &["workflows", "runs"],
    &["workflows", "logs"],
    &["workflows", "pause"],
    &["workflows", "resume"],
    &["workflows", "cancel"],
    &["workflows", "replay"],
    &["workflows", "rollback"],
    &["workflows", "delete"],
    &["subscribe"],
    &["unsubscribe"],
    &["webhooks"],
    &["webhooks", "create"],
    &["webhooks", "update"],
    &["webhooks", "test"],
    &["webhooks", "pause"],
    &["webhooks", "resume"],
    &["webhooks", "rotate-secret"],
    &["webhooks", "delete"],
    &["deliveries"],
    &["deliveries", "replay"],
    &["apply"],
    &["history"],
    &["rollback"],
    &["completions"],
    &["man"],
];

#[test]
fn every_command_has_help() {
    let machine = Machine::new().with("COLUMNS", "100");

    for command in COMMANDS {
        let ran = machine.run(&[command, &["--help"]].concat()).succeeded();
        check_snapshot(&format!("help-{}", command.join("-")), &ran.to_text());
    }
}

#[test]
fn the_list_of_commands_with_help_is_whole() {
    let help = Machine::new().run(&["--help"]).succeeded().stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");

    for name in names {
        assert!(COMMANDS.iter().any(|command| command.first() == Some(&name)), "{name}");
    }
}

#[test]
fn exit_codes_are_told() {
    let help = Machine::new().run(&["--help"]).succeeded().stdout;

    assert!(help.contains("0 done · 1 failed or refused · 2 wrong usage · 130 interrupted"), "{help}");
}

#[test]
fn wrong_usage_ends_with_two() {
    let machine = Machine::new();

    for arguments in [
        &["depoly"][..],
        &["list", "sauces"],
        &["update", "x", "--activate", "--deactivate"],
        &["events", "x", "-n", "101"],
    ] {
        let ran = machine.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.to_text());
    }
    assert!(machine.run(&["depoly"]).stderr.contains("'deploy'"));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let machine = Machine::new();

    machine.run(&["man", "pages"]).succeeded();

    for page in ["wellspring.1", "wellspring-deploy.1", "wellspring-webhooks-create.1"] {
        let text = std::fs::read_to_string(machine.folder().join("pages").join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
}
