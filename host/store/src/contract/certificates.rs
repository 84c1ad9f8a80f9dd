//! Certificates for servers with TLS.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// In PEM.
pub(crate) struct Certificates {
    pub(crate) authority: String,
    /// Of `localhost`, with its key.
    pub(crate) server: (String, String),
    pub(crate) client: (String, String),
}

pub(crate) fn certificates() -> Certificates {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // With the name of what it signs, each would seem to be signed by itself.
    authority.distinguished_name.push(DnType::CommonName, "authority");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    Certificates { server: signed("localhost"), client: signed("client"), authority: authority.pem() }
}
