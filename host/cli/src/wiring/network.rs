//! The reach of outgoing requests: the egress policy and the switches for private networks, from settings.

use anyhow::{Context, Result};
use linker::Registry;
use outbound::{Config, Host, HostOverride, Outbound, Rule, Url};

use super::own;
use crate::failure::Misuse;
use crate::logging;
use crate::settings::{Settings, Shares};

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
    /// For the commands that run a component here, by the operator's own hand.
    pub(crate) fn open(&self) -> Result<Outbound> {
        self.warn();
        open_with(self.config(&Shares::default()))
    }

    /// For a server, with the operator's policy.
    pub(crate) async fn open_for_server(&self, settings: &Settings, public_url: &str) -> Result<Outbound> {
        self.warn();
        let mut config = self.config(&settings.share);
        config.policy.allow = parse_rules("egress_allow", &settings.egress_allow)?;
        config.policy.deny = parse_rules("egress_deny", &settings.egress_deny)?;
        if !settings.egress_allow_self {
            let (settings, url) = (settings.clone(), public_url.to_owned());
            // It may look up a name.
            config.policy.own = tokio::task::spawn_blocking(move || own::find(&settings, &url)).await?;
        }
        open_with(config)
    }

    /// The way to the package registries. Their addresses are the operator's own choice, in npm's configuration, and
    /// often mirrors on a private network: they alone are exempt from the address filter. Archives and redirects that
    /// lead elsewhere are filtered as everything else.
    pub(crate) fn open_for_packages(&self, registry: &Registry) -> Result<Outbound> {
        let mut config = self.config(&Shares::default());
        config.exempt_origins = registry.addresses().filter_map(origin).collect();
        open_with(config)
    }

    fn warn(&self) {
        if self.dangerous_allow_private_networks {
            logging::warn("components may reach private networks (--dangerous-allow-private-networks)");
        }
        for host_override in &self.dangerous_host_override {
            logging::warn(&format!("requests are redirected (--dangerous-host-override {host_override})"));
        }
    }

    fn config(&self, shares: &Shares) -> Config {
        Config {
            dangerous_allow_private_networks: self.dangerous_allow_private_networks,
            dangerous_host_overrides: self.dangerous_host_override.clone(),
            connections: shares.get("connections"),
            lookups: shares.get("lookups"),
            ..Config::default()
        }
    }
}

fn open_with(config: Config) -> Result<Outbound> {
    Outbound::new(config).context("outgoing HTTP could not be set up")
}

fn origin(url: &str) -> Option<(Host, u16)> {
    let url = Url::parse(url).ok()?;
    Some((url.host()?.to_owned(), url.port_or_known_default()?))
}

fn parse_rules(name: &str, rules: &[String]) -> Result<Vec<Rule>> {
    let rules = rules.iter().map(|rule| rule.parse::<Rule>());
    rules.collect::<Result<_, _>>().map_err(Misuse::of).with_context(|| format!("`{name}` cannot be used"))
}
