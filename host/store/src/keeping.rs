//! How a server that holds the data keeps it. What it does not tell is absent: services that run Redis for others hide
//! settings.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Whether every write goes to a file.
    pub appends: Option<bool>,
    /// When that file is on disk: `always`, `everysec` or `no`.
    pub syncs: Option<String>,
    pub can_write: bool,
    pub maximum_bytes: Option<u64>,
    /// What happens when memory runs short.
    pub eviction: Option<String>,
    /// Replicas that are connected.
    pub replicas: Option<u64>,
}
