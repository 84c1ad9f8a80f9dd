//! Questions to a person. Asked on standard error, so that the answers' effects can still be piped.

use std::io::IsTerminal;

use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Confirm, Input, MultiSelect, Password, Select};

use crate::error::Error;

/// Asks the user questions.
pub trait Ask {
    /// Empty when nothing was typed and `is_optional`.
    fn text(&self, question: &str, default: Option<&str>, is_optional: bool) -> Result<String, Error>;

    fn secret(&self, question: &str, is_optional: bool) -> Result<String, Error>;

    /// The index of the choice.
    fn choose(&self, question: &str, choices: &[String]) -> Result<usize, Error>;

    fn choose_several(&self, question: &str, choices: &[String]) -> Result<Vec<usize>, Error>;

    fn confirm(&self, question: &str, default: bool) -> Result<bool, Error>;
}

/// The person at the terminal.
#[derive(Debug)]
pub struct Terminal;

/// `None` unless standard input and standard error are a terminal.
pub fn person() -> Option<Terminal> {
    (std::io::stdin().is_terminal() && std::io::stderr().is_terminal()).then_some(Terminal)
}

/// Returns when the user agrees at the terminal. Without a terminal it fails, with a hint at `--yes`.
pub fn confirm(question: &str) -> Result<(), Error> {
    let person = person().ok_or_else(|| Error::NotConfirmed { question: question.to_owned() })?;
    if person.confirm(question, false)? { Ok(()) } else { Err(Error::Interrupted) }
}

fn theme() -> Box<dyn Theme> {
    match console::colors_enabled_stderr() {
        true => Box::new(ColorfulTheme::default()),
        false => Box::new(SimpleTheme),
    }
}

fn ended(error: dialoguer::Error) -> Error {
    let dialoguer::Error::IO(source) = error;
    // A prompt that was broken off leaves the cursor hidden.
    let _ = console::Term::stderr().show_cursor();
    match source.kind() {
        std::io::ErrorKind::Interrupted | std::io::ErrorKind::UnexpectedEof => Error::Interrupted,
        _ => Error::Output { source },
    }
}

// === impl Terminal ===

impl Ask for Terminal {
    fn text(&self, question: &str, default: Option<&str>, is_optional: bool) -> Result<String, Error> {
        let theme = theme();
        let mut input = Input::<String>::with_theme(&*theme).with_prompt(question).allow_empty(is_optional);
        if let Some(default) = default {
            input = input.default(default.to_owned());
        }
        input.interact_text().map_err(ended)
    }

    fn secret(&self, question: &str, is_optional: bool) -> Result<String, Error> {
        let theme = theme();
        Password::with_theme(&*theme).with_prompt(question).allow_empty_password(is_optional).interact().map_err(ended)
    }

    fn choose(&self, question: &str, choices: &[String]) -> Result<usize, Error> {
        let theme = theme();
        Select::with_theme(&*theme).with_prompt(question).items(choices).default(0).interact().map_err(ended)
    }

    fn choose_several(&self, question: &str, choices: &[String]) -> Result<Vec<usize>, Error> {
        let theme = theme();
        MultiSelect::with_theme(&*theme).with_prompt(question).items(choices).interact().map_err(ended)
    }

    fn confirm(&self, question: &str, default: bool) -> Result<bool, Error> {
        let theme = theme();
        Confirm::with_theme(&*theme).with_prompt(question).default(default).interact().map_err(ended)
    }
}
