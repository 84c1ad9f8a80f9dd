//! One open connection, plain or TLS, as hyper wants to see it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use admission::Permit;
use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

pub(crate) struct Link {
    stream: Either<TcpStream, TlsStream<TcpStream>>,
    /// Given back when the connection closes.
    _slot: Permit,
}

// === impl Link ===

impl Link {
    pub(crate) fn plain(stream: TcpStream, slot: Permit) -> Self {
        Self { stream: Either::Left(stream), _slot: slot }
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, slot: Permit) -> Self {
        Self { stream: Either::Right(stream), _slot: slot }
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        let has_http2 = match &self.stream {
            Either::Left(_) => false,
            Either::Right(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
        };
        if has_http2 { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Link {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
