//! URLs, as the WHATWG writes them.

use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result};
use url::{Host, Url, quirks};

/// `[href, protocol, username, password, host, hostname, port, pathname, search, hash, origin]`
type Parts = Vec<String>;

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("urlParse", Func::from(|url: String, base: Option<String>| parse(&url, base.as_deref())))?;
    host.set("urlSet", Func::from(|_: Ctx<'_>, href: String, part: String, value: String| set(&href, &part, &value)))?;
    host.set(
        "domainToAscii",
        Func::from(|domain: String| match Host::parse(&domain) {
            Ok(host) => host.to_string(),
            Err(_) => String::new(),
        }),
    )
}

fn parse(url: &str, base: Option<&str>) -> Option<Parts> {
    let url = match base {
        Some(base) => Url::parse(base).ok()?.join(url).ok()?,
        None => Url::parse(url).ok()?,
    };
    Some(parts(&url))
}

fn parts(url: &Url) -> Parts {
    let parts = [
        quirks::href(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ];
    let mut parts: Parts = parts.into_iter().map(str::to_owned).collect();
    parts.push(quirks::origin(url));
    parts
}

/// Sets one part; a value the standard does not allow changes nothing.
fn set(href: &str, part: &str, value: &str) -> Option<Parts> {
    let mut url = Url::parse(href).ok()?;
    let _ = match part {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Err(()),
    };
    Some(parts(&url))
}
