//! The documentation: its commands run as they are written, and what is generated is what it would be now.
//!
//! A fence says what becomes of its block:
//!
//! - `sh`: run in one shell, block after block; a command that fails fails the test.
//! - `sh server`: stays in the foreground, so it gets a terminal of its own; the next block waits until it answers.
//! - `sh elsewhere`: takes too long to be run inside a test; what it names must exist and parse.
//! - `text` after `sh`: lines that the block before printed, in this order; `…` stands for anything.

mod api_reference;
mod blocks;
mod shell;

use crate::generated::{check_generated, root};
use blocks::{Block, blocks_of};
use shell::Shell;

/// Runs a document from its beginning, on a folder, a port and a home of its own.
fn run(document: &str) {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let mut shell = Shell::new();
    let blocks = blocks_of(&text);
    assert!(blocks.iter().any(|block| matches!(block, Block::Run { .. })), "{document} has commands");
    for block in blocks {
        match block {
            Block::Server { command } => shell.start_server(&command),
            Block::Elsewhere { command } => shell::check_script(&root(), &command),
            Block::Run { command, expected } => {
                let printed = shell.run(&command);
                let missing = blocks::first_missing(&expected, &printed);
                assert!(missing.is_none(), "{document}: {command}\nprinted\n{printed}\nand not {missing:?}");
            }
        }
    }
}

#[test]
fn the_commands_of_the_readme_run_as_written() {
    run("README.md");
}

#[test]
fn the_commands_of_the_tutorial_run_as_written() {
    run("docs/tutorial.md");
}

#[test]
fn the_commands_of_a_day_run_as_written() {
    run("docs/day.md");
}

#[test]
fn the_commands_of_the_guide_to_workflows_run_as_written() {
    run("docs/workflows.md");
}

#[test]
fn generated_api_reference_is_that_of_the_openapi_document() {
    let document = std::fs::read_to_string(root().join("schemas/openapi.json")).unwrap();

    check_generated("docs/api.md", &api_reference::of(&serde_json::from_str(&document).unwrap()));
}

#[test]
fn generated_command_reference_is_that_of_the_binary() {
    // Help shows what the environment holds, and a reference should not.
    let output = std::process::Command::new(rig::served::binary()).arg("reference").env_clear().output().unwrap();

    assert!(output.status.success());
    check_generated("docs/cli.md", &String::from_utf8(output.stdout).unwrap());
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut documents = vec![root().join("README.md"), root().join("host/README.md")];
    documents.extend(std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    for document in documents.iter().filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let text = std::fs::read_to_string(document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            assert!(document.parent().unwrap().join(path).exists(), "{}: {link}", document.display());
        }
    }
}
