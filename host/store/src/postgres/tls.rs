//! TLS by the library that everything else here uses, with the certificates of the operator or of the system.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{Error, Tls};

/// None where the address asks for no TLS.
#[derive(Clone)]
pub(super) struct Connector(Option<TlsConnector>);

pub(super) struct ForHost {
    connector: Option<TlsConnector>,
    name: Option<ServerName<'static>>,
}

pub(super) struct Stream<Socket>(TlsStream<Socket>);

// === impl Connector ===

impl Connector {
    pub(super) fn plain() -> Self {
        Self(None)
    }

    pub(super) fn with(tls: &Tls) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        match &tls.ca {
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    roots.add(certificate.map_err(|_| Error::Certificate)?).map_err(|_| Error::Certificate)?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| Error::Certificate)?
            .with_root_certificates(roots);
        let config = match &tls.client {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| Error::Certificate)?;
                let chain = chain.map_err(|_| Error::Certificate)?;
                config.with_client_auth_cert(chain, key).map_err(|_| Error::Certificate)?
            }
        };
        Ok(Self(Some(Arc::new(config).into())))
    }
}

impl<Socket> MakeTlsConnect<Socket> for Connector
where
    Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<Socket>;
    type TlsConnect = ForHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<ForHost, io::Error> {
        Ok(ForHost { connector: self.0.clone(), name: ServerName::try_from(host.to_owned()).ok() })
    }
}

impl<Socket> TlsConnect<Socket> for ForHost
where
    Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<Socket>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Stream<Socket>, io::Error>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let (Some(connector), Some(name)) = (self.connector, self.name) else {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "the server asks for TLS: add ?sslmode=require",
                ));
            };
            Ok(Stream(connector.connect(name, socket).await?))
        })
    }
}

// === impl Stream ===

impl<Socket: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<Socket> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<Socket: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<Socket> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, to)
    }
}

impl<Socket: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<Socket> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
