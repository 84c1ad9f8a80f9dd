//! The same request again and again on one kept-alive connection, at the least cost to the machine.
//!
//! The load shares the processors with the servers that it measures. A general-purpose client would take a third of them,
//! and more from a server that uses all processors than from one that uses a single one.

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const MAX_HEADERS: usize = 32;
const ROOM_BYTES: usize = 16 << 10;
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

pub(crate) struct Wire {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

/// An answer that is there as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    length: usize,
}

// === impl Wire ===

impl Wire {
    pub(crate) async fn connect(authority: &str, path: &str, body: &[u8]) -> Result<Self> {
        let stream = TcpStream::connect(authority).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        Ok(Self { stream, request: [head.as_bytes(), body].concat(), answer: Vec::with_capacity(ROOM_BYTES) })
    }

    /// Sends the request and reads the answer to its end.
    pub(crate) async fn send(&mut self) -> Result<u16> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "the connection ended before the answer did");
            if let Some(answer) = parse(&self.answer)? {
                ensure!(answer.length == self.answer.len(), "more came than one answer");
                return Ok(answer.status);
            }
        }
    }
}

/// None until the answer is there as a whole.
fn parse(bytes: &[u8]) -> Result<Option<Answer>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(begin) = head.parse(bytes)? else {
        return Ok(None);
    };
    let status = head.code.context("an answer without a status")?;
    let value = |name: &str| {
        let header = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok()
    };
    let length = match (value("content-length"), value("transfer-encoding")) {
        (Some(length), _) => Some(begin + length.trim().parse::<usize>()?),
        (None, Some("chunked")) => bytes.ends_with(LAST_CHUNK).then_some(bytes.len()),
        _ => bail!("an answer whose end cannot be seen"),
    };
    Ok(length.filter(|length| *length <= bytes.len()).map(|length| Answer { status, length }))
}

#[cfg(test)]
mod tests {
    use super::{Answer, parse};

    #[test]
    fn an_answer_is_seen_when_its_last_byte_is_there() {
        let whole: [&[u8]; 3] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        ];
        for (bytes, status) in whole.into_iter().zip([200, 204, 503]) {
            assert_eq!(parse(bytes).expect("HTTP"), Some(Answer { status, length: bytes.len() }));
            for (end, _) in bytes.iter().enumerate() {
                assert_eq!(parse(bytes.get(..end).expect("within")).expect("HTTP"), None);
            }
        }
    }

    #[test]
    fn an_answer_without_an_end_is_refused() {
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(parse(b"SSH-2.0-OpenSSH\r\n\r\n").is_err());
    }
}
