//! `wellspring run FILE.yaml`: a workflow once, here, without a server.
//!
//! It is deployed to a platform of its own in a folder that is deleted afterwards, so that it runs as it would on a server: in the same
//! sandboxes, with the same checks. Its triggers start nothing, a pause ends the run, and what it sends after a commit stays unsent.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use platform::manage::first_start::{self, Started};
use platform::manage::keys::authenticate;
use platform::manage::workflows;
use platform::records::workflow_run::RunState;
use serde_json::Value;

use crate::run_once;
use crate::settings::Settings;
use crate::wiring::assembly::{Secrets, make_private_folder, open_platform};
use crate::wiring::network::NetworkArguments;

/// Where it would be reached, were it a server: what resume URLs begin with.
const NOWHERE: &str = "http://localhost";

/// A document of a workflow, and not a component.
pub(crate) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

pub(crate) async fn run(path: &Path, event: Value, network: &NetworkArguments) -> Result<ExitCode> {
    let mut document = remote::documents::read(path)?;
    if let Some(document) = document.as_object_mut() {
        document.remove("triggers");
    }
    let folder = tempfile::tempdir()?;
    let settings = Settings::in_folder(folder.path().join("data"));
    make_private_folder(&settings.data)?;
    let (platform, _sandbox) = open_platform(&settings, &Secrets::default(), network, (NOWHERE, None, None)).await?;
    let Started::First(user) = first_start::start(&platform, None).await? else {
        anyhow::bail!("the folder of the run is not new");
    };
    let caller = authenticate(&platform, &user.key).await?;
    let name = || format!("{} does not deploy", path.display());
    let workflow = Box::pin(workflows::create(&caller, &platform, document)).await.with_context(name)?;
    let ran = Box::pin(workflows::run(&caller, &platform, workflow.id.as_str(), event)).await?;
    let told = remote::output::line(&format!("{:#}", serde_json::to_value(&ran)?));
    run_once::finish(ran.state == RunState::Error, told)
}
