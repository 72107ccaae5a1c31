//! The command, run in a home of its own.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// An installation in a temporary folder.
pub struct Home {
    pub folder: TempDir,
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// An installation on another disk.
    pub fn on(disk: &Path) -> Self {
        Self { folder: tempfile::tempdir_in(disk).expect("a temporary folder") }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Prepares a command; nothing of the caller's surroundings reaches it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manent"));
        command
            .args(arguments)
            .env_clear()
            .env("MANENT_HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .env("TZ", "UTC");
        command.current_dir(self.path());
        command
    }

    /// Runs a command in a pipe.
    pub fn run(&self, arguments: &[&str]) -> Said {
        self.fed(arguments, "")
    }

    /// Runs a command in a pipe that brings something.
    pub fn fed(&self, arguments: &[&str], input: &str) -> Said {
        let mut command = self.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let feeder = std::thread::spawn(move || drop(pipe.write_all(input.as_bytes())));
        let output = child.wait_with_output().expect("the command ends");
        feeder.join().expect("fed");
        said(&output)
    }

    /// Runs a command that must work, and returns its output without the last line end.
    pub fn good(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        said.out.trim_end_matches('\n').to_owned()
    }

    /// Runs a command on a terminal of 100 columns and returns what would be seen.
    pub fn on_terminal(&self, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        let mut command = self.command(arguments);
        command.env("TERM", "xterm-256color").envs(environment.iter().copied());
        let (mut controller, user) = manent_testing::terminal::open(100, 50).expect("a terminal");
        let input = user.try_clone().expect("a terminal");
        let output = user.try_clone().expect("a terminal");
        let mut child = command.stdin(input).stdout(output).stderr(user).spawn().expect("the command starts");
        drop(command);
        let reader = std::thread::spawn(move || {
            let mut seen = Vec::new();
            let mut piece = [0u8; 4_096];
            // The other side of a terminal that was closed is an error, not an end.
            while let Ok(read @ 1..) = controller.read(&mut piece) {
                seen.extend_from_slice(&piece[..read]);
            }
            String::from_utf8_lossy(&seen).replace("\r\n", "\n")
        });
        child.wait().expect("the command ends");
        reader.join().expect("read")
    }
}

fn said(output: &Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
