//! Components in the shape of public ones, of ten apps, with credentials that the flow brought.

use serde_json::{Value, json};

use super::{World, configure, connect, deploy, run};

/// An app, what its page asks for, the methods of its app file, and what a component of it does.
struct Case {
    app: &'static str,
    fields: &'static [(&'static str, &'static str)],
    methods: &'static str,
    run: &'static str,
}

const BEARER: &str = "async _get(url) { const answer = await fetch(url, {headers: {Authorization: `Bearer ${this.$auth.oauth_access_token}`}}); \
    if (!answer.ok) throw new Error(`status ${answer.status}`); return answer.json(); }";

const CASES: [Case; 10] = [
    Case {
        app: "github",
        fields: &[],
        methods: BEARER,
        run: "this.$emit(await this.app._get('https://api.github.com/user'));",
    },
    Case {
        app: "slack",
        fields: &[],
        methods: BEARER,
        run: "this.$emit(await this.app._get('https://slack.com/api/users.list'));",
    },
    Case {
        app: "google_sheets",
        fields: &[],
        methods: BEARER,
        run: "this.$emit(await this.app._get('https://sheets.googleapis.com/v4/spreadsheets/1'));",
    },
    Case {
        app: "notion",
        fields: &[],
        methods: BEARER,
        run: "this.$emit(await this.app._get('https://api.notion.com/v1/search'));",
    },
    Case {
        app: "hubspot",
        fields: &[],
        methods: BEARER,
        run: "this.$emit(await this.app._get('https://api.hubapi.com/crm/v3/objects/contacts'));",
    },
    Case {
        app: "zendesk",
        fields: &[("subdomain", "acme")],
        methods: BEARER,
        run: "this.$emit(await this.app._get(`https://${this.app.$auth.subdomain}.zendesk.com/api/v2/tickets.json`));",
    },
    Case {
        app: "shopify",
        fields: &[("shop_id", "acme")],
        methods: "async _get(path) { const {shop_id, oauth_access_token} = this.$auth; const answer = await fetch(`https://${shop_id}.myshopify.com${path}`, \
            {headers: {'X-Shopify-Access-Token': oauth_access_token}}); if (!answer.ok) throw new Error(`status ${answer.status}`); return answer.json(); }",
        run: "this.$emit(await this.app._get('/admin/api/2025-01/orders.json'));",
    },
    Case {
        app: "trello",
        fields: &[],
        // What `axios` of the platform package does with `oauthSignerUri`.
        methods: "async _get(url) { const {oauth_signer_uri, oauth_access_token, oauth_refresh_token} = this.$auth; \
            const payload = {requestData: {method: 'get', url}, token: {key: oauth_access_token, secret: oauth_refresh_token}}; \
            const signed = await fetch(oauth_signer_uri, {method: 'POST', body: JSON.stringify(payload), headers: {'content-type': 'application/json'}}); \
            const answer = await fetch(url, {headers: {Authorization: await signed.text()}}); \
            if (!answer.ok) throw new Error(`status ${answer.status}`); return answer.json(); }",
        run: "this.$emit(await this.app._get('https://api.trello.com/1/members/me?fields=all&filter=a%20b'));",
    },
    Case {
        app: "stripe",
        fields: &[("api_key", "access-t0ken-pasted")],
        methods: "async _get(url) { const answer = await fetch(url, {headers: {Authorization: `Bearer ${this.$auth.api_key}`}}); \
            if (!answer.ok) throw new Error(`status ${answer.status}`); return answer.json(); }",
        run: "this.$emit(await this.app._get('https://api.stripe.com/v1/charges'));",
    },
    Case {
        app: "twilio",
        fields: &[("account_sid", "AC1"), ("auth_token", "access-t0ken-pasted")],
        methods: "async _get(url) { const {account_sid, auth_token} = this.$auth; const answer = await fetch(url, \
            {headers: {Authorization: 'Basic ' + Buffer.from(`${account_sid}:${auth_token}`).toString('base64')}}); \
            if (!answer.ok) throw new Error(`status ${answer.status}`); return answer.json(); }",
        run: "this.$emit(await this.app._get('https://api.twilio.com/2010-04-01/Accounts.json'));",
    },
];

#[tokio::test]
async fn components_of_ten_apps_run_with_accounts_that_the_flow_connected_also_when_the_token_stays_outside() {
    let world = World::new().await;
    let client = world.client();
    world.service.lock().accepted.insert("access-t0ken-pasted".into());

    for Case { app, fields, methods, run: does } in CASES {
        if !["stripe", "twilio"].contains(&app) {
            configure(&client, app).await;
        }
        let account = connect(&client, &world.service, app, fields).await;
        for account in [json!({"authProvisionId": account}), json!({"authProvisionId": account, "auth": "proxy"})] {
            let source = deploy(&client, app, &account, methods, does).await;
            let ran = run(&client, &source).await;
            assert_eq!(ran["ok"], true, "{app} {account}: {ran}");
            let emitted = client.events(&source, "default").await.unwrap();
            let event = &emitted.last().unwrap_or(&Value::Null)["event"];
            assert!(event["id"] == 7 || event["id"] == "1", "{app}: {event}");
            if account["auth"] == "proxy" {
                assert!(!event.to_string().contains("t0ken"), "{app}: the token came back: {event}");
            }
        }
    }
}

/// Deployed, run by hand or a step of a workflow: an app that is optional may be left out, and has no credentials then.
#[tokio::test]
async fn an_app_that_is_optional_may_be_left_out_and_one_that_is_not_must_be_connected() {
    const ANSWER: &str = "Object.keys(this.app.$auth).length";
    let world = World::new().await;
    let client = world.client();
    let component = |kind: &str, optional: bool, run: &str| {
        format!(
            "const app = {{type: 'app', app: 'github'}};\n\
             module.exports = {{name: 'Maybe', version: '0.0.1', type: '{kind}', props: {{app: {{...app, optional: {optional}}}}}, run() {{ {run} }}}};"
        )
    };
    let returns = format!("return {ANSWER};");
    for (optional, expected) in [(true, 200), (false, 422)] {
        let source = json!({"component_code": component("source", optional, &format!("this.$emit({{n: {ANSWER}}});"))});
        let saved = json!({"component_code": component("action", optional, &returns)});
        let id = client.post("/v1/components", &saved).await.unwrap().data()["id"].clone();
        let step = json!({"namespace": "maybe", "component_id": id});
        let workflow = json!({"settings": {"name": "Maybe"}, "triggers": [], "steps": [step]});

        let deployed = client.post("/v1/sources", &source).await.unwrap();
        let ran = client.post(&format!("/v1/components/{}/run", id.as_str().unwrap()), &json!({})).await.unwrap();
        let made = client.post("/v1/workflows", &workflow).await.unwrap();

        let statuses = [deployed.status, ran.status, made.status];
        assert_eq!(statuses, [expected; 3], "optional: {optional} {} {} {}", deployed.text(), ran.text(), made.text());
        if optional {
            assert_eq!(ran.data()["return_value"], 0, "{}", ran.text());
            let source = deployed.data()["id"].as_str().unwrap().to_owned();
            assert_eq!(run(&client, &source).await["emitted"][0]["event"], json!({"n": 0}));
        }
    }
}
