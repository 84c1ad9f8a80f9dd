//! Events of an app, for the sources that listen to it with `$.interface.apphook`.

use domain::ids::EmitId;
use domain::props::{PropDefinition, PropType};
use domain::runs::TriggerKind;
use domain::trace::TraceContext;
use serde_json::Value;

use crate::providers::find_provider;
use crate::records::{Acceptance, Source, table};
use crate::{Caller, Error, ParameterError, Platform};

/// Sources per batch; each has the whole event in it.
const AT_ONCE: usize = 50;

/// Hands an event to every active source of the caller that listens to the app. It is durable when this returns, and
/// the sources run soon after; how many there are.
pub async fn publish(
    caller: &Caller,
    platform: &Platform,
    name_slug: &str,
    event_name: Option<&str>,
    event: &Value,
) -> Result<usize, Error> {
    find_provider(platform, name_slug).await?;
    platform.check_room(&caller.tenant).await?;
    platform.check_queue(&caller.tenant)?;
    let (size_bytes, limit_bytes) = (event.to_string().len(), platform.config.limits.event_bytes);
    if size_bytes > limit_bytes {
        return Err(Error::parameter("event", ParameterError::TooLong { limit_bytes, size_bytes }));
    }
    let sources = table::list_all::<Source>(&*platform.store, &caller.tenant).await?;
    let sources = sources.into_iter().map(|kept| kept.record);
    let listening: Vec<Source> =
        sources.filter(|source| source.is_active && listens(source, name_slug, event_name)).collect();
    let TraceContext { trace_id, span_id } = platform.outside_context();
    for some in listening.chunks(AT_ONCE) {
        let mut batch = platform.batch(&caller.tenant);
        for source in some {
            let id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
            let acceptance = Acceptance {
                id,
                source: source.id.clone(),
                event: event.clone().into(),
                kind: TriggerKind::Event,
                accepted_at_ms: batch.now_ms,
                trace_id,
                span_id,
            };
            batch.operations.extend(acceptance.accept(batch.now_ms, None)?);
        }
        platform.commit_work(batch).await?;
    }
    Ok(listening.len())
}

/// By a hook that names the prop of this app, or any of its app props, and this event or any.
fn listens(source: &Source, name_slug: &str, event_name: Option<&str>) -> bool {
    let props = &source.revision.description.props;
    props.iter().filter(|prop| prop.kind == PropType::AppHook).any(|hook| {
        let named = hook.extra.get("appProp").and_then(Value::as_str);
        let is_meant = |prop: &PropDefinition| named.is_none_or(|named| prop.name == named);
        let is_of_app = props.iter().any(|prop| prop.app.as_deref() == Some(name_slug) && is_meant(prop));
        is_of_app && wants(hook, event_name)
    })
}

fn wants(hook: &PropDefinition, event_name: Option<&str>) -> bool {
    match (hook.extra.get("eventNames"), event_name) {
        (Some(Value::Array(names)), Some(event_name)) => names.iter().any(|name| name == event_name || name == "*"),
        _ => true,
    }
}
