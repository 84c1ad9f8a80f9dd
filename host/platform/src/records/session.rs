//! Sessions of the console, and the links that begin one.

use serde::{Deserialize, Serialize};

use super::Stored;

/// What a token of [`Session`] is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// A browser sends it with every request.
    Browser,
    /// Begins one session, once.
    Link,
}

/// Kept with the account, as its keys are. The token itself is never stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Names the session without telling its token.
    pub id: String,
    /// SHA-256 of the token, in hex.
    pub hash: String,
    /// The key that it was begun with: it does no more than that key, and ends with it.
    pub key_id: String,
    pub kind: SessionKind,
    pub created_at: u64,
    /// Epoch seconds; moves on while the session is used.
    pub expires_at: u64,
}

// === impl Session ===

impl Session {
    /// A working day, counted from the last use.
    const IDLE_SECONDS: u64 = 12 * 3600;
    /// After a week a session ends even when it is in use.
    const LONGEST_SECONDS: u64 = 7 * 86_400;
    /// A use moves the end on at most this often, so that few requests cost a write.
    const RENEWAL_SECONDS: u64 = 600;
    /// Long enough to open what a terminal shows.
    const LINK_SECONDS: u64 = 15 * 60;

    pub fn new(hash: String, key_id: String, kind: SessionKind, now_seconds: u64) -> Self {
        let id = format!("ses_{}", hash.chars().take(16).collect::<String>());
        let lifetime = match kind {
            SessionKind::Browser => Self::IDLE_SECONDS,
            SessionKind::Link => Self::LINK_SECONDS,
        };
        Self { id, hash, key_id, kind, created_at: now_seconds, expires_at: now_seconds.saturating_add(lifetime) }
    }

    pub fn is_expired(&self, now_seconds: u64) -> bool {
        self.expires_at <= now_seconds
    }

    /// With a later end, when a use now moves it on.
    pub fn renewed(&self, now_seconds: u64) -> Option<Self> {
        let last = self.created_at.saturating_add(Self::LONGEST_SECONDS);
        let expires_at = now_seconds.saturating_add(Self::IDLE_SECONDS).min(last);
        let is_due = expires_at >= self.expires_at.saturating_add(Self::RENEWAL_SECONDS);
        (self.kind == SessionKind::Browser && is_due).then(|| Self { expires_at, ..self.clone() })
    }
}

impl Stored for Session {
    const KIND: &'static str = "session";
    as_json!();

    fn id(&self) -> String {
        self.id.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_twelve_hours_after_its_last_use_and_after_a_week_in_any_case() {
        let mut session = Session::new("h".repeat(64), "key_1".into(), SessionKind::Browser, 0);
        assert!(!session.is_expired(12 * 3600 - 1) && session.is_expired(12 * 3600));

        assert!(session.renewed(599).is_none(), "a use soon after costs no write");
        for now_seconds in (600..20 * 86_400).step_by(600) {
            if !session.is_expired(now_seconds)
                && let Some(renewed) = session.renewed(now_seconds)
            {
                session = renewed;
            }
        }

        assert_eq!(session.expires_at, 7 * 86_400);
    }

    #[test]
    fn a_link_is_good_for_a_quarter_of_an_hour_and_is_not_renewed() {
        let link = Session::new("h".repeat(64), "key_1".into(), SessionKind::Link, 0);

        assert!(!link.is_expired(899) && link.is_expired(900));
        assert!(link.renewed(899).is_none());
    }
}
