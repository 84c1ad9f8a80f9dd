//! The shape of a provider file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How accounts of one service are connected and used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Provider {
    /// For editors.
    #[serde(rename = "$schema", default, skip_serializing)]
    pub schema: Option<String>,
    /// What components call it: `google_drive`.
    pub slug: String,
    /// What people call it.
    pub name: String,
    pub auth: Auth,
    /// What a user types in when an account is connected. `$auth` holds each by its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// Where credentials of this app may be sent: `api.example.com`, `*.example.com`, `{{ domain }}.example.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What a request of an account carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placement: Vec<Placement>,
    /// How to tell whose account it is; also tests the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// How to test credentials when there is no profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Request>,
    /// Where an operator registers a client, or a user makes a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
}

/// How an account proves who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(clippy::large_enum_variant, reason = "one for each app; a box would be in the way of every match")]
pub enum Auth {
    /// The service asks for nothing.
    None,
    /// Keys that a user pastes: `fields`.
    Keys,
    /// A user name and a password: `fields` has both.
    Basic,
    Oauth2(Oauth2),
    Oauth1(Oauth1),
    /// A token for the client itself, without a user (RFC 6749, section 4.4).
    ClientCredentials(ClientCredentials),
}

/// The authorization code flow (RFC 6749, section 4.1), always with PKCE (RFC 7636).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Oauth2 {
    pub authorization_url: String,
    pub token_url: String,
    /// Where refresh tokens are used, when it is not `token_url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    /// Of the device authorization grant (RFC 8628).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_url: Option<String>,
    /// Asked for unless the operator or the user says otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// A space when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_separator: Option<String>,
    /// The parameter that carries the scopes: `scope` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_parameter: Option<String>,
    /// Whether `scope` of the token answer says what was granted, so that what is missing can be told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub checks_scopes: bool,
    #[serde(default)]
    pub pkce: Pkce,
    #[serde(default)]
    pub client_auth: ClientAuth,
    /// Further parameters of the authorization request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Further parameters of token requests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub token_parameters: BTreeMap<String, String>,
    /// Where the access token is in the answer, as a JSON pointer: `/access_token` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_token: Option<String>,
    /// What else of the token answer `$auth` holds: a name and a JSON pointer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answer_fields: BTreeMap<String, String>,
    /// How long an access token lives when the answer does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// What `iss` of the callback must be (RFC 9207). With it, a callback without `iss` is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoke: Option<Revocation>,
}

/// Three-legged OAuth 1.0a (RFC 5849) with HMAC-SHA1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Oauth1 {
    pub request_url: String,
    pub authorization_url: String,
    pub token_url: String,
    /// Further parameters of the authorization request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The parameter of the token answer that names the account: `user_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientCredentials {
    pub token_url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    #[serde(default)]
    pub client_auth: ClientAuth,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub token_parameters: BTreeMap<String, String>,
    /// The fields that hold the client's id and secret.
    #[serde(default = "client_id_field")]
    pub client_id_field: String,
    #[serde(default = "client_secret_field")]
    pub client_secret_field: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Pkce {
    #[default]
    S256,
    #[serde(rename = "plain")]
    Plain,
}

/// How the client proves itself at a token endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ClientAuth {
    /// `client_id` and `client_secret` in the body.
    #[default]
    Body,
    /// HTTP basic authentication.
    Basic,
    /// As `basic`, and the parameters are sent as JSON.
    BasicJson,
}

/// One thing a user types in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Field {
    /// Its name in `$auth`.
    pub name: String,
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is hidden while it is typed, and kept out of a sandbox that uses `auth: "proxy"`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub secret: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    #[serde(default)]
    pub format: FieldFormat,
}

/// What a field may hold. What becomes part of an address is never free text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum FieldFormat {
    #[default]
    Text,
    /// One part of a host name, or of a path: letters, digits, `-` and `_`.
    Label,
    /// A host name.
    Host,
}

/// One header or one parameter of the query that carries credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Placement {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// A template over `$auth`: `Bearer {{ oauth_access_token }}`.
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Encoding {
    /// `Basic ` and the value in base64; the value is `user:password`.
    Basic,
}

/// The request that says whose account it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Profile {
    pub url: String,
    /// `GET` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A JSON pointer to what identifies the account: `oauth_uid` of `$auth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// JSON pointers to what people know the account by; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Request {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// How a token is given back when an account is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Revocation {
    pub url: String,
    #[serde(default)]
    pub style: RevocationStyle,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum RevocationStyle {
    /// RFC 7009: `token` in a form, the client as at the token endpoint.
    #[default]
    Form,
    /// `POST` with the token as a bearer.
    Bearer,
    /// `DELETE` with `access_token` as JSON and the client in basic authentication, as GitHub has it.
    DeleteJson,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}

fn client_id_field() -> String {
    "client_id".to_owned()
}

fn client_secret_field() -> String {
    "client_secret".to_owned()
}

// === impl Auth ===

impl Auth {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Keys => "keys",
            Self::Basic => "basic",
            Self::Oauth2(_) => "oauth2",
            Self::Oauth1(_) => "oauth1",
            Self::ClientCredentials(_) => "client_credentials",
        }
    }

    /// Whether a client has to be registered with the service first.
    pub fn needs_client(&self) -> bool {
        matches!(self, Self::Oauth2(_) | Self::Oauth1(_))
    }
}

// === impl Provider ===

impl Provider {
    /// What is sent to test credentials, or to find out whose they are.
    pub fn test_request(&self) -> Option<Request> {
        let of_profile = |profile: &Profile| Request {
            url: profile.url.clone(),
            method: profile.method.clone(),
            headers: profile.headers.clone(),
        };
        self.test.clone().or_else(|| self.profile.as_ref().map(of_profile))
    }

    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(|field| field.secret).map(|field| field.name.as_str())
    }

    /// An app of which nothing is known but its name: a user pastes what components read.
    pub fn bare(slug: &str, name: &str, auth: Auth) -> Self {
        Self {
            schema: None,
            slug: slug.to_owned(),
            name: name.to_owned(),
            auth,
            fields: Vec::new(),
            hosts: Vec::new(),
            placement: Vec::new(),
            profile: None,
            test: None,
            documentation: None,
        }
    }
}

// === impl Oauth2 ===

impl Oauth2 {
    pub fn separator(&self) -> &str {
        self.scope_separator.as_deref().unwrap_or(" ")
    }

    pub fn refresh_url(&self) -> &str {
        self.refresh_url.as_deref().unwrap_or(&self.token_url)
    }
}
