//! E-mail as it is sent: a message in the format of RFC 5322 and MIME, made of what `$.send.email` was given.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::actions::Email;

/// Characters of base64 on a line, as RFC 2045 says.
const LINE: usize = 76;
/// Bytes of text in one encoded word: with base64 and its marks it stays below the 75 characters of RFC 2047.
const WORD_BYTES: usize = 45;

/// What a message is made of besides what the step gave.
pub struct Envelope<'a> {
    /// `noreply@example.com`, or with a name: `Wellspring <noreply@example.com>`.
    pub from: &'a str,
    pub to: &'a [String],
    /// Unique, without the host.
    pub id: &'a str,
    pub now_ms: i64,
}

/// With line ends of CR and LF.
pub fn render(email: &Email, envelope: &Envelope<'_>) -> String {
    let host = address_of(envelope.from).rsplit_once('@').map_or("localhost", |(_, host)| host);
    let date = Timestamp::from_millisecond(envelope.now_ms).unwrap_or_default().to_zoned(TimeZone::UTC);
    let date = jiff::fmt::rfc2822::to_string(&date).unwrap_or_default();
    let mut message = format!(
        "From: {}\r\nTo: {}\r\nSubject: {}\r\nDate: {date}\r\nMessage-ID: <{}@{host}>\r\nMIME-Version: 1.0\r\n",
        envelope.from,
        envelope.to.join(",\r\n "),
        header_text(&email.subject),
        envelope.id,
    );
    match (&email.text, &email.html) {
        (Some(text), Some(html)) => {
            let boundary = format!("part-{}", envelope.id);
            message.push_str(&format!("Content-Type: multipart/alternative; boundary=\"{boundary}\"\r\n\r\n"));
            for (kind, body) in [("plain", text), ("html", html)] {
                message.push_str(&format!("--{boundary}\r\n{}\r\n", part(kind, body)));
            }
            message.push_str(&format!("--{boundary}--\r\n"));
        }
        (Some(text), None) => message.push_str(&part("plain", text)),
        (None, html) => message.push_str(&part("html", html.as_deref().unwrap_or_default())),
    }
    message
}

/// The address in `Name <address>`, or the text itself.
pub fn address_of(text: &str) -> &str {
    match text.rsplit_once('<') {
        Some((_, address)) => address.trim_end().trim_end_matches('>'),
        None => text.trim(),
    }
}

/// Base64, because lines may be of any length and letters of any language.
fn part(kind: &str, body: &str) -> String {
    let mut part = format!("Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n");
    let encoded = STANDARD.encode(body);
    for line in encoded.as_bytes().chunks(LINE) {
        part.push_str(&String::from_utf8_lossy(line));
        part.push_str("\r\n");
    }
    part
}

/// A subject: as it is when it is plain and short, in encoded words otherwise.
fn header_text(text: &str) -> String {
    let is_plain = text.len() <= LINE && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !text.contains("=?");
    if is_plain {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for letter in text.chars() {
        if words.last().is_some_and(|word| word.len() + letter.len_utf8() > WORD_BYTES) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    let words: Vec<String> = words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect();
    words.join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(email: &Email) -> String {
        let to = vec!["ada@example.com".to_owned(), "bob@example.com".to_owned()];
        let from = "Wellspring <noreply@wells.test>";
        render(email, &Envelope { from, to: &to, id: "1", now_ms: 1_369_353_600_000 })
    }

    fn email(subject: &str, text: Option<&str>, html: Option<&str>) -> Email {
        let (text, html) = (text.map(str::to_owned), html.map(str::to_owned));
        Email { subject: subject.to_owned(), text, html, to: Vec::new() }
    }

    #[test]
    fn a_text_has_its_headers_and_a_body_in_base64() {
        let message = rendered(&email("Hello", Some("a\nb"), None));

        let expected = "From: Wellspring <noreply@wells.test>\r\nTo: ada@example.com,\r\n bob@example.com\r\n\
            Subject: Hello\r\nDate: Fri, 24 May 2013 00:00:00 +0000\r\nMessage-ID: <1@wells.test>\r\n\
            MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
            Content-Transfer-Encoding: base64\r\n\r\nYQpi\r\n";
        assert_eq!(message, expected);
    }

    #[test]
    fn a_text_and_a_page_are_alternatives() {
        let message = rendered(&email("Hello", Some("a"), Some("<b>a</b>")));

        assert_eq!(message.matches("--part-1\r\n").count(), 2);
        assert!(message.ends_with("--part-1--\r\n"));
        assert!(message.find("text/plain") < message.find("text/html"), "the last one is preferred");
    }

    #[test]
    fn no_line_is_too_long_and_a_subject_may_be_of_any_language() {
        let long = "ü".repeat(200);
        let message = rendered(&email(&long, Some(&long), None));

        assert!(message.split("\r\n").all(|line| line.len() <= 90 && line.is_ascii()), "{message}");
        assert!(message.contains("Subject: =?utf-8?B?"));
        assert_eq!(rendered(&email("=?utf-8?B?eA==?=", Some("x"), None)).matches("=?utf-8?B?").count(), 1);
    }

    #[test]
    fn an_address_is_found_beside_a_name() {
        assert_eq!(address_of("A <a@b.c>"), "a@b.c");
        assert_eq!(address_of(" a@b.c "), "a@b.c");
    }
}
