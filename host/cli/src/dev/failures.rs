//! Deploys that failed: telling why, and when it is worth trying again.

use std::path::Path;

use remote::{Error, Output};
use serde_json::Value;

use super::places::{Places, code_frame};

/// Why files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    Saved,
    /// Nothing was saved; what was missing may be there.
    Waited,
}

/// Why the last deploy of a file failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    said: String,
    mends_by: Mends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mends {
    /// It is about something outside of the folder: an account, a registry, a server.
    Waiting,
    /// Another file that is saved may bring what is missing.
    Saving,
    /// The file itself has to change.
    OwnChange,
}

// === impl Failure ===

impl Failure {
    /// Tells the error, unless it was told before.
    pub(super) fn tell(output: &Output, file: &Path, places: &Places, error: &Error, before: Option<&Self>) -> Self {
        let failure = Self { said: error.to_string(), mends_by: mends_by(error) };
        if before.is_none_or(|before| before.said != failure.said) {
            complain(output, file, places, error);
        }
        failure
    }

    pub(super) fn is_due(&self, wake: Wake) -> bool {
        match self.mends_by {
            Mends::Waiting => true,
            Mends::Saving => wake == Wake::Saved,
            Mends::OwnChange => false,
        }
    }
}

fn mends_by(error: &Error) -> Mends {
    match error {
        Error::Unreachable { .. } | Error::TimedOut { .. } | Error::NotFound { .. } => Mends::Waiting,
        Error::Refused { status, .. } if *status >= 500 => Mends::Waiting,
        Error::Refused { code, .. } if code == "syntax_error" => Mends::OwnChange,
        // Asking again at every save would be a nuisance.
        Error::Interrupted => Mends::OwnChange,
        _ => Mends::Saving,
    }
}

fn complain(output: &Output, path: &Path, places: &Places, error: &Error) {
    output.warn(&format!("{} was not deployed: {}", path.display(), places.real(&error.to_string())));
    let Error::Refused { details, .. } = error else {
        if let Some(hint) = error.hint() {
            output.hint(&hint);
        }
        return;
    };
    let number = |name: &str| details.get(name).and_then(Value::as_u64);
    if let (Some(file), Some(line)) = (details.get("file").and_then(Value::as_str), number("line")) {
        let (file, column) = (places.real(file), number("column").unwrap_or(1));
        output.say(&format!("  {file}:{line}:{column}"));
        if let Some(frame) = code_frame(Path::new(&file), line, column) {
            output.say(&frame);
        }
        return;
    }
    match details.get("stack").and_then(Value::as_str) {
        Some(stack) => output.say(&places.real(stack)),
        None => error.hint().iter().for_each(|hint| output.hint(hint)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_mend_is_tried_again_when_it_may_have() {
        let refused = |status, code: &str| Error::Refused {
            status,
            code: code.to_owned(),
            message: "no".to_owned(),
            details: json!({}),
        };
        let cases = [
            (refused(503, "registry_unreachable"), [true, true]),
            (Error::NotFound { noun: "account", wanted: "Work".to_owned(), suggestions: Vec::new() }, [true, true]),
            (refused(422, "hook_failed"), [true, false]),
            (Error::MissingProps { names: vec!["a".to_owned()], examples: Vec::new() }, [true, false]),
            (refused(422, "syntax_error"), [false, false]),
        ];
        for (error, expected) in cases {
            let failure = Failure { said: error.to_string(), mends_by: mends_by(&error) };

            assert_eq!([Wake::Saved, Wake::Waited].map(|wake| failure.is_due(wake)), expected, "{error}");
        }
    }
}
