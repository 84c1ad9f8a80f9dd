//! Services of the operator that tenants send through: a mail relay and an object store.

use async_trait::async_trait;
use bytes::Bytes;
use store::Tenant;

/// Why something was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTaken {
    pub reason: String,
    /// It would not be taken another time either.
    pub is_final: bool,
}

/// How e-mail is sent from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailTerms {
    /// `noreply@example.com`, or with a name: `Wellspring <noreply@example.com>`.
    pub from: String,
    pub recipients: Recipients,
}

/// Whom tenants may write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipients {
    /// The address of their own account, so that the relay is no one's way to send spam.
    Owner,
    Any,
}

/// Obligations: every wait is bounded; what a tenant wrote cannot become a line of a protocol.
#[async_trait]
pub trait Relays: Send + Sync {
    /// None without a mail relay.
    fn email(&self) -> Option<&EmailTerms>;

    async fn send_email(&self, to: &[String], message: &str) -> Result<(), NotTaken>;

    fn has_object_store(&self) -> bool;

    /// Why a tenant cannot write to a bucket, if it cannot.
    fn check_bucket(&self, tenant: &Tenant, bucket: &str) -> Result<(), String>;

    async fn put_object(&self, tenant: &Tenant, bucket: &str, key: &str, body: Bytes) -> Result<(), NotTaken>;
}

/// Of a server without any.
pub struct NoRelays;

#[async_trait]
impl Relays for NoRelays {
    fn email(&self) -> Option<&EmailTerms> {
        None
    }

    async fn send_email(&self, _to: &[String], _message: &str) -> Result<(), NotTaken> {
        Err(NotTaken { reason: "this server has no mail relay".to_owned(), is_final: true })
    }

    fn has_object_store(&self) -> bool {
        false
    }

    fn check_bucket(&self, _tenant: &Tenant, _bucket: &str) -> Result<(), String> {
        Err("this server has no object store: its operator sets one with --s3-endpoint".to_owned())
    }

    async fn put_object(&self, _: &Tenant, _: &str, _: &str, _body: Bytes) -> Result<(), NotTaken> {
        Err(NotTaken { reason: "this server has no object store".to_owned(), is_final: true })
    }
}
