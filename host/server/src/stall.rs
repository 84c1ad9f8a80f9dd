//! A connection whose other end does not read: ended, with everything that waits to be sent on it.
//!
//! The system's buffers take what fits; after that a write waits, without an error. One that waits for too long
//! becomes an error, so that a client that does not read holds neither its place nor its answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) struct Stalling<Io> {
    io: Io,
    patience: Duration,
    /// Until when a write that waits may wait.
    deadline: Option<Pin<Box<Sleep>>>,
}

// === impl Stalling ===

impl<Io> Stalling<Io> {
    pub(crate) fn new(io: Io, patience: Duration) -> Self {
        Self { io, patience, deadline: None }
    }

    /// What a write came to, unless it has waited for too long.
    #[expect(clippy::disallowed_methods, reason = "waits of connections, on the clock of the runtime")]
    fn judge<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + patience)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other end does not read")))
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Stalling<Io> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, to)
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Stalling<Io> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.io).poll_shutdown(context);
        self.judge(context, closed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_write_that_is_not_read_fails_when_its_time_is_over() {
        let (near, _far) = duplex(10);
        let mut near = Stalling::new(near, Duration::ZERO);

        near.write_all(&[0; 10]).await.unwrap();
        let stalled = near.write_all(&[0; 1]).await;

        assert_eq!(stalled.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn a_reader_that_takes_a_little_at_a_time_has_its_time_anew() {
        let (near, mut far) = duplex(10);
        let mut near = Stalling::new(near, Duration::from_secs(3600));
        let writing = tokio::spawn(async move {
            for _ in 0..9 {
                near.write_all(&[7; 10]).await.unwrap();
                assert!(near.deadline.is_none());
            }
        });

        let mut read = vec![0; 90];
        far.read_exact(&mut read).await.unwrap();

        writing.await.unwrap();
        assert_eq!(read, [7; 90]);
    }
}
