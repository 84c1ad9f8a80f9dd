//! Routes of the operator, and those of the server itself.

use serde_json::json;

use super::parameters::*;
use super::{ADMIN, DELETE, GET, POST, PUT};
use crate::api::{admin, audit, operations};
use crate::route::Access::Public;
use crate::route::Documented::{Accepted, List, NoContent, One, Page};
use crate::route::{Route, plugged, route};
use crate::{connect, console, docs};

/// What needs an admin.
#[rustfmt::skip]
pub(super) fn operator_routes() -> Vec<Route> {
    vec![
        route(GET, "/v1/admin/users", ADMIN, admin::list_users)
            .says("Operator", "List all users").query(&PAGING).answers(Page("AdminUser")),
        route(POST, "/v1/admin/users", ADMIN, admin::create_user)
            .says("Operator", "Create a user; their key is shown this once").body(&NEW_USER).answers(One("AdminUser")).refuses(&[409])
            .example(json!({"username": "ada", "email": "ada@example.com"})),
        route(GET, "/v1/admin/users/{id}", ADMIN, admin::find_user)
            .says("Operator", "Read a user").answers(One("AdminUser")).refuses(&[404]),
        route(PUT, "/v1/admin/users/{id}", ADMIN, admin::update_user)
            .says("Operator", "Change a user's role, plan or quotas").body(&CHANGED_USER).answers(One("AdminUser")).refuses(&[403, 404, 409])
            .example(json!({"daily_invocations_quota": 5000})),
        route(DELETE, "/v1/admin/users/{id}", ADMIN, admin::delete_user)
            .says("Operator", "Delete a user with everything they have; no hooks run").answers(Accepted).refuses(&[403, 404, 409]),
        route(POST, "/v1/admin/users/{id}/keys", ADMIN, admin::create_key)
            .says("Operator", "Make a further key for a user").body(&NEW_KEY).answers(One("NewKey")).refuses(&[404])
            .example(json!({"name": "laptop"})),
        route(GET, "/v1/admin/audit", ADMIN, audit::list_all)
            .says("Operator", "List the audit log of all accounts, or of one").query(&AUDIT).answers(Page("AuditEntry")).refuses(&[404]),
        route(GET, "/v1/admin/hosts", ADMIN, admin::list_hosts)
            .says("Operator", "List the hosts that share the store: version, load, and how far their clocks are off").answers(List("Host")),
        route(POST, "/v1/admin/apps", ADMIN, admin::put_app)
            .says("Operator", "Register an app, or change it").body(&APP).answers(One("App")).refuses(&[422])
            .example(json!({"name_slug": "slack", "name": "Slack", "auth_type": "oauth"})),
        route(PUT, "/v1/admin/apps/{name_slug}/client", ADMIN, admin::put_client)
            .says("Operator", "Register a client of an app, which all users connect their accounts with").body(&CLIENT).answers(One("AppClient")).refuses(&[404, 422])
            .example(json!({"client_id": "Iv1.8a61f9b3a7aba766", "client_secret": "…"})),
        route(DELETE, "/v1/admin/apps/{name_slug}/client", ADMIN, admin::delete_client)
            .says("Operator", "Delete the client of an app; tokens that were granted to it are not refreshed any more").answers(NoContent).refuses(&[404]),
        route(DELETE, "/v1/admin/apps/{name_slug}", ADMIN, admin::delete_app)
            .says("Operator", "Remove an app").answers(NoContent).refuses(&[404]),
        route(POST, "/v1/admin/registry", ADMIN, admin::publish)
            .says("Operator", "Publish a component to all users").body_with(CODE_NAMES, &CODE).answers(One("Component")).refuses(&[409, 422, 429])
            .example(json!({"component_code": "module.exports = {name: \"Hi\", key: \"demo-hi\", version: \"1.0.0\", run() {}}"})),
        route(DELETE, "/v1/admin/registry/{key}", ADMIN, admin::unpublish)
            .says("Operator", "Unpublish a component; sources made from it go on").answers(NoContent).refuses(&[404, 409]),
        route(POST, "/v1/admin/rotate_key", ADMIN, admin::rotate_key)
            .says("Operator", "Make a new encryption key and wrap every stored secret under it").body(&ROTATION).answers(One("Rotation")).refuses(&[409])
            .example(json!({"resume": true})),
    ]
}

/// What is not part of the API.
#[rustfmt::skip]
pub(super) fn internal_routes() -> Vec<Route> {
    vec![
        route(GET, "/v1/openapi.json", Public, operations::openapi).internal(),
        plugged(GET, console::ROUTE, Public).internal(),
        plugged(GET, connect::ROUTE, Public).internal(),
        route(GET, docs::ROUTE, Public, operations::docs).internal(),
        route(GET, "/healthz", Public, operations::healthz).internal(),
        route(GET, "/readyz", Public, operations::readyz).internal(),
        route(GET, "/metrics", Public, operations::metrics).internal(),
    ]
}
