//! `wellspring doctor`: what would keep a server from working here, and what to do about it.
//!
//! Each check says one line: ok, warn or fail, and what to do. It changes nothing, and a server may run meanwhile. It
//! exits 1 when something fails.

mod finding;
pub(crate) mod keeping;
mod machine;
mod network;
mod postgres;
mod redis;
mod sandboxed;
mod stored;

use std::process::ExitCode;

use anyhow::Result;

use crate::operator::Common;
use crate::settings::Tuning;
use crate::wiring::network::NetworkArguments;

use finding::{Finding, Level, print};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tuning: Tuning,
    /// Do not ask the package registry
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let output = arguments.common.output();
    let settings = arguments.common.settings_with(&arguments.tuning)?;
    let mut findings = machine::check();
    findings.extend(stored::check_folder(&settings.data));
    findings.extend(stored::check(&settings, &arguments.common.secrets).await);
    findings.push(network::check_port(settings.listen).await);
    if !arguments.offline {
        findings.extend(network::check_registry(&arguments.network).await);
    }
    findings.extend(sandboxed::check(&settings).await);
    print(&output, &findings)?;
    let has_failure = findings.iter().any(|finding| finding.level == Level::Fail);
    Ok(if has_failure { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
