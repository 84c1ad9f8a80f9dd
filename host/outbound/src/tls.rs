//! TLS towards servers: rustls, the system's certificate authorities, no set-up.
//!
//! The system's trust store is used when it holds anything, so a company's own authority works once
//! it is installed there (or named by `SSL_CERT_FILE` / `SSL_CERT_DIR`). On a machine without one,
//! such as an empty container, Mozilla's list is built in.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{IpAddr, ServerName, pem::PemObject},
};
use url::Host;

pub use rustls::pki_types::CertificateDer;

use crate::error::{Cause, Error};

/// Reads the certificates of a PEM file for `Config::extra_roots`.
pub fn parse_pem_roots(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| Error::InvalidRoot { cause: Cause::new(error) })
}

pub(crate) fn client_config(extra_roots: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, Error> {
    let mut roots = system_roots();
    for root in extra_roots {
        roots.add(root.clone()).map_err(|error| Error::InvalidRoot { cause: Cause::new(error) })?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::TlsSetup { cause: Cause::new(error) })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// `None` when the host cannot stand in a certificate, for example because it is too long.
pub(crate) fn server_name(host: &Host) -> Option<ServerName<'static>> {
    match host {
        Host::Domain(name) => ServerName::try_from(name.clone()).ok(),
        Host::Ipv4(address) => Some(ServerName::IpAddress(IpAddr::V4((*address).into()))),
        Host::Ipv6(address) => Some(ServerName::IpAddress(IpAddr::V6((*address).into()))),
    }
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // A trust store often holds an odd certificate that no one can parse: skip it, as others do.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::info!("no system trust store found; using the built-in list of certificate authorities");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}
