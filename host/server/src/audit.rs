//! Builds the audit entry of a request: the route, the ids, the client's address, the request id and the status.
//!
//! Never a body or a parameter that is not an id. What a client wrote where an id belongs may be anything, also a key
//! that was pasted into the wrong place: unless the call succeeded, only what has the shape of an id is recorded.

use std::collections::BTreeMap;

use domain::ids::UserId;
use hyper::http::request;
use platform::manage::audit::{self, FIELD_CHARACTERS_MAXIMUM};
use platform::records::{AuditEntry, Via};
use platform::{Caller, Error, KeyProblem, Platform};

use crate::api::{Answer, Parameters, status_of};
use crate::app::App;
use crate::body::Peer;
use crate::front::REQUEST_ID;
use crate::ingress::client_ip;
use crate::operator_socket::Trusted;

/// Parameters beside the path that say what a change is about.
const IDS: [&str; 5] = ["component_id", "emitter_id", "listener_id", "name_slug", "key"];
/// Prefixes of ids, each with letters and digits after it.
const PREFIXES: [&str; 11] = ["dc_", "sc_", "p_", "ds_", "wh_", "sub_", "apn_", "u_", "key_", "ses_", "con_"];

/// An entry whose end is not known yet.
pub(crate) struct Auditing {
    entry: AuditEntry,
}

/// What is known of a request before it is authenticated.
pub(crate) struct Origin {
    action: String,
    from: Option<String>,
    request_id: Option<String>,
}

// === impl Origin ===

impl Origin {
    pub(crate) fn new(app: &App, head: &request::Parts, template: &str) -> Self {
        let peer = head.extensions.get::<Peer>().map(|Peer(address)| address.ip());
        let is_operator = head.extensions.get::<Trusted>().is_some();
        let from = peer.filter(|_| !is_operator).map(|peer| client_ip(peer, &head.headers, app.trusted_proxies()));
        let request_id = head.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).map(cut);
        Self { action: format!("{} {template}", head.method), from: from.map(|from| from.to_string()), request_id }
    }

    pub(crate) fn by(self, caller: &Caller) -> Auditing {
        let is_installation = caller.key.is_none() && caller.user.id == Caller::operator().user.id;
        let via = match &caller.key {
            Some(key) => Via::Key { key_id: key.id.clone(), key_name: key.name.as_deref().map(cut) },
            None => Via::Operator,
        };
        let user_id = (!is_installation).then(|| caller.user.id.clone());
        let username = (!is_installation).then(|| cut(&caller.user.username));
        Auditing { entry: self.entry(user_id, username, via) }
    }

    /// A request that was refused after it was authenticated.
    pub(crate) async fn refused(self, platform: &Platform, caller: Option<&Caller>, error: &Error) {
        let auditing = match (caller, error) {
            (Some(caller), _) => self.by(caller),
            (None, Error::Unauthenticated(KeyProblem::Expired { user, key })) => {
                let via = Via::Key { key_id: key.clone(), key_name: None };
                Auditing { entry: self.entry(Some(user.clone()), None, via) }
            }
            (None, _) => return,
        };
        auditing.end(platform, status_of(error)).await;
    }

    fn entry(self, user_id: Option<UserId>, username: Option<String>, via: Via) -> AuditEntry {
        let Self { action, from, request_id } = self;
        AuditEntry { user_id, username, via, action, ids: BTreeMap::new(), from, status: 0, request_id }
    }
}

// === impl Auditing ===

impl Auditing {
    pub(crate) fn about(mut self, path: &[(&'static str, String)], parameters: &Parameters) -> Self {
        let of_path = path.iter().map(|(name, value)| (*name, Some(value.clone())));
        let given = IDS.into_iter().map(|name| (name, parameters.text(name).ok().flatten()));
        for (name, value) in of_path.chain(given) {
            if let Some(value) = value {
                self.entry.ids.insert(name.to_owned(), cut(&value));
            }
        }
        self
    }

    /// Runs the use case and records how it ended.
    pub(crate) async fn around(
        mut self,
        app: std::sync::Arc<App>,
        work: impl Future<Output = Result<Answer, Error>>,
    ) -> Result<Answer, Error> {
        let answered = work.await;
        let status = match &answered {
            Ok(answer) => {
                if let Some(id) = answer.id() {
                    self.entry.ids.entry("id".to_owned()).or_insert_with(|| cut(id));
                }
                answer.status().as_u16()
            }
            Err(error) => status_of(error),
        };
        self.end(app.platform(), status).await;
        answered
    }

    pub(crate) async fn end(mut self, platform: &Platform, status: u16) {
        self.entry.status = status;
        if status >= 400 {
            self.entry.ids.retain(|_, value| is_id(value));
        }
        audit::record(platform, &self.entry).await;
    }
}

fn is_id(text: &str) -> bool {
    let random = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix));
    random.is_some_and(|random| {
        matches!(random.len(), 12 | 16) && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn cut(text: &str) -> String {
    text.chars().take(FIELD_CHARACTERS_MAXIMUM).collect()
}
