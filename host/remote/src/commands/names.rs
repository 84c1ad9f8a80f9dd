//! `names`: what can stand at a place of a command line, for completions of a shell. The server knows it.
//!
//! Hidden, and silent about everything that goes wrong: a shell that completes must not talk.

use std::collections::BTreeSet;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::output::{Output, plain};
use crate::profiles::{self, Profiles};
use crate::session::Connection;

/// A person waits for it with a finger on the key.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The words of the command line before the one that is completed, without the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// What a word is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noun {
    Source,
    Component,
    Workflow,
    Webhook,
    Account,
    DataStore,
    App,
    Run,
    Profile,
}

pub(super) async fn run(arguments: &Arguments, whole: clap::Command) -> Result<(), Error> {
    let nouns = nouns(whole, &arguments.words);
    let names = tokio::time::timeout(PATIENCE, names(&nouns, &connection(&arguments.words))).await;
    let output = Output::of_process(false);
    names.unwrap_or_default().iter().try_for_each(|name| output.line(name))
}

/// The server that the rest of the command line means.
fn connection(words: &[String]) -> Connection {
    let option = |name: &str| {
        let apart =
            words.iter().zip(words.iter().skip(1)).find(|(word, _)| *word == name).map(|(_, value)| value.clone());
        apart.or_else(|| words.iter().find_map(|word| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned())))
    };
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Connection {
        profile: option("--profile").or_else(|| variable("WELLSPRING_PROFILE")),
        url: option("--url").or_else(|| variable("WELLSPRING_URL")),
        json: true,
    }
}

#[boxed(?Send)]
async fn names(nouns: &[Noun], connection: &Connection) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for noun in nouns {
        if *noun == Noun::Profile {
            let profiles = profiles::default_path().and_then(|path| Profiles::read(&path));
            names.extend(profiles.into_iter().flat_map(|profiles| profiles.names()));
            continue;
        }
        let Ok(session) = connection.open() else { continue };
        names.extend(of_noun(&session.client, *noun).await.unwrap_or_default());
    }
    names.retain(|name| !name.is_empty() && *name == plain(name) && !name.contains('\n'));
    names
}

async fn of_noun(client: &Client, noun: Noun) -> Result<Vec<String>, Error> {
    let (path, field) = match noun {
        Noun::Source => ("users/me/sources", "name_slug"),
        Noun::Component => ("users/me/components", "key"),
        Noun::Workflow => ("users/me/workflows", "name"),
        Noun::Webhook => ("users/me/webhooks", "name"),
        Noun::Account => ("users/me/accounts", "name"),
        Noun::DataStore => ("users/me/data_stores", "name"),
        Noun::App => ("apps", "name_slug"),
        Noun::Run => ("runs", "id"),
        Noun::Profile => return Ok(Vec::new()),
    };
    let items: Vec<Value> = match noun {
        Noun::Run => client.page(path, &[], 20).await?.data,
        _ => client.all(path).await?,
    };
    let name = |item: &Value| item.get(field).or_else(|| item.get("id")).and_then(Value::as_str).map(str::to_owned);
    Ok(items.iter().filter_map(name).collect())
}

/// What the next word of a command line names.
fn nouns(mut whole: clap::Command, words: &[String]) -> Vec<Noun> {
    whole.build();
    let mut command = &whole;
    let (mut value_of, mut position, mut are_values) = (None, 0, false);
    for word in words {
        if value_of.take().is_some() {
            continue;
        }
        if word == "--" {
            are_values = true;
        } else if let Some(option) = word.strip_prefix("--").filter(|_| !are_values) {
            value_of = command.get_arguments().find(|argument| argument.get_long() == Some(option)).filter(takes_value);
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !are_values && !letters.is_empty()) {
            let last = letters.chars().last();
            value_of = command.get_arguments().find(|argument| argument.get_short() == last).filter(takes_value);
        } else if let Some(inner) = command.find_subcommand(word).filter(|_| position == 0) {
            command = inner;
        } else {
            position += 1;
        }
    }
    let at_place = || {
        let mut places = command.get_positionals();
        let last = command
            .get_positionals()
            .last()
            .filter(|last| last.get_num_args().is_some_and(|count| count.max_values() > 1));
        places.nth(position).or(last)
    };
    value_of.or_else(at_place).map(|argument| of_argument(command.get_name(), argument)).unwrap_or_default()
}

fn takes_value(argument: &&clap::Arg) -> bool {
    argument.get_action().takes_values()
}

fn of_argument(command: &str, argument: &clap::Arg) -> Vec<Noun> {
    let is_called = |name: &str| {
        argument
            .get_value_names()
            .is_some_and(|names| names.iter().any(|value| value.as_str().eq_ignore_ascii_case(name)))
    };
    match (command, argument.get_id().as_str()) {
        (_, "source" | "like") => vec![Noun::Source],
        (_, "workflow" | "workflows") => vec![Noun::Workflow],
        (_, "component" | "components") | ("unpublish", "key") => vec![Noun::Component],
        (_, "targets" | "target") => vec![Noun::Source, Noun::Component],
        (_, "what") if command == "describe" => vec![Noun::Source, Noun::Component, Noun::Webhook],
        (_, "emitter") => vec![Noun::Source, Noun::Workflow],
        (_, "listener") => vec![Noun::Source, Noun::Workflow, Noun::Webhook],
        (_, "webhook") => vec![Noun::Webhook],
        (_, "account" | "accounts") => vec![Noun::Account],
        (_, "store") => vec![Noun::DataStore],
        (_, "app") => vec![Noun::App],
        (_, "profile") => vec![Noun::Profile],
        ("replay", "run") => vec![Noun::Run],
        _ if is_called("WORKFLOW") => vec![Noun::Workflow],
        _ if is_called("SOURCE") => vec![Noun::Source],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    #[command(name = "wellspring")]
    struct Whole {
        #[command(subcommand)]
        command: crate::Command,
    }

    #[test]
    fn the_place_of_a_word_says_what_it_names() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            nouns(Whole::command(), &words)
        };

        assert_eq!(of("events"), [Noun::Source]);
        assert_eq!(of("events --json -n 3"), [Noun::Source]);
        assert_eq!(of("events one"), []);
        assert_eq!(of("update x --name"), [], "a new name is no name that is there");
        assert_eq!(of("delete a b"), [Noun::Source, Noun::Component], "several");
        assert_eq!(of("workflows run"), [Noun::Workflow]);
        assert_eq!(of("workflows deploy a.yaml --update"), [Noun::Workflow]);
        assert_eq!(of("subscribe a"), [Noun::Source, Noun::Workflow, Noun::Webhook]);
        assert_eq!(of("list --profile"), [Noun::Profile]);
        assert_eq!(of("replay"), [Noun::Run]);
        assert_eq!(of("events --"), [Noun::Source]);
        assert_eq!(of(""), []);
        assert_eq!(of("no such command"), []);
    }
}
