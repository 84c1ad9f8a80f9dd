//! Whether a request may be made: which caller it is of, and whether the caller's key allows it.

use hyper::header::AUTHORIZATION;
use hyper::http::request;
use hyper::{HeaderMap, Method, Response};
use platform::manage::{keys, sessions};
use platform::{Caller, Error, KeyProblem, Secret};

use super::App;
use crate::audit::Origin;
use crate::body::Body;
use crate::front::take_turns_of;
use crate::operator_socket::Trusted;
use crate::route::Access;
use crate::{routes, session};

impl App {
    /// Lets a request in, or answers 401 or 403.
    pub(super) async fn admit(
        &self,
        access: Access,
        head: &request::Parts,
        template: &str,
    ) -> Result<Option<Caller>, Response<Body>> {
        let Access::Key(scope) = access else {
            return Ok(None);
        };
        let (caller, error) = match self.authenticate(head, template).await {
            Ok(caller) => {
                take_turns_of(caller.tenant.as_str(), head);
                match caller.require(scope) {
                    Ok(()) => return Ok(Some(caller)),
                    Err(error) => (Some(caller), error),
                }
            }
            Err(error) => (None, error),
        };
        Origin::new(self, head, template).refused(self.platform(), caller.as_ref(), &error).await;
        Err(self.refuse_error(error))
    }

    /// By the operator's socket, a key, a one-time link where sessions begin, or the cookie of a session, in this order.
    async fn authenticate(&self, head: &request::Parts, template: &str) -> Result<Caller, Error> {
        if let Some(Trusted(caller)) = head.extensions.get() {
            return Ok(caller.clone());
        }
        if let Some(key) = presented_key(&head.headers) {
            let is_link = key.expose().starts_with(sessions::LINK_PREFIX) && template == routes::SESSIONS;
            return match is_link && head.method == Method::POST {
                true => sessions::redeem(self.platform(), &key).await,
                false => keys::authenticate(self.platform(), &key).await,
            };
        }
        match session::presented(head, self.platform()) {
            Some(token) => sessions::authenticate(self.platform(), &token).await,
            None => Err(KeyProblem::Unknown.into()),
        }
    }
}

fn presented_key(headers: &HeaderMap) -> Option<Secret<String>> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then(|| Secret::new(key.to_owned()))
}
