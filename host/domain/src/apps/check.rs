//! Checks a provider file beyond its shape, and the values of its fields.

use std::collections::BTreeMap;

use serde_json::Value;

use super::template::{names, render_url};
use super::{Auth, Field, FieldFormat, Provider, names as auth_names};
use crate::problem::Problem;

const SLUG_BYTES_MAXIMUM: usize = 64;
/// What a user types in, each.
const FIELD_BYTES_MAXIMUM: usize = 16 << 10;

// === impl Provider ===

impl Provider {
    pub fn parse(value: &Value) -> Result<Self, Vec<Problem>> {
        let provider: Self =
            serde_json::from_value(value.clone()).map_err(|error| vec![Problem::new("provider", error.to_string())])?;
        let problems = provider.problems();
        if problems.is_empty() { Ok(provider) } else { Err(problems) }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |path: &str, message: String| problems.push(Problem::new(path, message));
        let is_slug = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        if self.slug.is_empty() || self.slug.len() > SLUG_BYTES_MAXIMUM || !self.slug.bytes().all(is_slug) {
            add("slug", "must be 1 to 64 of a-z, 0-9 and _".into());
        }
        if self.name.trim().is_empty() || self.name.len() > SLUG_BYTES_MAXIMUM {
            add("name", "must have 1 to 64 bytes".into());
        }
        for field in &self.fields {
            if !field.name.starts_with(|first: char| first.is_ascii_lowercase()) || !field.name.bytes().all(is_slug) {
                add("fields", format!("`{}` must be a-z, 0-9 and _", field.name));
            }
        }
        for (path, template) in self.addresses() {
            self.check_address(path, template, &mut add);
        }
        for host in &self.hosts {
            let name = host.strip_prefix("*.").unwrap_or(host);
            self.check_address("hosts", &format!("https://{name}/"), &mut add);
        }
        self.check_placement(&mut add);
        self.check_auth(&mut add);
        problems
    }

    fn addresses(&self) -> Vec<(&'static str, &str)> {
        let mut found: Vec<(&'static str, &str)> = Vec::new();
        match &self.auth {
            Auth::Oauth2(oauth) => {
                found.push(("auth.authorization_url", &oauth.authorization_url));
                found.push(("auth.token_url", &oauth.token_url));
                found.push(("auth.refresh_url", oauth.refresh_url()));
                found.extend(oauth.device_url.as_deref().map(|url| ("auth.device_url", url)));
                found.extend(oauth.revoke.as_ref().map(|revoke| ("auth.revoke.url", revoke.url.as_str())));
            }
            Auth::Oauth1(oauth) => {
                found.push(("auth.request_url", &oauth.request_url));
                found.push(("auth.authorization_url", &oauth.authorization_url));
                found.push(("auth.token_url", &oauth.token_url));
            }
            Auth::ClientCredentials(oauth) => found.push(("auth.token_url", &oauth.token_url)),
            Auth::None | Auth::Keys | Auth::Basic => {}
        }
        found.extend(self.profile.as_ref().map(|profile| ("profile.url", profile.url.as_str())));
        found.extend(self.test.as_ref().map(|test| ("test.url", test.url.as_str())));
        found.extend(self.documentation.as_deref().map(|url| ("documentation", url)));
        found
    }

    /// Only fields whose format cannot change the host, and what the token answer says, may be part of an address.
    fn check_address(&self, path: &str, template: &str, add: &mut impl FnMut(&str, String)) {
        for name in names(template) {
            let field = self.fields.iter().find(|field| field.name == name);
            let is_answered = self.is_answered(&name);
            match field {
                Some(field) if field.format == FieldFormat::Text && !field.secret => {
                    add(path, format!("`{name}` is part of an address, so its format is `label` or `host`"));
                }
                None if !is_answered && name != "client_id" => add(path, format!("there is no field `{name}`")),
                _ => {}
            }
        }
        if render_url(template, &|_| Some("a".to_owned())).is_err() {
            add(path, "must be an address of HTTPS".into());
        }
    }

    fn is_answered(&self, name: &str) -> bool {
        match &self.auth {
            Auth::Oauth2(oauth) => oauth.answer_fields.contains_key(name) || name.starts_with("oauth_"),
            Auth::Oauth1(_) | Auth::ClientCredentials(_) => name.starts_with("oauth_"),
            _ => false,
        }
    }

    fn check_placement(&self, add: &mut impl FnMut(&str, String)) {
        for placement in &self.placement {
            if placement.header.is_some() == placement.query.is_some() {
                add("placement", "needs one of `header` and `query`".into());
            }
            for name in names(&placement.value) {
                if !self.is_answered(&name) && !self.fields.iter().any(|field| field.name == name) {
                    add("placement", format!("there is no field `{name}`"));
                }
            }
        }
        if !self.placement.is_empty() && self.hosts.is_empty() {
            add("hosts", "is needed beside `placement`: credentials are sent nowhere else".into());
        }
    }

    fn check_auth(&self, add: &mut impl FnMut(&str, String)) {
        let has = |name: &str| self.fields.iter().any(|field| field.name == name);
        match &self.auth {
            Auth::Basic if self.fields.len() < 2 => add("fields", "needs a user name and a password".into()),
            Auth::ClientCredentials(oauth) if !has(&oauth.client_id_field) || !has(&oauth.client_secret_field) => {
                add("fields", "needs the id and the secret of the client".into());
            }
            Auth::Oauth2(oauth) => {
                for pointer in oauth.answer_fields.values().chain(&oauth.access_token) {
                    if !pointer.starts_with('/') {
                        add("auth", format!("`{pointer}` is not a JSON pointer, such as /access_token"));
                    }
                }
            }
            _ => {}
        }
        let reserved = [auth_names::ACCESS_TOKEN, auth_names::CLIENT_ID, auth_names::UID];
        if self.fields.iter().any(|field| reserved.contains(&field.name.as_str())) && self.auth.needs_client() {
            add("fields", "names that begin with `oauth_` are filled in by the platform".into());
        }
    }

    /// The values of its fields as a user gave them, checked: none missing, none unknown, each of its format.
    pub fn read_fields(&self, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut read = BTreeMap::new();
        for field in &self.fields {
            let value = given.get(&field.name).map(|value| value.trim()).filter(|value| !value.is_empty());
            match value {
                None if field.optional => {}
                None => problems.push(Problem::new(field.name.clone(), "is required")),
                Some(value) => match field.problem(value) {
                    Some(message) => problems.push(Problem::new(field.name.clone(), message)),
                    None => drop(read.insert(field.name.clone(), value.to_owned())),
                },
            }
        }
        for name in given.keys().filter(|name| !self.fields.iter().any(|field| field.name == **name)) {
            let known = self.fields.iter().map(|field| field.name.as_str());
            let close = crate::problem::did_you_mean(name, known);
            problems.push(Problem::new(name.clone(), format!("is not a field of {}{close}", self.name)));
        }
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }
}

// === impl Field ===

impl Field {
    fn problem(&self, value: &str) -> Option<&'static str> {
        let is_label = |text: &str| {
            !text.is_empty()
                && text.len() <= 128
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if value.len() > FIELD_BYTES_MAXIMUM {
            return Some("has at most 16 KiB");
        }
        if value.chars().any(char::is_control) {
            return Some("must be one line of text");
        }
        match self.format {
            FieldFormat::Label if !is_label(value) => Some("must be letters, digits, - and _ only, such as `acme`"),
            FieldFormat::Host if !value.split('.').all(is_label) || !value.contains('.') => {
                Some("must be a host name, such as `acme.example.com`, without https://")
            }
            _ => None,
        }
    }
}
