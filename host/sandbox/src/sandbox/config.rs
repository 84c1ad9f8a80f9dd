//! How a sandbox is set up: its bounds, its cache, and what stands between tenants.

use std::path::PathBuf;

use admission::Share;

use crate::aside::Elsewhere;
use crate::isolated::Processes;

#[derive(Debug, Clone)]
pub struct Config {
    /// Where images are kept between starts. It must be writable by this server alone.
    pub cache_folder: Option<PathBuf>,
    pub runs: Share,
    pub waiting_runs: Share,
    /// Memory that runs add to their images.
    pub run_bytes: Share,
    /// Slots that keep their last image mapped for the next run of it.
    pub warm_slots: usize,
    /// Memory for images that do not run, beside those that do; the others are unpacked from their files when they are needed.
    pub held_image_bytes: u64,
    pub isolation: Isolation,
    /// Where long runs go on, and components are loaded.
    pub aside: Option<Elsewhere>,
    /// A secret of the server: files of the cache are trusted when they are hashed with it.
    pub cache_key: [u8; 32],
    /// The disk quota of images.
    pub image_bytes: Share,
    /// The largest image.
    pub max_image_bytes: usize,
}

/// What stands between tenants beside WebAssembly.
#[derive(Debug, Clone)]
pub enum Isolation {
    /// Nothing: all run in this process.
    None,
    /// Processes that can do nothing but run components, one for each group of tenants.
    Process(Processes),
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            cache_folder: None,
            runs: Share::new(256, 64),
            waiting_runs: Share::new(10_000, 1000),
            run_bytes: Share::new(4 << 30, 256 << 20),
            warm_slots: 64,
            held_image_bytes: 512 << 20,
            isolation: Isolation::None,
            aside: None,
            cache_key: [0; 32],
            image_bytes: Share::new(8 << 30, 1 << 30),
            max_image_bytes: 64 << 20,
        }
    }
}
