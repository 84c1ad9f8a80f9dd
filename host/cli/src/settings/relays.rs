//! Settings of what the operator lends tenants to send with: a mail server, and an object store.

use serde::{Deserialize, Serialize};

/// The relays of `$.send.email` and `$.send.s3`.
#[derive(clap::Args, Serialize, Clone, Debug, Default)]
pub(crate) struct RelayFlags {
    /// The mail relay of `$.send.email`: `smtps://user:password@host`, or `smtp://` for STARTTLS, with `?tls=none` for none
    #[arg(long, value_name = "URL", env = "WELLSPRING_SMTP_URL", hide_env_values = true)]
    smtp_url: Option<String>,
    /// What e-mail is sent from: `noreply@example.com`, or `Wellspring <noreply@example.com>`
    #[arg(long, value_name = "ADDRESS", env = "WELLSPRING_SMTP_FROM")]
    smtp_from: Option<String>,
    /// Whom tenants may write to: `owner`, the address of their own account, or `any` [default: owner]
    #[arg(long, value_name = "WHOM", env = "WELLSPRING_SMTP_RECIPIENTS", value_enum, hide_possible_values = true)]
    smtp_recipients: Option<SmtpRecipients>,
    /// The object store of `$.send.s3`, which speaks the protocol of Amazon S3: `https://s3.example.com`. The secret key is in
    /// the environment: `WELLSPRING_S3_SECRET_ACCESS_KEY`
    #[arg(long, value_name = "URL", env = "WELLSPRING_S3_ENDPOINT")]
    s3_endpoint: Option<String>,
    /// Its region [default: us-east-1]
    #[arg(long, value_name = "REGION", env = "WELLSPRING_S3_REGION")]
    s3_region: Option<String>,
    /// The id of the key that it is used with
    #[arg(long, value_name = "ID", env = "WELLSPRING_S3_ACCESS_KEY_ID")]
    s3_access_key_id: Option<String>,
    /// Which buckets tenants may put objects into: `[TENANT@]BUCKET`. Repeatable, or separated by commas; without any, none
    #[arg(long, value_name = "BUCKET", env = "WELLSPRING_S3_BUCKET", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    s3_bucket: Vec<String>,
}

/// Whom e-mail may go to.
#[derive(clap::ValueEnum, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SmtpRecipients {
    /// The address of the tenant's own account
    Owner,
    /// Everyone
    Any,
}
