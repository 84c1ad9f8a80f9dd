//! Where the servers of a test listen: on the loopback, or in a network of namespaces, in which packets are lost.
//!
//! There each host has a namespace of its own on a bridge. Redis has an address that nothing else has, so that a host can be cut off
//! from it alone. The network is of this machine, and gone when the process ends as it should.

use std::process::Command;
use std::sync::OnceLock;

const LOOPBACK: &str = "127.0.0.1";
const BRIDGE: &str = "wsbridge";
const HOME: &str = "10.201.0.1";
const REDIS: &str = "10.201.0.2";
/// No interface has it: what is sent there is lost.
const NOWHERE: &str = "02:00:00:00:00:63";

static IS_LAID: OnceLock<()> = OnceLock::new();

/// Where everything listens but Redis and hosts of a network.
pub fn home() -> &'static str {
    if IS_LAID.get().is_some() { HOME } else { LOOPBACK }
}

/// Where Redis listens.
pub fn redis_home() -> &'static str {
    if IS_LAID.get().is_some() { REDIS } else { LOOPBACK }
}

/// A namespace for each host, until it is dropped.
pub struct Network {
    hosts: usize,
}

/// Where one host runs.
#[derive(Clone, Debug)]
pub struct Namespace {
    pub name: String,
    pub address: String,
}

// === impl Network ===

impl Network {
    /// For everything that is started from now on. It takes the rights of root.
    pub fn lay(hosts: usize) -> Self {
        assert!(hosts < 100, "a network has room for a hundred hosts");
        let network = Self { hosts };
        network.take_up();
        ip(&["link", "add", BRIDGE, "type", "bridge"]);
        ip(&["address", "add", &format!("{HOME}/24"), "dev", BRIDGE]);
        ip(&["address", "add", &format!("{REDIS}/24"), "dev", BRIDGE]);
        ip(&["link", "set", BRIDGE, "up"]);
        for number in 0..hosts {
            let (Namespace { name, address }, cable) = (network.namespace(number), cable(number));
            ip(&["netns", "add", &name]);
            ip(&["link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &name]);
            ip(&["link", "set", &cable, "master", BRIDGE, "up"]);
            ip(&["-n", &name, "address", "add", &format!("{address}/24"), "dev", "eth0"]);
            ip(&["-n", &name, "link", "set", "eth0", "up"]);
            ip(&["-n", &name, "link", "set", "lo", "up"]);
        }
        IS_LAID.get_or_init(|| ());
        network
    }

    pub fn namespace(&self, number: usize) -> Namespace {
        Namespace { name: format!("wshost{number}"), address: format!("10.201.0.{}", 100 + number) }
    }

    /// Removes what is there of it, or was left by one that was killed.
    fn take_up(&self) {
        let remove = |words: &[&str]| drop(Command::new("ip").args(words).output());
        for number in 0..self.hosts {
            // A host that was left keeps its namespace, and the cable to it, also when the namespace has no name any more.
            remove(&["link", "delete", &cable(number)]);
            remove(&["netns", "delete", &self.namespace(number).name]);
        }
        remove(&["link", "delete", BRIDGE]);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.take_up();
    }
}

// === impl Namespace ===

impl Namespace {
    /// What the host sends to Redis is lost from now on, without a sign of it.
    pub fn cut_off(&self) {
        ip(&["-n", &self.name, "neighbour", "replace", REDIS, "lladdr", NOWHERE, "dev", "eth0", "nud", "permanent"]);
    }

    pub fn mend(&self) {
        ip(&["-n", &self.name, "neighbour", "delete", REDIS, "dev", "eth0"]);
    }
}

/// The end of a host's cable at the bridge.
fn cable(number: usize) -> String {
    format!("wscable{number}")
}

fn ip(words: &[&str]) {
    let done = Command::new("ip").args(words).output().expect("`ip` is needed, of Debian's package iproute2");
    assert!(
        done.status.success(),
        "`ip {}` failed, which needs the rights of root: {}",
        words.join(" "),
        String::from_utf8_lossy(&done.stderr).trim()
    );
}
