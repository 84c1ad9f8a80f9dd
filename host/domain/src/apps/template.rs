//! `{{ name }}` in addresses, hosts and headers of a provider file.

use url::Url;

/// A template that cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("`{name}` is not given")]
    Missing { name: String },
    #[error("`{{{{` is not closed")]
    Unclosed,
    #[error("it does not make an address of HTTPS")]
    NotAnAddress,
}

/// The text with its names replaced. Values are put in as they are: [`super::FieldFormat`] says what an address may hold.
pub fn render(template: &str, value_of: &dyn Fn(&str) -> Option<String>) -> Result<String, TemplateError> {
    let mut rendered = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or(TemplateError::Unclosed)?;
        rendered.push_str(before);
        let name = name.trim();
        rendered.push_str(&value_of(name).ok_or_else(|| TemplateError::Missing { name: name.to_owned() })?);
        rest = after;
    }
    rendered.push_str(rest);
    Ok(rendered)
}

/// An address to send credentials to: HTTPS, or plain HTTP on this machine, for a provider that is being tried out.
pub fn render_url(template: &str, value_of: &dyn Fn(&str) -> Option<String>) -> Result<Url, TemplateError> {
    let url = Url::parse(&render(template, value_of)?).map_err(|_| TemplateError::NotAnAddress)?;
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(&url));
    let has_user = !url.username().is_empty() || url.password().is_some();
    if is_safe && !has_user && url.host().is_some() { Ok(url) } else { Err(TemplateError::NotAnAddress) }
}

/// The names in a template.
pub fn names(template: &str) -> Vec<String> {
    let mut found = Vec::new();
    let asked = std::cell::RefCell::new(&mut found);
    // What is missing is not missed here: every name has a value.
    let _ = render(template, &|name| {
        asked.borrow_mut().push(name.to_owned());
        Some(String::new())
    });
    found
}

pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Whether a host is one of a provider's: the same name, or below `*.`.
pub fn host_matches(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(parent) => host
            .len()
            .checked_sub(parent.len() + 1)
            .is_some_and(|dot| host.is_char_boundary(dot) && host.get(dot..).is_some_and(|end| is_below(end, parent))),
        None => pattern.eq_ignore_ascii_case(host),
    }
}

fn is_below(end: &str, parent: &str) -> bool {
    end.strip_prefix('.').is_some_and(|name| name.eq_ignore_ascii_case(parent))
}
