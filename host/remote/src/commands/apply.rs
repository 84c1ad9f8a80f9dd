//! `apply`: makes the server match a folder. First a plan, then the changes, in the order of their names.
//!
//! A source is found again by its name, and so is a workflow. What a folder made has the folder's project on it, and only that is ever deleted.

mod plan;
mod workflows;

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::ask;
use crate::error::Error;
use crate::models::{Component, Source};
use crate::project::{DEV, Project};
use crate::session::{Connection, Session};

use plan::{Action, Done, Plan, Step};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A folder of components and workflows, with or without a `wellspring.toml`, or one file of it
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Apply the plan without asking
    #[arg(long, short = 'y')]
    yes: bool,
    /// Show the plan and change nothing
    #[arg(long, conflicts_with = "yes")]
    plan: bool,
    /// Delete the sources and workflows of this project that are no longer in the folder, with their events
    #[arg(long)]
    prune: bool,
    /// Go on when a deactivate hook fails
    #[arg(long)]
    ignore_hook_errors: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let project = Project::read(&arguments.folder, arguments.connection.profile.as_deref())?;
    if arguments.prune {
        check_prunable(&project, &arguments.folder)?;
    }
    let session = arguments.connection.open()?;
    if let Some(warning) = project.secrets.warning() {
        session.output.warn(&warning);
    }
    let mut plan = plan::make(&session, &project, arguments.prune).await?;
    let applied = decide_and_apply(&session, arguments, &project, &mut plan).await;
    // What was linked for the plan and not deployed goes; the server would find that out by itself, in a day.
    for component in plan.unused_components() {
        let _ = session.client.delete(&format!("components/{}", component.id), &[]).await;
    }
    if session.output.is_json {
        session.output.json(&plan.to_json(&project))?;
    }
    applied
}

/// Whether what the project has on the server and not in the folder is what is no longer there.
fn check_prunable(project: &Project, path: &Path) -> Result<(), Error> {
    if !project.is_whole {
        return Err(Error::PruneOfFile { path: path.to_owned() });
    }
    if project.name == DEV {
        return Err(Error::PruneOfDev { name: project.name.clone() });
    }
    Ok(())
}

async fn decide_and_apply(
    session: &Session,
    arguments: &Arguments,
    project: &Project,
    plan: &mut Plan,
) -> Result<(), Error> {
    plan.print(&session.output)?;
    if plan.has_problems() {
        return Err(Error::NotApplied { count: plan.problems(), of: project.entries.len() + project.workflows.len() });
    }
    if plan.is_empty() || arguments.plan {
        return Ok(());
    }
    if !arguments.yes {
        ask::confirm(&format!("Apply this to {}: {}?", session.client.url(), plan.counted(false)))?;
    }
    for step in plan.steps.iter_mut().filter(|step| step.action != Action::Unchanged) {
        let applied = apply(session, arguments, project, step).await;
        step.done = if applied.is_ok() { Done::Applied } else { Done::Failed };
        if applied.is_err() {
            plan.tell_how_far(&session.output);
            return applied;
        }
    }
    session.output.say(&format!("applied: {}", plan.counted(true)));
    Ok(())
}

async fn apply(session: &Session, arguments: &Arguments, project: &Project, step: &mut Step) -> Result<(), Error> {
    let _progress = session.output.progress(&format!("{} {}", step.action.doing(), step.name));
    if let Some(workflow) = &mut step.workflow {
        return workflow.apply(session, project, step.action).await;
    }
    match (&step.action, &step.component, &step.source) {
        (Action::Create, Some(component), _) => {
            let body = json!({
                "component_id": component.id, "name": step.name, "configured_props": step.props, "project": project.name,
            });
            let made: Source = session.client.post("sources", &body).await?;
            if !step.is_active {
                session.client.put::<Source>(&format!("sources/{}", made.id), &json!({"active": false})).await?;
            }
            step.source = Some(made);
        }
        (Action::Update, Some(_), Some(source)) => {
            let mut body = step.body(project);
            if let (true, Some(fields)) = (arguments.ignore_hook_errors, body.as_object_mut()) {
                fields.insert("ignore_hook_errors".to_owned(), json!(true));
            }
            session.client.put::<Source>(&format!("sources/{}", source.id), &body).await?;
        }
        (Action::Publish, Some(_), _) => {
            session.client.post::<Component>("components", &step.code).await?;
        }
        (Action::Delete, _, Some(source)) => {
            let query: &[(&str, &str)] =
                if arguments.ignore_hook_errors { &[("ignore_hook_errors", "true")] } else { &[] };
            session.client.delete(&format!("sources/{}", source.id), query).await?;
        }
        _ => {}
    }
    Ok(())
}
