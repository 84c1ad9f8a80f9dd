//! Making a workflow out of saved actions.

use domain::component::Kind;
use domain::ids::{EmitterId, WorkflowId};
use domain::props;
use serde_json::{Map, Value};

use crate::manage::code::{self, CodeRequest, Resolved};
use crate::manage::{configure, subscriptions};
use crate::records::workflow::TRIGGER;
use crate::records::{Step, Workflow, table};
use crate::{Caller, Error, Platform, sealed_props};

/// A run goes through all of them while its trigger waits.
const STEPS_MAXIMUM: usize = 100;

#[derive(Clone, Debug, Default)]
pub struct NewWorkflow {
    pub name: String,
    pub steps: Vec<NewStep>,
}

#[derive(Clone, Debug, Default)]
pub struct NewStep {
    pub name: String,
    /// Of a saved action.
    pub component_id: String,
    pub configured_props: Map<String, Value>,
}

pub async fn create(caller: &Caller, platform: &Platform, new: NewWorkflow) -> Result<Workflow, Error> {
    check_names(&new.steps)?;
    let id = WorkflowId::from_random(platform.entropy.bytes());
    let now = platform.clock.now_seconds();
    let (mut steps, mut secrets, mut preconditions) = (Vec::new(), Map::new(), Vec::new());
    for step in new.steps {
        let component_id = Some(step.component_id.clone());
        let resolved = code::resolve(caller, platform, CodeRequest { component_id, ..CodeRequest::default() }).await?;
        preconditions.extend(code::still_there(caller, platform, &resolved).await?);
        let (step, secret) = make_step(caller, platform, step, resolved).await?;
        if !secret.is_empty() {
            secrets.insert(step.name.clone(), Value::Object(secret));
        }
        steps.push(step);
    }
    let secrets = sealed_props::seal(platform, &caller.tenant, id.as_str(), &secrets)?;
    let workflow = Workflow { id, name: new.name, is_active: true, steps, secrets, created_at: now, updated_at: now };
    let emitter = EmitterId::Workflow(workflow.id.clone());
    let mut batch = platform.batch(&caller.tenant).require(table::absent(&workflow)).then(table::put(&workflow)?);
    batch.preconditions.extend(preconditions);
    batch.operations.extend(subscriptions::subscribe_new_emitter(caller, platform, &emitter).await?);
    platform.store.commit(batch).await?;
    Ok(workflow)
}

/// Names become properties of `steps`.
fn check_names(steps: &[NewStep]) -> Result<(), Error> {
    const NAME_BYTES: usize = 64;
    let is_plain = |name: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !name.is_empty() && name.len() <= NAME_BYTES && name.chars().all(is_letter)
    };
    let is_taken = |(index, step): (usize, &NewStep)| {
        step.name == TRIGGER || steps.iter().take(index).any(|before| before.name == step.name)
    };
    if steps.len() > STEPS_MAXIMUM {
        return Err(Error::expected("steps", "at most 100 steps"));
    }
    if !steps.iter().all(|step| is_plain(&step.name)) {
        return Err(Error::expected("steps", "steps with names of at most 64 letters, digits and _"));
    }
    if steps.iter().enumerate().any(is_taken) {
        return Err(Error::expected("steps", "steps with a name each, and none of them `trigger`"));
    }
    Ok(())
}

/// A step, and its secret values.
async fn make_step(
    caller: &Caller,
    platform: &Platform,
    new: NewStep,
    resolved: Resolved,
) -> Result<(Step, Map<String, Value>), Error> {
    let component = resolved.component;
    if component.description.kind != Kind::Action {
        return Err(Error::WrongKind { is: "a source", needs: "an action" });
    }
    let mut values = configure::whole(caller, platform, &component.description, &new.configured_props).await?;
    let mut secrets = Map::new();
    for name in props::secret_names(&component.description.props) {
        secrets.extend(values.shift_remove_entry(name));
    }
    let step = Step {
        name: new.name,
        component_id: component.id,
        origin: resolved.origin,
        program: component.program,
        description: component.description,
        props: values,
    };
    Ok((step, secrets))
}
