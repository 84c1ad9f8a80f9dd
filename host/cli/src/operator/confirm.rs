//! Asking before something is gone for good.

use std::io::{IsTerminal, Write};

use anyhow::{Result, bail};

/// Goes on when the operator says so, now or with `--yes`.
pub(super) fn confirm(question: &str, is_confirmed: bool) -> Result<()> {
    if is_confirmed {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        bail!("{question}\nhint: nobody is there to ask; confirm with --yes");
    }
    eprint!("{question} [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was done"),
    }
}
