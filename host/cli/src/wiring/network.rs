//! How far outgoing requests may reach, as said on the command line.

use anyhow::{Context, Result};
use outbound::{Config, HostOverride, Outbound};

use crate::settings::Shares;

/// Shared by every command that lets components make requests.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct NetworkArguments {
    /// Let components reach loopback and private addresses. For development: it opens your network to their code
    #[arg(long)]
    dangerous_allow_private_networks: bool,
    /// Send requests for HOST to ADDRESS, in plain HTTP with the Host header kept; `*` is every host. Repeatable
    #[arg(long, value_name = "HOST=ADDRESS")]
    dangerous_host_override: Vec<HostOverride>,
}

// === impl NetworkArguments ===

impl NetworkArguments {
    pub(crate) fn open(&self, shares: &Shares) -> Result<Outbound> {
        if self.dangerous_allow_private_networks {
            eprintln!("warning: components may reach private networks (--dangerous-allow-private-networks)");
        }
        for host_override in &self.dangerous_host_override {
            eprintln!("warning: requests are redirected (--dangerous-host-override {host_override})");
        }
        self.open_quietly(self.dangerous_allow_private_networks, shares)
    }

    /// The way to the package registry. Its address is the operator's own choice, in npm's configuration, and is
    /// often a mirror on a private network.
    pub(crate) fn open_for_packages(&self) -> Result<Outbound> {
        self.open_quietly(true, &Shares::default())
    }

    fn open_quietly(&self, dangerous_allow_private_networks: bool, shares: &Shares) -> Result<Outbound> {
        let config = Config {
            dangerous_allow_private_networks,
            dangerous_host_overrides: self.dangerous_host_override.clone(),
            connections: shares.get("connections"),
            lookups: shares.get("lookups"),
            ..Config::default()
        };
        Outbound::new(config).context("outgoing HTTP could not be set up")
    }
}
