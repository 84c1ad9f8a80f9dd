//! The documents themselves. A page is made of texts, never of markup that came from elsewhere.

use std::fmt::Write;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::apps::Field;
use domain::problem::Problem;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use platform::manage::connects::{ConnectProblem, LinkPage};
use sha2::{Digest, Sha256};

use crate::body::{Body, full};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:0;background:#f6f7f9;color:#1c2024}\
main{max-width:30rem;margin:10vh auto;padding:2rem;background:#fff;border:1px solid #d9dde3;border-radius:12px}\
h1{font-size:1.35rem;margin:0 0 .75rem}p{margin:.5rem 0}small,.quiet{color:#5b6470}\
label{display:block;margin:1rem 0 0;font-weight:600}\
input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.5rem .6rem;margin:.25rem 0;\
border:1px solid #b6bdc7;border-radius:8px}\
.button{display:inline-block;margin-top:1.25rem;font:inherit;font-weight:600;padding:.6rem 1.1rem;border:0;\
border-radius:8px;background:#1f5fd1;color:#fff;text-decoration:none;cursor:pointer}\
.problem{color:#b3261e}ul{padding-left:1.2rem}code{font-size:.9em;overflow-wrap:anywhere}\
@media(prefers-color-scheme:dark){body{background:#15181c;color:#e6e8eb}main{background:#1d2126;border-color:#343a42}\
small,.quiet{color:#9aa3ae}input{background:#15181c;color:inherit;border-color:#4a525c}.problem{color:#ffb4ab}}";

/// No script, no frame, nothing from elsewhere; the one style by its digest; forms only to this server.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
});

/// A document.
pub(super) struct Page {
    title: String,
    /// Where the browser goes by itself.
    refresh: Option<String>,
    body: String,
}

// === impl Page ===

impl Page {
    /// What the app needs, and what will happen.
    pub(super) fn form(link: &LinkPage, problems: &[Problem]) -> Self {
        let verb = if link.is_reconnect { "Reconnect" } else { "Connect" };
        let mut page = Self::new(&format!("{verb} {}", link.app));
        page.text(&format!(
            "Your account of {} will be connected to the user {} of this Wellspring server, whose sources and workflows can \
             then act with it. Go on only if you expected this.",
            link.app, link.username
        ));
        page.body.push_str("<form method=\"post\" autocomplete=\"off\">");
        for field in &link.fields {
            let wrong = problems.iter().find(|problem| problem.path == field.name);
            page.field(field, wrong.map(|problem| problem.message.as_str()));
        }
        if !link.scopes.is_empty() {
            page.text("It is asked for:");
            page.body.push_str("<ul class=\"quiet\">");
            for scope in &link.scopes {
                let _ = write!(page.body, "<li><code>{}</code></li>", escape(scope));
            }
            page.body.push_str("</ul>");
        }
        let button = match &link.provider_host {
            Some(host) => format!("Continue to {host}"),
            None => format!("{verb} the account"),
        };
        let _ = write!(page.body, "<button class=\"button\">{}</button></form>", escape(&button));
        page
    }

    /// On to the provider. A page and not a redirect: the policy of the form would count for every redirect that follows.
    pub(super) fn leaving(app: &str, url: &str) -> Self {
        let mut page = Self::new(&format!("Continuing to {app}"));
        page.text("If nothing happens, follow the link.");
        let _ = write!(page.body, "<a class=\"button\" href=\"{}\">Continue</a>", escape(url));
        Self { refresh: Some(url.to_owned()), ..page }
    }

    pub(super) fn connected(app: &str, name: &str) -> Self {
        let mut page = Self::new(&format!("{app} is connected"));
        page.text(&format!("The account {name} can be used now. You can close this page."));
        page
    }

    pub(super) fn foreign() -> Self {
        let mut page = Self::new("This was not sent from here");
        page.text("Another site tried to connect an account in your name. Nothing was done. If you want to connect one, open the link that you were given.");
        page
    }

    pub(super) fn malformed() -> Self {
        let mut page = Self::new("This request cannot be read");
        page.text("Open the link that you were given once more.");
        page
    }

    /// What happened, and what to do.
    pub(super) fn problem(problem: &ConnectProblem) -> Self {
        let (title, what_to_do) = match problem {
            ConnectProblem::Link => ("This link has ended", "Ask for a new one: wellspring accounts connect APP"),
            ConnectProblem::State => (
                "This answer was not expected",
                "Nothing was connected. Open the link once more, or ask for a new one if it is older than a quarter of an hour.",
            ),
            ConnectProblem::Browser => (
                "This was begun in another browser",
                "Nothing was connected. Open the link in this browser and go through it from its beginning. If you never \
                 opened such a link, it may be an attempt to use your sign-in: close this page.",
            ),
            ConnectProblem::Issuer => (
                "This answer comes from another server",
                "Nothing was connected. Tell the operator of this server: the provider may be configured wrongly, or attacked.",
            ),
            ConnectProblem::Denied { .. } => {
                ("Access was denied", "Nothing was connected. Open the link once more to try again.")
            }
            ConnectProblem::Provider { .. } => (
                "The service did not agree",
                "Nothing was connected. Open the link once more; if it fails again, the operator should check the client of the app.",
            ),
            ConnectProblem::WrongAccount { .. } => (
                "This is another account",
                "Nothing was changed. Sign out at the service, then open the link once more and sign in as the account that is reconnected; or connect this one as a new account.",
            ),
            ConnectProblem::MissingScopes { .. } => (
                "Not everything was granted",
                "Nothing was connected. Open the link once more, and leave every permission checked.",
            ),
            ConnectProblem::Fields(_) => ("Something is missing", "Open the link once more."),
            ConnectProblem::Failed(_) => ("This did not work", "Open the link once more, later."),
        };
        let mut page = Self::new(title);
        let said = match problem {
            // The host's own failures are for the operator.
            ConnectProblem::Failed(error) if !is_for_users(error) => "The server could not finish it.".to_owned(),
            other => capitalised(&other.to_string()),
        };
        let _ = write!(page.body, "<p class=\"problem\">{}</p>", escape(&said));
        page.text(what_to_do);
        page
    }

    fn new(title: &str) -> Self {
        let body = format!("<h1>{}</h1>", escape(title));
        Self { title: title.to_owned(), refresh: None, body }
    }

    fn text(&mut self, text: &str) {
        let _ = write!(self.body, "<p>{}</p>", escape(text));
    }

    fn field(&mut self, field: &Field, wrong: Option<&str>) {
        let kind = if field.secret { "password" } else { "text" };
        let required = if field.optional { "" } else { " required" };
        let name = escape(&field.name);
        let _ = write!(self.body, "<label for=\"{name}\">{}</label>", escape(&field.label));
        let _ = write!(
            self.body,
            "<input id=\"{name}\" name=\"{name}\" type=\"{kind}\" autocomplete=\"off\" spellcheck=\"false\"{required}>"
        );
        if let Some(description) = &field.description {
            let _ = write!(self.body, "<small>{}</small>", escape(description));
        }
        if let Some(wrong) = wrong {
            let _ = write!(self.body, "<p class=\"problem\">{} {}</p>", escape(&field.label), escape(wrong));
        }
    }

    pub(super) fn answer(self, status: StatusCode) -> Response<Body> {
        let refresh = self
            .refresh
            .as_ref()
            .map_or_else(String::new, |url| format!("<meta http-equiv=\"refresh\" content=\"0;url={}\">", escape(url)));
        let html = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">{refresh}<title>{}</title>\
             <style>{STYLE}</style></head><body><main>{}</main></body></html>",
            escape(&self.title),
            self.body
        );
        let mut response = Response::new(full(html));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        if let Ok(policy) = HeaderValue::try_from(POLICY.as_str()) {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        // Addresses of these pages hold secrets; to this server they are known, and a form needs its origin.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
        response
    }
}

/// Whether a failure is one that its user can do something about.
fn is_for_users(error: &platform::Error) -> bool {
    matches!(
        error,
        platform::Error::TooMany { .. } | platform::Error::NoClient { .. } | platform::Error::NotConnected { .. }
    )
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect::<String>()) + "."
}

/// Text that stays text, between tags and within quotes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
