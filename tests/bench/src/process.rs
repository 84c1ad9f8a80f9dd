//! Servers that a bench starts for itself, and stops however it ends.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// A server of ours; it ends with this.
pub(crate) struct Process {
    child: Child,
    /// Removed after it.
    _folder: Option<TempDir>,
    pub(crate) port: u16,
}

/// A port without a listener.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

// === impl Process ===

impl Process {
    /// Starts a server and waits until its port answers. What it has to say goes into a file.
    pub(crate) async fn start(command: &mut Command, port: u16, log: &Path) -> Result<Self> {
        Self::start_within(command, port, log, Duration::from_secs(20)).await
    }

    /// The same, of a server that takes its time.
    pub(crate) async fn start_within(command: &mut Command, port: u16, log: &Path, patience: Duration) -> Result<Self> {
        const PAUSE: Duration = Duration::from_millis(5);
        let tries = patience.as_millis() / PAUSE.as_millis();
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        for _ in 0..tries {
            if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return Ok(Self { child, _folder: None, port });
            }
            if let Some(status) = child.try_wait()? {
                bail!("{program} ended with {status}: {}", std::fs::read_to_string(log).unwrap_or_default().trim());
            }
            tokio::time::sleep(PAUSE).await;
        }
        bail!("{program} does not answer at port {port}")
    }

    pub(crate) fn with_folder(self, folder: TempDir) -> Self {
        Self { _folder: Some(folder), ..self }
    }

    /// Memory of the process that is in use; only Linux tells.
    pub(crate) fn resident_mb(&self) -> Option<f64> {
        self.memory_mb("VmRSS:")
    }

    /// A line of what Linux tells of the process's memory, such as `RssAnon:`, which is heap and memories of runs.
    pub(crate) fn memory_mb(&self, line: &str) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|found| found.strip_prefix(line))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0 / 1e6)
    }

    /// Processor time that it has used; only Linux tells.
    pub(crate) fn cpu_s(&self) -> Option<f64> {
        /// Of `/proc/<id>/stat`, whatever the kernel was built with.
        const TICKS_PER_SECOND: f64 = 100.0;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()?)).ok()?;
        // The name may hold spaces; after it come the state and then numbers, the 14th and 15th of all being the times.
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut times = fields.split(' ').skip(11).map(|ticks| ticks.parse::<f64>().ok());
        Some((times.next()?? + times.next()??) / TICKS_PER_SECOND)
    }

    /// Asks it to stop, and waits for that.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let id = self.child.id().context("it has ended already")?.to_string();
        Command::new("kill").args(["-TERM", &id]).status().await?;
        self.child.wait().await?;
        Ok(())
    }
}
