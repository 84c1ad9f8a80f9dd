//! Every setting of the server is in `docs/operations.md`, with the default it has.

use std::process::Command;

use super::read;

/// Flags of `wellspring serve`, from the reference that is generated from the binary.
fn flags() -> Vec<String> {
    let reference = read("docs/cli.md");
    let (_, section) = reference.split_once("## `wellspring serve`").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter_map(|line| line.trim_start().trim_start_matches("-h, ").strip_prefix("--"));
    let flags: Vec<String> = lines.map(|line| line.split([' ', '[', ',']).next().unwrap().to_owned()).collect();
    assert!(flags.len() > 20, "{flags:?}");
    flags
}

#[test]
fn every_setting_is_documented_for_operators() {
    let operations = read("docs/operations.md");
    let is_about_the_program = |flag: &str| flag == "help" || flag == "version";

    let absent: Vec<String> = flags()
        .into_iter()
        .filter(|flag| !is_about_the_program(flag) && !operations.contains(&format!("`--{flag}")))
        .collect();

    assert!(absent.is_empty(), "docs/operations.md does not mention {absent:?}");
}

#[test]
fn documented_defaults_are_those_of_the_binary() {
    let printed = Command::new(rig::served::binary()).args(["serve", "--print-config"]).env_clear().output().unwrap();
    let defaults: toml::Table = String::from_utf8(printed.stdout).unwrap().parse().unwrap();
    let operations = read("docs/operations.md");
    let rows = operations.lines().filter_map(|line| line.strip_prefix("| `--")?.split_once("` | "));

    let mut compared = 0;
    for (flag, rest) in rows {
        let documented = rest.split(" |").next().unwrap().trim_matches('`').replace('\u{a0}', "");
        // Shares have a table of their own.
        let Some(default) = defaults.get(&flag.replace('-', "_")).filter(|default| !default.is_table()) else {
            continue;
        };
        let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        assert_eq!(documented.split(' ').next().unwrap(), default, "--{flag} in docs/operations.md");
        compared += 1;
    }
    assert!(compared > 20, "{compared} rows of the table have a default");
}
