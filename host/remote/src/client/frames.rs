//! Server-sent events, as far as this server sends them: the data of each, put together from chunks that break
//! anywhere.

/// An event may be half a megabyte; what never ends is no event.
const BUFFER_MAXIMUM: usize = 8 << 20;

#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
}

/// One event, or an id without one, which says where the stream is; its name is empty when it has none.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: String,
}

// === impl Frames ===

impl Frames {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
        if self.buffer.len() > BUFFER_MAXIMUM {
            self.buffer.clear();
        }
    }

    /// The next whole event; comments are skipped.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
            let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&frame);
            let field = |name: &'static str| {
                let values = text.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(':'));
                values.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect::<Vec<_>>().join("\n")
            };
            let frame = Frame { id: field("id"), event: field("event"), data: field("data") };
            if !(frame.data.is_empty() && frame.id.is_empty()) {
                return Some(frame);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_put_together_from_chunks_that_break_anywhere() {
        let text = ":sse-handshake\nid: 0-1\n\nid: 1-0\ndata: {\"ü\":1}\n\n:sse-handshake\n\nevent: two\ndata: a\ndata: b\n\ndata: unfinished";

        for size in 1..text.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                frames.push(chunk);
                found.extend(std::iter::from_fn(|| frames.next()).map(|frame| (frame.id, frame.event, frame.data)));
            }

            let expected = [("0-1", "", ""), ("1-0", "", "{\"ü\":1}"), ("", "two", "a\nb")]
                .map(|(id, event, data)| (id.to_owned(), event.to_owned(), data.to_owned()));
            assert_eq!(found, expected, "chunks of {size}");
        }
    }

    #[test]
    fn an_event_that_never_ends_is_given_up() {
        let mut frames = Frames::default();

        frames.push(&vec![b'x'; BUFFER_MAXIMUM]);
        assert_eq!(frames.buffer.len(), BUFFER_MAXIMUM);
        frames.push(b"x");

        assert_eq!(frames.buffer.len(), 0);
    }
}
