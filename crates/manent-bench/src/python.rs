//! Python virtual environment that runs the peers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::options::build_directory;

/// A virtual environment below Cargo's target folder, kept from run to run.
#[derive(Debug, Clone)]
pub struct Python {
    program: PathBuf,
}

impl Python {
    /// Makes the virtual environment unless it is there.
    pub fn prepare() -> Result<Python> {
        let folder = build_directory()?.join("bench-venv");
        let program = folder.join("bin/python");
        // Asked to run rather than to exist: a half-made environment is made again.
        let works = Command::new(&program).args(["-m", "pip", "--version"]).stdout(Stdio::null()).status();
        if !works.is_ok_and(|status| status.success()) {
            eprintln!("making a virtual environment for the peers");
            let mut make = Command::new("python3");
            make.args(["-m", "venv", "--clear"]).arg(&folder).stdout(Stdio::null());
            ensure!(make.status().context("python3 cannot be started")?.success(), "python3 -m venv failed");
        }
        Ok(Python { program })
    }

    /// Installs one pinned package unless it is there.
    ///
    /// What pip says goes to the terminal only: it names mirrors and paths that do not belong in a report.
    pub fn install(&self, requirement: &str) -> Result<()> {
        let mut pip = Command::new(&self.program);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]);
        let status = pip.stdout(Stdio::null()).status().context("pip cannot be started")?;
        ensure!(status.success(), "pip could not install {requirement}");
        Ok(())
    }

    /// Returns the command that runs a script.
    pub fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.program);
        // -B: no compiled files beside the scripts in the source tree.
        command.arg("-B").arg(script);
        command
    }

    /// Runs a script and returns what it prints.
    pub fn run(&self, script: &Path, arguments: &[String]) -> Result<Vec<u8>> {
        let output = self
            .command(script)
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .context("python cannot be started")?;
        if !output.status.success() {
            bail!("{} failed", script.file_name().unwrap_or_default().display());
        }
        Ok(output.stdout)
    }
}
