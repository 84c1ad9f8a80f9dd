//! Goes through what a recorded run asked its host: on a terminal with a key for each step.

use console::{Key, Style, Term};

use crate::error::Error;
use crate::models::HostCall;
use crate::output::{Output, full_time, plain};

/// `false` when the person has seen enough.
pub(super) fn go_through(output: &Output, calls: &[HostCall]) -> Result<bool, Error> {
    let terminal = Term::stderr();
    let mut is_stepping = terminal.is_term() && Term::stdout().is_term();
    if is_stepping {
        output.say(&format!("{} calls; Enter goes on, a shows the rest, q ends", calls.len()));
    }
    for (index, call) in calls.iter().enumerate() {
        output.line(&line(output, index, calls.len(), call))?;
        if !is_stepping || index + 1 == calls.len() {
            continue;
        }
        match read(&terminal)? {
            Wish::Next => {}
            Wish::Rest => is_stepping = false,
            Wish::End => return Ok(false),
        }
    }
    Ok(true)
}

enum Wish {
    Next,
    Rest,
    End,
}

fn read(terminal: &Term) -> Result<Wish, Error> {
    loop {
        match terminal.read_key() {
            Ok(Key::Enter | Key::Char(' ' | 'n') | Key::ArrowDown | Key::ArrowRight) => return Ok(Wish::Next),
            Ok(Key::Char('a')) => return Ok(Wish::Rest),
            Ok(Key::Char('q') | Key::Escape) => return Ok(Wish::End),
            Ok(Key::CtrlC) => return Err(Error::Interrupted),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Err(Error::Interrupted),
            Err(source) => return Err(Error::Output { source }),
        }
    }
}

/// ` 3/12  db n  ->  41`
fn line(output: &Output, index: usize, count: usize, call: &HostCall) -> String {
    let width = count.to_string().len();
    let place = output.paint(&Style::new().dim(), &format!("{:>width$}/{count}", index + 1));
    let what = match call.asked.is_empty() {
        true => call.kind.clone(),
        false => format!("{} {}", call.kind, plain(&call.asked)),
    };
    let answer = match (call.kind.as_str(), call.answer.parse::<i64>()) {
        ("time", Ok(at_ms)) => full_time(at_ms / 1000),
        _ => plain(&call.answer),
    };
    format!("{place}  {}  ->  {answer}", output.paint(&Style::new().bold(), &what))
}
