//! Routes of users, their sessions and keys, and the accounts that they connect.

use serde_json::json;

use super::parameters::*;
use super::{DELETE, GET, POST, PUT, READ, SESSIONS, WRITE};
use crate::api::{accounts, audit, sessions, users};
use crate::route::Documented::{Accepted, List, NoContent, One, Page};
use crate::route::{Route, route};

/// The current user and their keys.
#[rustfmt::skip]
pub(super) fn users_routes() -> Vec<Route> {
    vec![
        route(GET, "/v1/users/me", READ, users::me)
            .says("Users", "Read the current user").answers(One("User")),
        route(GET, "/v1/users/me/keys", READ, users::list_keys)
            .says("Users", "List your API keys, without the keys themselves").answers(List("Key")),
        route(POST, "/v1/users/me/keys", WRITE, users::create_key)
            .says("Users", "Make a further API key; it is shown this once. It does no more than the key in use, and lives no longer").body(&NEW_KEY).answers(One("NewKey"))
            .example(json!({"name": "CI", "scopes": ["deploy"], "expires_at": 1_800_000_000})),
        route(PUT, "/v1/users/me/keys/{id}", WRITE, users::rename_key)
            .says("Users", "Rename an API key").body(&KEY_NAME).answers(One("Key")).refuses(&[404, 409])
            .example(json!({"name": "CI"})),
        route(DELETE, "/v1/users/me/keys/{id}", WRITE, users::revoke_key)
            .says("Users", "Revoke an API key, but not the one in use").answers(NoContent).refuses(&[404, 409]),
        route(GET, "/v1/audit", READ, audit::list)
            .says("Users", "List what was changed in your account, and what was refused, newest first: by whom, from where, how it ended").query(&EVENT_PAGING).answers(Page("AuditEntry")),
    ]
}

/// Browsers that are signed in.
#[rustfmt::skip]
pub(super) fn sessions_routes() -> Vec<Route> {
    vec![
        route(POST, SESSIONS, READ, sessions::create)
            .says("Sessions", "Begin a session of the console with the key in use, or with a one-time link in its place. The answer sets a cookie that stands for the key from then on; with it, every request that changes something needs the header `Wellspring-Console` as well").answers(One("Session")),
        route(GET, SESSIONS, READ, sessions::list)
            .says("Sessions", "List the sessions of your account").answers(List("Session")),
        route(GET, "/v1/sessions/accounts", READ, sessions::accounts)
            .says("Sessions", "List the accounts that the browser is signed in to, the one in use first").answers(List("Session")),
        route(PUT, "/v1/sessions/current", READ, sessions::switch)
            .says("Sessions", "Use another account that the browser is signed in to").body(&CHOSEN_SESSION).answers(One("Session")).refuses(&[404])
            .example(json!({"session_id": "ses_2cf24dba5fb0a30e"})),
        route(DELETE, "/v1/sessions/current", READ, sessions::end_current)
            .says("Sessions", "End the session in use").answers(NoContent).refuses(&[403, 404]),
        route(DELETE, "/v1/sessions/{id}", READ, sessions::end)
            .says("Sessions", "End a session").answers(NoContent).refuses(&[403, 404]),
    ]
}

/// Credentials for apps.
#[rustfmt::skip]
pub(super) fn accounts_routes() -> Vec<Route> {
    vec![
        route(GET, "/v1/apps", READ, accounts::list_apps)
            .says("Accounts", "List the apps that accounts can be connected to").query(&PAGING).answers(Page("App")),
        route(GET, "/v1/apps/{name_slug}", READ, accounts::find_app)
            .says("Accounts", "Read an app: its provider file, and whether a client is registered with it").answers(One("AppDetails")).refuses(&[404]),
        route(GET, "/v1/apps/{name_slug}/client", READ, accounts::find_client)
            .says("Accounts", "Read your own client of an app, without its secret").answers(One("AppClient")).refuses(&[404]),
        route(PUT, "/v1/apps/{name_slug}/client", WRITE, accounts::put_client)
            .says("Accounts", "Bring your own client of an app: new accounts are connected with it instead of the operator's").body(&CLIENT).answers(One("AppClient")).refuses(&[404, 422])
            .example(json!({"client_id": "Iv1.8a61f9b3a7aba766", "client_secret": "…"})),
        route(DELETE, "/v1/apps/{name_slug}/client", WRITE, accounts::delete_client)
            .says("Accounts", "Delete your own client of an app; tokens that were granted to it are not refreshed any more").answers(NoContent).refuses(&[404]),
        route(POST, "/v1/connects", WRITE, accounts::connect)
            .says("Accounts", "Begin to connect an account: answers with a link that is opened in a browser within a quarter of an hour, or with the code for a device").body(&CONNECT).answers(One("Connect")).refuses(&[403, 404, 422])
            .example(json!({"app": "github"})),
        route(GET, "/v1/connects/{id}", READ, accounts::find_connect)
            .says("Accounts", "Read whether the account is connected by now").answers(One("Connect")).refuses(&[404, 422]),
        route(DELETE, "/v1/connects/{id}", WRITE, accounts::delete_connect)
            .says("Accounts", "Give it up: its link does not work any more").answers(NoContent).refuses(&[404]),
        route(POST, "/v1/apps/{name_slug}/events", WRITE, accounts::publish_event)
            .unaudited().says("Accounts", "Hand an event of an app to your sources that listen to it with `$.interface.apphook`; the body is the event").query(&[APP_EVENT_NAME]).any_body().answers(Accepted).refuses(&[404])
            .example(json!({"type": "message", "text": "hello"})),
        route(POST, "/v1/accounts", WRITE, accounts::create)
            .says("Accounts", "Connect an account of an app").body(&ACCOUNT).answers(One("Account")).refuses(&[403, 404])
            .example(json!({"app": "slack", "name": "Work", "credentials": {"oauth_access_token": "xoxb-…"}})),
        route(GET, "/v1/users/me/accounts", READ, accounts::list)
            .says("Accounts", "List your connected accounts").query(&PAGING).answers(Page("Account")),
        route(GET, "/v1/accounts/{id}", READ, accounts::find)
            .says("Accounts", "Read a connected account, without its credentials").answers(One("Account")).refuses(&[404]),
        route(PUT, "/v1/accounts/{id}", WRITE, accounts::rename)
            .says("Accounts", "Rename a connected account").body(&ACCOUNT_NAME).answers(One("Account")).refuses(&[404, 409])
            .example(json!({"name": "Work"})),
        route(POST, "/v1/accounts/{id}/test", WRITE, accounts::test)
            .says("Accounts", "Try the credentials of an account at its service").answers(One("AccountTest")).refuses(&[404]),
        route(GET, "/v1/accounts/{id}/uses", READ, accounts::uses)
            .says("Accounts", "List the sources and steps of workflows that use an account: what would break without it").answers(List("AccountUse")).refuses(&[404]),
        route(DELETE, "/v1/accounts/{id}", WRITE, accounts::delete)
            .says("Accounts", "Delete a connected account that no source and no workflow uses").query(&[FORCE]).answers(NoContent).refuses(&[404, 409]),
    ]
}
