//! What the environment says of an export, by the names that OpenTelemetry gives: the resource, and headers such as a key.

use percent_encoding::percent_decode_str;

/// Attributes of everything that is exported: `OTEL_RESOURCE_ATTRIBUTES` win over our own, and `OTEL_SERVICE_NAME` over both.
pub(super) fn resource() -> Vec<(String, String)> {
    resource_of(&variable("OTEL_RESOURCE_ATTRIBUTES"), &variable("OTEL_SERVICE_NAME"))
}

/// Of requests with one signal, `TRACES` or `LOGS`, whose own headers win over those of all.
pub(super) fn headers(signal: &str) -> Vec<(String, String)> {
    let mut headers = pairs(&variable("OTEL_EXPORTER_OTLP_HEADERS"));
    for (name, value) in pairs(&variable(&format!("OTEL_EXPORTER_OTLP_{signal}_HEADERS"))) {
        set(&mut headers, name, value);
    }
    headers
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn resource_of(attributes: &str, service: &str) -> Vec<(String, String)> {
    let own = [("service.name", "wellspring"), ("service.version", env!("CARGO_PKG_VERSION"))];
    let mut resource: Vec<_> = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    for (name, value) in pairs(attributes) {
        set(&mut resource, name, value);
    }
    if !service.is_empty() {
        set(&mut resource, "service.name".to_owned(), service.to_owned());
    }
    resource
}

/// `name=value,other=value`, with values percent-encoded; what is not of this form is passed over, as the specification asks.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?.into_owned();
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value))
    };
    text.split(',').filter_map(pair).collect()
}

fn set(pairs: &mut Vec<(String, String)>, name: String, value: String) {
    match pairs.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
        Some(known) => known.1 = value,
        None => pairs.push((name, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::{pairs, resource_of};

    fn value<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
        pairs.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    #[test]
    fn the_environment_names_the_service_and_adds_to_it() {
        assert_eq!(value(&resource_of("", ""), "service.name"), "wellspring");
        let told = resource_of("service.name=ours,deployment.environment=a%20b", "");
        assert_eq!((value(&told, "service.name"), value(&told, "deployment.environment")), ("ours", "a b"));
        assert_eq!(value(&resource_of("service.name=ours", "mine"), "service.name"), "mine");
        assert_eq!(value(&told, "service.version"), env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn pairs_that_are_none_are_passed_over() {
        let expected =
            [("authorization", "Bearer a=b"), ("x", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(pairs(" authorization = Bearer%20a=b ,nothing, =none,x=,bad=%ff"), expected);
    }
}
