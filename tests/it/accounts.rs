//! Connected accounts with the real binary: services that are as strict as the standards, the flow of a browser, refreshes
//! across hosts and through kills, and tokens that are looked for everywhere.

mod apps;
mod components;
mod secrets;
mod service;
mod tokens;

use std::collections::BTreeMap;

use bytes::Bytes;
use rig::client::Client;
use rig::served::{DataFolder, Served};
use serde_json::{Value, json};

use self::service::Service;

/// A server whose requests all reach the service.
struct World {
    folder: DataFolder,
    served: Served,
    service: Service,
}

impl World {
    async fn new() -> Self {
        let service = Service::start().await;
        let folder = folder(&service, None);
        let served = folder.start().await;
        Self { folder, served, service }
    }

    fn client(&self) -> Client {
        self.served.client()
    }
}

/// A data folder whose server takes the service for the whole internet.
fn folder(service: &Service, store: Option<String>) -> DataFolder {
    let mut folder = DataFolder::in_store(store);
    folder.options.extend(["--dangerous-host-override".to_owned(), format!("*={}", service.address())]);
    folder.environment.push(("RUST_LOG".to_owned(), "debug".to_owned()));
    folder
}

/// The operator's client of an app.
async fn configure(client: &Client, app: &str) {
    let body = json!({"client_id": format!("{app}-client"), "client_secret": service::CLIENT_SECRET});
    client.put(&format!("/v1/admin/apps/{app}/client"), &body).await.unwrap().success().unwrap();
}

/// Connects an account as a browser does: the page, its form, the provider, the callback. The account's id.
async fn connect(client: &Client, service: &Service, app: &str, fields: &[(&str, &str)]) -> String {
    let (url, cookie, wish) = visit(client, app, fields).await;
    if let Some(url) = url {
        let callback = service.agree(&url);
        let page = client.call("GET", &client.at(&callback), &[("cookie", &cookie)], Bytes::new()).await.unwrap();
        assert_eq!(page.status, 200, "{app}: {}", page.text());
    }
    let wish = client.get(&format!("/v1/connects/{wish}")).await.unwrap().data();
    assert_eq!(wish["state"], "connected", "{app}: {wish}");
    wish["account_id"].as_str().unwrap().to_owned()
}

/// Where the page leads to, the cookie that it set, and the wish.
async fn visit(client: &Client, app: &str, fields: &[(&str, &str)]) -> (Option<String>, String, String) {
    let begun = client.post("/v1/connects", &json!({"app": app})).await.unwrap();
    let begun = begun.success().unwrap()["data"].clone();
    let link = begun["url"].as_str().unwrap();
    let page = client.call("GET", link, &[], Bytes::new()).await.unwrap();
    assert_eq!(page.status, 200, "{}", page.text());
    let form: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    let next = client.call("POST", link, &headers, form.join("&").into()).await.unwrap();
    assert_eq!(next.status, 200, "{app}: {}", next.text());
    let cookie = next.headers.get("set-cookie").and_then(|cookie| cookie.to_str().ok()).unwrap_or_default();
    let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
    let text = next.text();
    let url = text.split("href=\"").nth(1).map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"));
    (url, cookie, begun["id"].as_str().unwrap().to_owned())
}

/// A source with one app prop, whose run is `run`.
async fn deploy(client: &Client, app: &str, account: &Value, methods: &str, run: &str) -> String {
    let code = format!(
        "const app = {{type: 'app', app: '{app}', methods: {{ {methods} }}}};\n\
         module.exports = {{name: '{app} test', version: '0.0.1', props: {{app, http: '$.interface.http'}},\n\
         async run(event) {{ {run} }}}};"
    );
    let body = json!({"component_code": code, "configured_props": {"app": account}});
    let source = client.post("/v1/sources", &body).await.unwrap().success().unwrap();
    source["data"]["id"].as_str().unwrap().to_owned()
}

async fn run(client: &Client, source: &str) -> Value {
    client.post(&format!("/v1/sources/{source}/run"), &json!({})).await.unwrap().success().unwrap()["data"].clone()
}

fn query_of(text: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| {
        let bytes = text.replace('+', " ").into_bytes();
        let mut decoded = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'%' {
                decoded.push(u8::from_str_radix(std::str::from_utf8(&bytes[at + 1..at + 3]).unwrap(), 16).unwrap());
                at += 3;
            } else {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
        String::from_utf8(decoded).unwrap()
    };
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}
