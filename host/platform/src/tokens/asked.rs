//! What a refresh asks of a token endpoint, by the kind of the grant.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::apps::{Auth, ClientAuth, Oauth2, Pkce, Provider};

/// What a refresh asks for.
pub(super) struct Asked<'a> {
    pub(super) url: &'a str,
    pub(super) client_auth: ClientAuth,
    pub(super) grant: Vec<(&'a str, &'a str)>,
    /// Of a client that asks for itself; a refresh token stands for its scopes.
    pub(super) scope: Option<String>,
    pub(super) more: &'a BTreeMap<String, String>,
    pub(super) oauth: Cow<'a, Oauth2>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(provider: &'a Provider, refresh_token: &'a str) -> Option<Self> {
        match &provider.auth {
            Auth::Oauth2(oauth) => Some(Self {
                url: oauth.refresh_url(),
                client_auth: oauth.client_auth,
                grant: vec![("grant_type", "refresh_token"), ("refresh_token", refresh_token)],
                scope: None,
                more: &oauth.token_parameters,
                oauth: Cow::Borrowed(oauth),
            }),
            Auth::ClientCredentials(oauth) => Some(Self {
                url: &oauth.token_url,
                client_auth: oauth.client_auth,
                grant: vec![("grant_type", "client_credentials")],
                scope: (!oauth.scopes.is_empty()).then(|| oauth.scopes.join(" ")),
                more: &oauth.token_parameters,
                oauth: Cow::Owned(plain_answers(&oauth.token_url)),
            }),
            _ => None,
        }
    }
}

/// A token endpoint whose answers are those of the standard.
pub(crate) fn plain_answers(token_url: &str) -> Oauth2 {
    Oauth2 {
        authorization_url: token_url.to_owned(),
        token_url: token_url.to_owned(),
        refresh_url: None,
        device_url: None,
        scopes: Vec::new(),
        scope_separator: None,
        scope_parameter: None,
        checks_scopes: false,
        pkce: Pkce::S256,
        client_auth: ClientAuth::Body,
        parameters: BTreeMap::new(),
        token_parameters: BTreeMap::new(),
        access_token: None,
        answer_fields: BTreeMap::new(),
        expires_in_seconds: None,
        issuer: None,
        revoke: None,
    }
}
