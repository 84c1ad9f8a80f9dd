//! A client for the operator's mail relay: SMTP with TLS and a login, one message for each connection.
//!
//! The relay is the operator's own choice and often on a private network, so the address filter does not apply to it; nothing of
//! a tenant decides where the connection goes. What a tenant does decide is checked before it becomes a line of the protocol.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::tls;

/// From the first byte of the connection to the relay's answer; RFC 5321 allows it minutes for the message.
const TIMEOUT: Duration = Duration::from_secs(60);
const LINE_BYTES: u64 = 4096;
const REPLY_LINES: usize = 100;
/// What the relay knows this server as; it has no use for the name.
const OWN_NAME: &str = "wellspring";

/// A relay, and how to reach it.
#[derive(Clone)]
pub struct Relay {
    host: Host,
    port: u16,
    security: Security,
    login: Option<(String, String)>,
    tls: Arc<ClientConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    /// `smtps://`: TLS from the first byte.
    Implicit,
    /// `smtp://`: TLS after `STARTTLS`, without which nothing is sent.
    Upgraded,
    /// `smtp://…?tls=none`: for a relay on the same machine.
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    #[error(
        "the address of a mail relay is smtps://user:password@host, or smtp:// for STARTTLS, with ?tls=none for none"
    )]
    Address,
    #[error("TLS could not be set up: {reason}")]
    Tls { reason: String },
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTaken {
    pub reason: String,
    /// It would not be taken another time either.
    pub is_final: bool,
}

/// A conversation with a relay.
struct Dialog<Stream> {
    stream: BufStream<Stream>,
}

// === impl Relay ===

impl Relay {
    pub fn parse(address: &str) -> Result<Self, RelayError> {
        let url = Url::parse(address).map_err(|_| RelayError::Address)?;
        let security = match (url.scheme(), url.query()) {
            ("smtps", None) => Security::Implicit,
            ("smtp", None) => Security::Upgraded,
            ("smtp", Some("tls=none")) => Security::None,
            _ => return Err(RelayError::Address),
        };
        // For schemes that it does not know, the parser leaves addresses as text.
        let host = Host::parse(url.host_str().ok_or(RelayError::Address)?).map_err(|_| RelayError::Address)?;
        let usual = if security == Security::Implicit { 465 } else { 587 };
        let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let login = url.password().map(|password| (decoded(url.username()), decoded(password)));
        let mut tls = tls::client_config(&[]).map_err(|error| RelayError::Tls { reason: error.to_string() })?;
        // The protocols of HTTP are none of the relay's.
        Arc::make_mut(&mut tls).alpn_protocols.clear();
        Ok(Self { host, port: url.port().unwrap_or(usual), security, login, tls })
    }

    /// Sends one message to everyone at once; what is taken for one and refused for another counts as refused.
    #[boxed]
    pub async fn send(&self, from: &str, to: &[String], message: &str) -> Result<(), NotTaken> {
        for address in to.iter().map(String::as_str).chain([from]) {
            if !is_plain_address(address) {
                return Err(NotTaken::finally(format!("{address} is not an address that mail can be sent to")));
            }
        }
        match tokio::time::timeout(TIMEOUT, self.converse(from, to, message)).await {
            Ok(ended) => ended,
            Err(_) => Err(NotTaken::later("the mail relay did not answer in time")),
        }
    }

    async fn converse(&self, from: &str, to: &[String], message: &str) -> Result<(), NotTaken> {
        let host = self.host.to_string();
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), self.port)).await;
        let stream = stream.map_err(|error| NotTaken::later(format!("the mail relay cannot be reached: {error}")))?;
        if self.security == Security::Implicit {
            let mut dialog = Dialog::new(self.secured(stream).await?);
            dialog.expect(220).await?;
            return dialog.deliver(self, from, to, message).await;
        }
        let mut dialog = Dialog::new(stream);
        dialog.expect(220).await?;
        if self.security == Security::None {
            return dialog.deliver(self, from, to, message).await;
        }
        dialog.say(&format!("EHLO {OWN_NAME}"), 250).await?;
        dialog.say("STARTTLS", 220).await?;
        // What came before TLS is not believed: the conversation begins anew on the other side of it.
        let mut dialog = Dialog::new(self.secured(dialog.stream.into_inner()).await?);
        dialog.deliver(self, from, to, message).await
    }

    async fn secured(&self, stream: TcpStream) -> Result<impl AsyncRead + AsyncWrite + Unpin + use<>, NotTaken> {
        let name =
            tls::server_name(&self.host).ok_or_else(|| NotTaken::later("the relay's name is not one for TLS"))?;
        let connected = TlsConnector::from(self.tls.clone()).connect(name, stream).await;
        connected.map_err(|error| NotTaken::later(format!("TLS with the mail relay failed: {error}")))
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without its login.
        write!(formatter, "Relay({}:{})", self.host, self.port)
    }
}

// === impl Dialog ===

impl<Stream: AsyncRead + AsyncWrite + Unpin> Dialog<Stream> {
    fn new(stream: Stream) -> Self {
        Self { stream: BufStream::new(stream) }
    }

    async fn deliver(&mut self, relay: &Relay, from: &str, to: &[String], message: &str) -> Result<(), NotTaken> {
        self.say(&format!("EHLO {OWN_NAME}"), 250).await?;
        if let Some((user, password)) = &relay.login {
            let proof = STANDARD.encode(format!("\0{user}\0{password}"));
            // An operator's mistake, which may be mended: tried again.
            let refused = |not_taken: NotTaken| NotTaken { is_final: false, ..not_taken };
            self.say(&format!("AUTH PLAIN {proof}"), 235).await.map_err(refused)?;
        }
        self.say(&format!("MAIL FROM:<{from}>"), 250).await?;
        for address in to {
            self.say(&format!("RCPT TO:<{address}>"), 250).await?;
        }
        self.say("DATA", 354).await?;
        self.write(&stuffed(message)).await?;
        self.say(".", 250).await?;
        // The message is taken; how the relay takes its leave does not matter.
        let _ = self.say("QUIT", 221).await;
        Ok(())
    }

    async fn say(&mut self, line: &str, expected: u16) -> Result<(), NotTaken> {
        self.write(&format!("{line}\r\n")).await?;
        self.expect(expected).await
    }

    async fn write(&mut self, text: &str) -> Result<(), NotTaken> {
        let written = self.stream.write_all(text.as_bytes()).await;
        written.map_err(|error| broken(&error))?;
        self.stream.flush().await.map_err(|error| broken(&error))
    }

    /// Reads one reply of any number of lines.
    async fn expect(&mut self, expected: u16) -> Result<(), NotTaken> {
        let mut reason = String::new();
        for _ in 0..REPLY_LINES {
            let mut line = Vec::new();
            (&mut self.stream).take(LINE_BYTES).read_until(b'\n', &mut line).await.map_err(|error| broken(&error))?;
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let code = line.get(..3).and_then(|code| code.parse::<u16>().ok());
            let Some(code) = code else {
                return Err(NotTaken::later("the mail relay broke off, or does not speak SMTP"));
            };
            reason = line;
            if reason.as_bytes().get(3) == Some(&b'-') {
                continue;
            }
            if code == expected || (expected == 250 && code == 251) {
                return Ok(());
            }
            return Err(NotTaken { reason: format!("the mail relay answered: {reason}"), is_final: code >= 500 });
        }
        Err(NotTaken::later(format!("the mail relay does not come to an end: {reason}")))
    }
}

// === impl NotTaken ===

impl NotTaken {
    fn later(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_final: false }
    }

    fn finally(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_final: true }
    }
}

fn broken(error: &std::io::Error) -> NotTaken {
    NotTaken::later(format!("the connection to the mail relay broke: {error}"))
}

/// Nothing in it can end a line or an address of the protocol.
fn is_plain_address(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
    address.len() <= 254 && address.contains('@') && address.bytes().all(is_plain)
}

/// Lines that begin with a dot get another, as RFC 5321 says: a dot alone would end the message.
fn stuffed(message: &str) -> String {
    let mut stuffed = String::with_capacity(message.len() + 2);
    for line in message.split("\r\n") {
        if line.starts_with('.') {
            stuffed.push('.');
        }
        stuffed.push_str(line);
        stuffed.push_str("\r\n");
    }
    if message.ends_with("\r\n") {
        stuffed.truncate(stuffed.len() - 2);
    }
    stuffed
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn addresses_of_relays_are_read() {
        let relay = Relay::parse("smtps://me%40x:p%3Aw@mail.example.com").unwrap();
        assert_eq!((relay.port, relay.security), (465, Security::Implicit));
        assert_eq!(relay.login, Some(("me@x".to_owned(), "p:w".to_owned())));
        assert!(!format!("{relay:?}").contains("p:w"));
        assert_eq!(Relay::parse("smtp://localhost:25?tls=none").unwrap().port, 25);
        for wrong in ["mail.example.com", "http://x", "smtp://x?tls=maybe", "smtps://", ""] {
            assert_eq!(Relay::parse(wrong).err(), Some(RelayError::Address), "{wrong}");
        }
    }

    #[test]
    fn a_line_that_begins_with_a_dot_does_not_end_the_message() {
        assert_eq!(stuffed("a\r\n.\r\n..b\r\n"), "a\r\n..\r\n...b\r\n");
        assert_eq!(stuffed("a"), "a\r\n");
    }

    /// A relay that gives these answers, one for each line it is told; what it was told.
    async fn told(answers: &'static [&'static str], to: &str) -> (Result<(), NotTaken>, Vec<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (mut stream, mut told) = (BufStream::new(stream), Vec::new());
            for answer in answers {
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
                let mut line = String::new();
                while answer.starts_with("354") && line != ".\r\n" {
                    line.clear();
                    stream.read_line(&mut line).await.unwrap();
                }
                if !answer.starts_with("354") {
                    stream.read_line(&mut line).await.unwrap();
                }
                told.push(line.trim_end().to_owned());
            }
            told
        });
        let relay = Relay::parse(&format!("smtp://u:p@{address}?tls=none")).unwrap();
        let sent = relay.send("a@b.c", &[to.to_owned()], "Subject: x\r\n\r\n.y\r\n").await;
        (sent, serving.await.unwrap())
    }

    #[tokio::test]
    async fn a_message_is_sent_line_by_line() {
        let answers = &[
            "220-hi\r\n220 there\r\n",
            "250-x\r\n250 AUTH PLAIN\r\n",
            "235 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "354 go\r\n",
            "250 taken\r\n",
        ];

        let (sent, told) = told(answers, "x@y.z").await;

        assert_eq!(sent, Ok(()));
        assert_eq!(
            told,
            ["EHLO wellspring", "AUTH PLAIN AHUAcA==", "MAIL FROM:<a@b.c>", "RCPT TO:<x@y.z>", "DATA", ".", "QUIT"]
        );
    }

    #[tokio::test]
    async fn what_is_refused_for_good_is_told_from_what_may_work_later() {
        let start = ["220 x\r\n", "250 x\r\n", "235 x\r\n", "250 x\r\n"];
        let busy: &[&str] = Box::leak(Box::new([start[0], start[1], start[2], start[3], "451 busy\r\n"]));
        let unknown: &[&str] = Box::leak(Box::new([start[0], start[1], start[2], start[3], "550 no such user\r\n"]));

        assert!(!told(busy, "x@y.z").await.0.unwrap_err().is_final);
        let refused = told(unknown, "x@y.z").await.0.unwrap_err();

        assert!(refused.is_final && refused.reason.contains("no such user"), "{refused:?}");
    }

    #[tokio::test]
    async fn an_address_cannot_bring_a_line_of_its_own() {
        let relay = Relay::parse("smtp://localhost:1?tls=none").unwrap();

        for hostile in ["a@b>\r\nRCPT TO:<c@d", "a@b c", "no-at", "ü@b.c", ""] {
            let refused = relay.send("a@b.c", &[hostile.to_owned()], "x").await.unwrap_err();
            assert!(refused.is_final, "{hostile:?}");
        }
    }
}
