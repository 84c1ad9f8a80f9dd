//! The examples of the repository, so that `deploy example:NAME` needs nothing but the program.

use crate::error::Error;
use crate::files::Collected;
use crate::suggest::suggest;

/// What an example is written with in the place of a file.
pub(crate) const PREFIX: &str = "example:";

/// By their names, in order.
const EXAMPLES: [(&str, &str); 21] = [
    ("airtable-records", include_str!("../../../examples/airtable-records.js")),
    ("daily-report", include_str!("../../../examples/daily-report.js")),
    ("discord-message", include_str!("../../../examples/discord-message.js")),
    ("github-issues", include_str!("../../../examples/github-issues.js")),
    ("github-releases", include_str!("../../../examples/github-releases.js")),
    ("gitlab-push", include_str!("../../../examples/gitlab-push.js")),
    ("hacker-news", include_str!("../../../examples/hacker-news.js")),
    ("hello", include_str!("../../../examples/hello.js")),
    ("json-poller", include_str!("../../../examples/json-poller.js")),
    ("linear-issues", include_str!("../../../examples/linear-issues.js")),
    ("notion-pages", include_str!("../../../examples/notion-pages.js")),
    ("pagerduty-incident", include_str!("../../../examples/pagerduty-incident.js")),
    ("rss", include_str!("../../../examples/rss.js")),
    ("shopify-orders", include_str!("../../../examples/shopify-orders.js")),
    ("slack-events", include_str!("../../../examples/slack-events.js")),
    ("slack-message", include_str!("../../../examples/slack-message.js")),
    ("stripe-events", include_str!("../../../examples/stripe-events.js")),
    ("telegram-bot", include_str!("../../../examples/telegram-bot.js")),
    ("typeform-responses", include_str!("../../../examples/typeform-responses.js")),
    ("uptime", include_str!("../../../examples/uptime.js")),
    ("weather-alert", include_str!("../../../examples/weather-alert.js")),
];

pub(crate) fn is_example(wanted: &str) -> bool {
    wanted.starts_with(PREFIX)
}

/// An example as it is sent.
pub(crate) fn collect(wanted: &str) -> Result<Collected, Error> {
    let name = wanted.trim_start_matches(PREFIX);
    let found = EXAMPLES.iter().find(|(known, _)| *known == name);
    let (name, code) = found.ok_or_else(|| {
        let close = suggest(name, EXAMPLES.iter().map(|(known, _)| *known));
        let all = || EXAMPLES.iter().map(|(known, _)| (*known).to_owned()).collect();
        let suggestions = if close.is_empty() { all() } else { close };
        Error::NotFound { noun: "example", wanted: name.to_owned(), suggestions }
    })?;
    Ok(Collected { filename: format!("{name}.js"), code: (*code).to_owned(), files: Default::default() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_example_of_the_repository_is_carried_listed_and_tested() {
        let folder = Path::new("../../examples");
        let list = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = files
            .filter(|name| !name.ends_with(".test.js"))
            .filter_map(|name| Some(name.strip_suffix(".js")?.to_owned()))
            .collect();
        names.sort();

        assert_eq!(EXAMPLES.map(|(name, _)| name.to_owned()).to_vec(), names);
        assert!(names.len() >= 20, "twenty were promised");
        for name in &names {
            assert!(folder.join(format!("{name}.test.js")).exists(), "{name} has a test");
            assert!(list.contains(&format!("[`{name}`]({name}.js)")), "{name} is listed");
        }
    }

    #[test]
    fn an_example_is_found_by_its_name_and_a_slip_is_told() {
        assert_eq!(collect("example:rss").unwrap().filename, "rss.js");
        let Error::NotFound { suggestions, .. } = collect("example:github-issue").unwrap_err() else { panic!() };
        assert!(suggestions.contains(&"github-issues".to_owned()), "{suggestions:?}");
    }
}
