//! One line of the audit log: who did what, from where, and how it ended. Never a body, never a secret.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::ids::UserId;
use serde::{Deserialize, Serialize};

use super::{RecordError, decode_as, encode_as};

const KIND: &str = "audit";
const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The account that made the request; none for the operator.
    pub user_id: Option<UserId>,
    pub username: Option<String>,
    #[serde(flatten)]
    pub via: Via,
    /// Method and template of the route: `DELETE /v1/sources/{id}`.
    pub action: String,
    /// What it was about, by the names of the parameters.
    pub ids: BTreeMap<String, String>,
    /// The client's address; none at the operator's socket.
    pub from: Option<String>,
    pub status: u16,
    pub request_id: Option<String>,
}

/// What let the request in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "via", rename_all = "snake_case")]
pub enum Via {
    Key {
        key_id: String,
        key_name: Option<String>,
    },
    /// The socket of the data folder, or the folder itself.
    Operator,
    /// The link of a wish to connect an account, which the user handed out.
    Link,
}

// === impl AuditEntry ===

impl AuditEntry {
    pub fn encode(&self) -> Result<Bytes, RecordError> {
        encode_as(KIND, VERSION, self)
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        decode_as(KIND, VERSION, bytes)
    }
}
