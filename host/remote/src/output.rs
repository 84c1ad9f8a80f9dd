//! Data goes to standard output, talk to standard error. Colours and cut lines are for terminals only.

mod fields;
pub mod table;
mod time;

use std::io::{IsTerminal, Write};

use console::{Style, Term};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;

pub use fields::{Fields, get_field};
pub use table::Table;
pub use time::{ago, clock_time, full_time, utc_day};

/// The width of a table without a terminal and without COLUMNS.
const WIDTH_UNBOUNDED: usize = usize::MAX;

/// How a command prints.
#[derive(Clone, Debug)]
pub struct Output {
    /// `--json`
    pub is_json: bool,
    has_colour: bool,
    width: usize,
    is_talk_seen: bool,
}

/// A progress bar on the terminal. Removed when it is dropped.
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

// === impl Output ===

impl Output {
    /// For this process's own standard output and standard error.
    pub fn of_process(is_json: bool) -> Self {
        Self {
            is_json,
            has_colour: console::colors_enabled(),
            width: width_of_output(),
            is_talk_seen: std::io::stderr().is_terminal(),
        }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn paint(&self, style: &Style, text: &str) -> String {
        match self.has_colour {
            true => style.clone().force_styling(true).apply_to(text).to_string(),
            false => text.to_owned(),
        }
    }

    /// One line of data.
    pub fn line(&self, text: &str) -> Result<(), Error> {
        line(text)
    }

    /// One line of data that is cut where the terminal ends.
    pub fn cut_line(&self, text: &str) -> Result<(), Error> {
        self.line(&console::truncate_str(text, self.width, "…"))
    }

    /// A document for programs.
    pub fn json(&self, value: &impl Serialize) -> Result<(), Error> {
        self.line(&format!("{:#}", to_value(value)))
    }

    /// One of many documents, on a line of its own.
    pub fn json_line(&self, value: &impl Serialize) -> Result<(), Error> {
        self.line(&to_value(value).to_string())
    }

    pub fn table(&self, table: &Table) -> Result<(), Error> {
        table.lines(self).iter().try_for_each(|line| self.line(line))
    }

    /// A message to standard error, left out with `--json`.
    pub fn say(&self, text: &str) {
        if !self.is_json {
            talk(text);
        }
    }

    /// That something is gone: its id for programs, its name for people.
    pub fn deleted(&self, id: &str, name: &str) -> Result<(), Error> {
        if self.is_json {
            return self.json_line(&serde_json::json!({"deleted": id}));
        }
        self.say(&format!("deleted {name} ({id})"));
        Ok(())
    }

    pub fn warn(&self, text: &str) {
        talk(&format!("warning: {text}"));
    }

    pub fn hint(&self, text: &str) {
        self.say(&format!("hint: {text}"));
    }

    /// A spinner on a terminal; a line where there is none.
    pub fn progress(&self, text: &str) -> Progress {
        if self.is_json || !self.is_talk_seen {
            self.say(text);
            return Progress(None);
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        Progress(Some(bar))
    }
}

// === impl Progress ===

impl Progress {
    /// Sets the message beside the bar.
    pub fn set(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Text of others as a terminal may show it: what would move its cursor or change its colours is made visible instead.
pub fn plain(text: &str) -> String {
    let is_harmless = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().map(|letter| if is_harmless(letter) { letter } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// One line of data to standard output. Not `println!`, which panics when its reader is gone.
pub fn line(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(|source| match source.kind() {
        std::io::ErrorKind::BrokenPipe => Error::OutputClosed,
        _ => Error::Output { source },
    })
}

/// To standard error. A closed one is ignored: there is no other stream to report it to.
pub(crate) fn talk(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain(text));
}

fn to_value(value: &impl Serialize) -> Value {
    // Only a map with keys that are no text fails, and the API has none.
    serde_json::to_value(value).unwrap_or_default()
}

/// COLUMNS counts also where there is no terminal: it is how a script says what it wants.
fn width_of_output() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    asked.unwrap_or_else(|| match std::io::stdout().is_terminal() {
        true => Term::stdout().size().1.into(),
        false => WIDTH_UNBOUNDED,
    })
}
