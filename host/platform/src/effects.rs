//! Checks what an action asked for through `$`, by the rules of the domain.
//!
//! The guest hands over what the component wrote, unchecked. Nothing is done unless all of it is valid, because doing half
//! of what an action asked for is worse than an error.

use domain::actions::{self, Effect, S3Object};
use domain::component::Description;
use domain::json::nests_deeper;
use domain::limits::{Limits, NESTING_MAXIMUM};
use domain::problem::Problem;
use domain::props::PropType;
use serde_json::{Map, Value, json};
use store::Tenant;

use crate::Platform;
use crate::ports::{self, EffectKind, Recipients};

/// The export in which the code around a step says what its expressions gave.
pub(crate) const INPUTS: &str = "$inputs";

/// Of one e-mail.
const RECIPIENTS_MAXIMUM: usize = 50;

/// In the order the action asked for them, or everything that is wrong with them.
pub(crate) fn parse(given: &[ports::Effect], limits: &Limits) -> Result<Vec<Effect>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut effects = Vec::with_capacity(given.len());
    for effect in given {
        match parse_one(effect, limits) {
            Ok(effect) => effects.push(effect),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(effects) } else { Err(problems) }
}

/// Puts the accounts in the place of the app props that `auth` names. Only what the component was given can be used.
pub(crate) fn name_accounts(
    effects: &mut [Effect],
    description: &Description,
    props: &Map<String, Value>,
) -> Result<(), Vec<Problem>> {
    let apps = description.props.iter().filter(|prop| prop.kind == PropType::App);
    let account = |name: &str| props.get(name)?.get("authProvisionId")?.as_str();
    let given: Vec<(&str, Option<&str>)> = apps.map(|prop| (prop.name.as_str(), account(&prop.name))).collect();
    let mut problems = Vec::new();
    for effect in effects {
        let Effect::S3(S3Object { auth: Some(auth), .. }) = effect else { continue };
        let found = given.iter().find(|(prop, account)| prop == auth || *account == Some(auth.as_str()));
        match found {
            Some((_, Some(account))) => *auth = (*account).to_owned(),
            Some((prop, None)) => {
                problems
                    .push(Problem::new("$.send.s3.auth", format!("the prop `{prop}` is not connected to an account")));
            }
            None => {
                let message = "must be the name of an app prop, or the id of the account that one is connected to";
                problems.push(Problem::new("$.send.s3.auth", message));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// As `error` of a run: the first problem in words, and all of them.
pub(crate) fn refusal(problems: &[Problem]) -> Value {
    let message = problems.first().map(ToString::to_string).unwrap_or_default();
    json!({"code": "invalid_parameters", "name": "TypeError", "message": message, "problems": problems})
}

/// Its name after `$.send.`, for those that send something.
pub(crate) fn kind(effect: &Effect) -> &'static str {
    match effect {
        Effect::Export { .. } => "export",
        Effect::Respond(_) => "respond",
        Effect::Exit { .. } => "exit",
        Effect::Pause(_) => "pause",
        Effect::Http(_) => "http",
        Effect::Email(_) => "email",
        Effect::S3(_) => "s3",
        Effect::Emit(_) => "emit",
        Effect::Sse { .. } => "sse",
    }
}

/// Why this server does not send it for a tenant, if it does not.
pub(crate) fn refused(platform: &Platform, tenant: &Tenant, effect: &Effect) -> Option<String> {
    match effect {
        Effect::Email(email) => match platform.relays.email().map(|terms| terms.recipients) {
            None => Some("this server has no mail relay: its operator sets one with --smtp-url".to_owned()),
            Some(Recipients::Owner) if !email.to.is_empty() => Some(
                "this server sends e-mail to the address of your account only: leave `to` out; its operator allows others \
                 with --smtp-recipients any"
                    .to_owned(),
            ),
            Some(_) if email.to.len() > RECIPIENTS_MAXIMUM => {
                Some(format!("an e-mail has at most {RECIPIENTS_MAXIMUM} recipients"))
            }
            Some(_) => None,
        },
        // With keys of one's own it is one's own bucket.
        Effect::S3(object) if object.auth.is_some() => None,
        Effect::S3(object) => platform.relays.check_bucket(tenant, &object.bucket).err(),
        _ => None,
    }
}

/// Why it cannot be done for an action that is run by hand; none when it can.
pub(crate) fn unsupported(effect: &Effect) -> Option<&'static str> {
    match effect {
        Effect::Sse { .. } => Some("an action that is run by hand has no stream; in a workflow it has the workflow's"),
        Effect::Pause(_) => Some("an action that is run by hand has nothing that could go on later"),
        _ => None,
    }
}

fn parse_one(effect: &ports::Effect, limits: &Limits) -> Result<Effect, Vec<Problem>> {
    let mut parameters: Value = serde_json::from_str(effect.parameters.get())
        // The guest writes JSON, so nothing else can be wrong with it.
        .map_err(|_| vec![too_deep(effect.kind)])?;
    let mut take = |name: &str| parameters.get_mut(name).map(Value::take).unwrap_or_default();
    let arguments = match effect.kind {
        EffectKind::Export => vec![take("name"), take("value")],
        // The guest writes no reason as an empty one.
        EffectKind::Exit => vec![Some(take("reason")).filter(|text| *text != "").unwrap_or_default()],
        _ => vec![parameters],
    };
    // What the code around a step exports is checked where it is kept.
    if arguments.first().is_none_or(|name| name != INPUTS) && arguments.iter().any(is_too_deep) {
        return Err(vec![too_deep(effect.kind)]);
    }
    actions::parse(call_of(effect.kind), &arguments, limits)
}

fn call_of(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Export => "export",
        EffectKind::Exit => "flow.exit",
        EffectKind::Respond => "respond",
        EffectKind::SendHttp => "send.http",
        EffectKind::SendEmail => "send.email",
        EffectKind::SendS3 => "send.s3",
        EffectKind::SendEmit => "send.emit",
        EffectKind::SendSse => "send.sse",
    }
}

/// Records wrap it, and have to be read again.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    nests_deeper(value, NESTING_MAXIMUM)
}

fn too_deep(kind: EffectKind) -> Problem {
    Problem::new(
        format!("$.{}", call_of(kind)),
        format!("takes values that nest at most {NESTING_MAXIMUM} levels deep"),
    )
}

#[cfg(test)]
mod tests;
