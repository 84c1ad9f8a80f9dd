//! `logs`: what a source wrote, oldest first, and then whatever comes.

use console::{Color, Style};

use super::events;
use crate::error::Error;
use crate::find;
use crate::models::{EventSummary, LogLine, Page};
use crate::output::{Output, clock_time, plain};
use crate::session::Connection;
use crate::tail;

/// As many as the API gives at once.
const LINES_MAXIMUM: u64 = 100;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id, slug or name of a source
    source: String,
    /// How many lines to show
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=LINES_MAXIMUM))]
    number: u64,
    /// Go on showing lines as they come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let source = find::source(&session.client, &arguments.source).await?;
    let mut last_id = None;
    if arguments.number > 0 {
        let path = format!("sources/{}/logs", source.id);
        let number = usize::try_from(arguments.number).unwrap_or(usize::MAX);
        let page: Page<LogLine> = session.client.page(&path, &[], number).await?;
        for line in page.data.iter().rev() {
            print_line(&session.output, line)?;
        }
        if page.data.is_empty() && !arguments.follow {
            session.output.say("the log is empty");
        }
        let newest = page.data.into_iter().next();
        last_id = newest.map_or_else(|| Some(events::BEGINNING.to_owned()), |line| line.id);
    }
    if arguments.follow {
        let following = events::Following { stream: Some("$logs"), last_id, missing: None };
        return events::follow(&session, &source, following, print_log_event).await;
    }
    Ok(())
}

/// An event of the stream `$logs`.
pub fn print_log_event(output: &Output, event: &EventSummary) -> Result<(), Error> {
    match tail::log_line(event) {
        Some(mut line) => {
            line.id = Some(event.id.clone());
            print_line(output, &line)
        }
        None => events::print_event(output, event),
    }
}

/// `14:03:27  warn   message`, whole: half a line of a log is worse than a long one.
pub(super) fn print_line(output: &Output, line: &LogLine) -> Result<(), Error> {
    if output.is_json {
        return output.json_line(line);
    }
    let style = match line.level.as_str() {
        "error" => Style::new().fg(Color::Red),
        "warn" => Style::new().fg(Color::Yellow),
        "debug" => Style::new().dim(),
        _ => Style::new().fg(Color::Cyan),
    };
    let time = output.paint(&Style::new().dim(), &clock_time(line.at_ms));
    let level = output.paint(&style, &format!("{:5}", line.level));
    output.line(&format!("{time}  {level}  {}", plain(line.message.trim_end())))
}
