//! Server-sent events, as far as this server sends them: the data of each, put together from chunks that break
//! anywhere.

/// An event may be half a megabyte; what never ends is no event.
const BUFFER_MAXIMUM: usize = 8 << 20;

#[derive(Debug, Default)]
pub(super) struct Frames {
    buffer: Vec<u8>,
}

// === impl Frames ===

impl Frames {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
        if self.buffer.len() > BUFFER_MAXIMUM {
            self.buffer.clear();
        }
    }

    /// The data of the next whole event; comments are skipped.
    pub(super) fn next(&mut self) -> Option<String> {
        loop {
            let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
            let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&frame);
            let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let data: Vec<&str> = data.map(|data| data.strip_prefix(' ').unwrap_or(data)).collect();
            if !data.is_empty() {
                return Some(data.join("\n"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_put_together_from_chunks_that_break_anywhere() {
        let text =
            ":sse-handshake\n\nid: 1-0\ndata: {\"ü\":1}\n\n:sse-handshake\n\ndata: a\ndata: b\n\ndata: unfinished";

        for size in 1..text.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                frames.push(chunk);
                found.extend(std::iter::from_fn(|| frames.next()));
            }

            assert_eq!(found, ["{\"ü\":1}", "a\nb"], "chunks of {size}");
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
