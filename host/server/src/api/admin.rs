//! The operator's routes: users, apps, the registry.

use domain::users::{Plan, Quotas, Role};
use platform::Error;
use platform::manage::apps::{self, AppView, NewApp};
use platform::manage::clients;
use platform::manage::components::{CodeRequest, ComponentView};
use platform::manage::users::{self, NewUser, UserChange, UserView};
use platform::manage::{registry, rotation};
use platform::records::AuthType;
use serde_json::{Value, json};

use super::accounts::new_client;
use super::components::code_request;
use super::users::{key_request, new_key};
use super::{Answer, Context, Parameters};

/// A billing period whose end is not given.
const MONTH_MS: i64 = 30 * 24 * 3600 * 1000;

/// The hosts that share the store.
pub(crate) async fn list_hosts(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(platform::hosts::list(context.caller()?, context.platform()).await?))
}

pub(crate) async fn list_users(context: Context) -> Result<Answer, Error> {
    let page = users::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page.map(UserView::from)))
}

pub(crate) async fn find_user(context: Context) -> Result<Answer, Error> {
    let user = users::find(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::data(UserView::from(user)))
}

pub(crate) async fn create_user(context: Context) -> Result<Answer, Error> {
    let parameters = &context.parameters;
    let defaults = context.platform().config().default_quotas;
    let new = NewUser {
        username: parameters.required_text("username")?,
        email: parameters.required_text("email")?,
        role: role(parameters)?.unwrap_or(Role::Member),
        quotas: quotas(parameters, defaults)?,
    };
    let (user, key) = users::create(context.caller()?, context.platform(), new).await?;
    let mut view = json!(UserView::from(user));
    if let (Some(fields), Some(key)) = (view.as_object_mut(), new_key(key).get("api_key")) {
        fields.insert("api_key".to_owned(), key.clone());
    }
    Ok(Answer::data(view))
}

pub(crate) async fn update_user(context: Context) -> Result<Answer, Error> {
    let id = context.path("id");
    let user = users::find(context.caller()?, context.platform(), id).await?;
    let change = UserChange { role: role(&context.parameters)?, plan: Some(plan(&context, user.plan)?) };
    let user = users::update(context.caller()?, context.platform(), id, change).await?;
    Ok(Answer::data(UserView::from(user)))
}

pub(crate) async fn create_key(context: Context) -> Result<Answer, Error> {
    let wish = key_request(&context.parameters)?;
    let key = users::create_key(context.caller()?, context.platform(), context.path("id"), wish).await?;
    Ok(Answer::data(new_key(key)))
}

pub(crate) async fn delete_user(context: Context) -> Result<Answer, Error> {
    users::delete(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::accepted())
}

pub(crate) async fn rotate_key(context: Context) -> Result<Answer, Error> {
    let resume = context.parameters.flag("resume")?.unwrap_or(false);
    Ok(Answer::data(rotation::rotate(context.caller()?, context.platform(), resume).await?))
}

pub(crate) async fn put_app(context: Context) -> Result<Answer, Error> {
    let provider = context.parameters.object("provider")?.map(Value::Object);
    let auth_type = match context.parameters.filled_text("auth_type")?.as_deref() {
        None | Some("keys") => AuthType::Keys,
        Some("oauth") => AuthType::Oauth,
        Some("none") => AuthType::None,
        Some(_) => return Err(Error::expected("auth_type", "`none`, `keys` or `oauth`")),
    };
    let name_slug = match provider {
        Some(_) => context.parameters.filled_text("name_slug")?.unwrap_or_default(),
        None => context.parameters.required_text("name_slug")?,
    };
    let new = NewApp { name_slug, name: context.parameters.filled_text("name")?, auth_type, provider };
    Ok(Answer::data(AppView::from(apps::put(context.caller()?, context.platform(), new).await?)))
}

pub(crate) async fn delete_app(context: Context) -> Result<Answer, Error> {
    apps::delete(context.caller()?, context.platform(), context.path("name_slug")).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn put_client(context: Context) -> Result<Answer, Error> {
    let new = new_client(&context)?;
    Ok(Answer::data(clients::put_shared(context.caller()?, context.platform(), new).await?))
}

pub(crate) async fn delete_client(context: Context) -> Result<Answer, Error> {
    clients::delete_shared(context.caller()?, context.platform(), context.path("name_slug")).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn publish(context: Context) -> Result<Answer, Error> {
    let request = CodeRequest { component_id: None, key: None, ..code_request(&context.parameters)? };
    let component = registry::publish(context.caller()?, context.platform(), request).await?;
    Ok(Answer::data(ComponentView::from(component)))
}

pub(crate) async fn unpublish(context: Context) -> Result<Answer, Error> {
    registry::unpublish(context.caller()?, context.platform(), context.path("key")).await?;
    Ok(Answer::no_content())
}

fn role(parameters: &Parameters) -> Result<Option<Role>, Error> {
    match parameters.filled_text("role")?.as_deref() {
        None => Ok(None),
        Some("admin") => Ok(Some(Role::Admin)),
        Some("member") => Ok(Some(Role::Member)),
        Some(_) => Err(Error::expected("role", "`admin` or `member`")),
    }
}

/// Epoch seconds, as milliseconds.
fn instant_ms(parameters: &Parameters, name: &'static str) -> Result<Option<i64>, Error> {
    let Some(seconds) = parameters.whole_number(name)? else {
        return Ok(None);
    };
    let instant_ms = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1000));
    instant_ms.map(Some).ok_or_else(|| Error::expected(name, "epoch seconds"))
}

/// The quotas that are given, with `before` for those that are not.
fn quotas(parameters: &Parameters, before: Quotas) -> Result<Quotas, Error> {
    let compute_ms = parameters.whole_number("daily_compute_time_quota")?;
    let invocations = parameters.whole_number("daily_invocations_quota")?;
    Ok(Quotas {
        daily_compute_ms: compute_ms.unwrap_or(before.daily_compute_ms),
        daily_invocations: invocations.unwrap_or(before.daily_invocations),
    })
}

/// The plan after a change; what is not given stays, and what the other plan has is checked and not used.
fn plan(context: &Context, before: Plan) -> Result<Plan, Error> {
    let parameters = &context.parameters;
    let (quotas_before, start_before, end_before) = match before {
        Plan::Free { quotas } => (quotas, None, None),
        Plan::Paid { period_start_ms, period_end_ms, .. } => {
            (context.platform().config().default_quotas, Some(period_start_ms), Some(period_end_ms))
        }
    };
    let quotas = quotas(parameters, quotas_before)?;
    let start_ms = instant_ms(parameters, "billing_period_start_ts")?.or(start_before);
    let end_ms = instant_ms(parameters, "billing_period_end_ts")?.or(end_before);
    let is_paid = match parameters.filled_text("plan")?.as_deref() {
        None => matches!(before, Plan::Paid { .. }),
        Some("free") => false,
        Some("paid") => true,
        Some(_) => return Err(Error::expected("plan", "`free` or `paid`")),
    };
    if !is_paid {
        return Ok(Plan::Free { quotas });
    }
    let period_start_ms = start_ms.unwrap_or_else(|| context.platform().clock().instant_ms());
    let period_end_ms = end_ms.unwrap_or_else(|| period_start_ms.saturating_add(MONTH_MS));
    Ok(Plan::Paid { period_start_ms, period_end_ms, period_invocations: 0 })
}
