//! A temporary PostgreSQL server: created in a folder, started on a free port of loopback, removed on drop.

use rustix::process::{Pid, Signal};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The user that owns the databases.
pub(crate) const USER: &str = "postgres";

/// An exclusive running server.
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    owner: Option<Owner>,
}

/// Whom the server runs as, where we are root: PostgreSQL refuses to be run by root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Postgres {
    /// Makes a cluster below `folder` and starts it with these settings (`name=value`) besides its defaults.
    ///
    /// The error says in one line what is missing, so that a test can report that it could not run.
    pub fn start(folder: &Path, settings: &[&str]) -> io::Result<Postgres> {
        let programs = programs().ok_or_else(|| io::Error::other("PostgreSQL is not installed"))?;
        let owner = owner()?;
        let folder = owned(folder, "postgres", owner)?;
        let postgres = Postgres { programs, folder, port: free_port()?, owner };
        let data = postgres.folder.join("data");
        let mut make = postgres.command("initdb");
        make.arg("--pgdata").arg(&data).args(["--username", USER, "--auth", "trust", "--encoding", "UTF8"]);
        run(make.args(["--locale", "C.UTF-8", "--no-sync"]))?;
        postgres.launch(settings)?;
        Ok(postgres)
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of the cluster and its log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the address of its first database, as client libraries take it.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns a program that came with this PostgreSQL, to be run as the owner of the cluster.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        // The owner may not be allowed to look at the folder we are in.
        command.current_dir(&self.folder);
        if let Some(Owner { user, group }) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }

    /// Kills the server and every process of it at once: none of them can say goodbye to a client or to a file.
    pub fn kill(&self) -> io::Result<()> {
        let data = self.folder.join("data");
        kill(&data)?;
        // A zombie process keeps its number, and the next server would take it for a running one.
        std::fs::remove_file(data.join("postmaster.pid"))
    }

    /// Starts it again after [`Self::kill`], on the same port; returns when it accepts connections.
    pub fn start_again(&self) -> io::Result<()> {
        self.launch(&[])
    }

    /// Ends every connection to it, as its administrator would.
    pub fn terminate_backends(&self) -> io::Result<()> {
        let ours = "select pg_terminate_backend(pid) from pg_stat_activity \
                    where backend_type = 'client backend' and pid <> pg_backend_pid()";
        let mut ask = self.command("psql");
        ask.args(["--no-psqlrc", "--host", "127.0.0.1", "--username", USER, "--port", &self.port.to_string()]);
        run(ask.args(["--command", ours]))
    }

    fn launch(&self, settings: &[&str]) -> io::Result<()> {
        if !settings.is_empty() {
            let path = self.folder.join("data/postgresql.auto.conf");
            let lines: String = settings.iter().map(|setting| format!("{setting}\n")).collect();
            std::fs::write(path, lines)?;
        }
        let options = format!("-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories=", self.port);
        let mut start = self.command("pg_ctl");
        start.args(["start", "--wait", "--silent", "--pgdata"]).arg(self.folder.join("data"));
        run(start.arg("--log").arg(self.folder.join("log")).args(["--options", &options]))
    }

    fn stop(&self, how: &str) -> io::Result<()> {
        let mut stop = self.command("pg_ctl");
        run(stop.args(["stop", "--wait", "--silent", "--mode", how, "--pgdata"]).arg(self.folder.join("data")))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Nothing is to be kept, and a test that fails must not leave a server behind.
        let _ = self.stop("immediate");
    }
}

/// Makes a folder below another that the owner of the server can work in.
pub(crate) fn owned(parent: &Path, name: &str, owner: Option<Owner>) -> io::Result<PathBuf> {
    let folder = parent.join(name);
    std::fs::create_dir_all(&folder)?;
    if let Some(owner) = owner {
        std::os::unix::fs::chown(&folder, Some(owner.user), Some(owner.group))?;
        // A temporary folder lets only its owner through.
        std::fs::set_permissions(parent, std::fs::Permissions::from_mode(0o711))?;
    }
    Ok(folder)
}

/// Kills the server of a data folder with its children, and waits until none of them runs.
pub(crate) fn kill(data: &Path) -> io::Result<()> {
    let all = processes_of(data)?;
    all.iter().for_each(|process| signal(*process, Signal::KILL));
    all.into_iter().try_for_each(wait_for_the_end_of)
}

/// Stops the server of a data folder and returns it with its children.
///
/// Stopped, it has no more children and does not see them die; dead, it would no longer be their parent.
pub(crate) fn processes_of(data: &Path) -> io::Result<Vec<i32>> {
    let file = std::fs::read_to_string(data.join("postmaster.pid"))?;
    let postmaster = file.lines().next().and_then(|line| line.trim().parse().ok());
    let postmaster = postmaster.ok_or_else(|| io::Error::other("postmaster.pid names no process"))?;
    signal(postmaster, Signal::STOP);
    let children = processes()?.filter(|process| parent(*process) == Some(postmaster));
    Ok(children.chain([postmaster]).collect())
}

/// Sends a signal to a process, if there is one with this number.
pub(crate) fn signal(process: i32, signal: Signal) {
    if let Some(process) = Pid::from_raw(process) {
        let _ = rustix::process::kill_process(process, signal);
    }
}

fn processes() -> io::Result<impl Iterator<Item = i32>> {
    Ok(std::fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// Returns a field of what the system says about a process, counted behind its name.
fn field(process: i32, place: usize) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold anything; it ends at the last bracket.
    line.rsplit_once(')')?.1.split_whitespace().nth(place).map(str::to_owned)
}

fn parent(process: i32) -> Option<i32> {
    field(process, 1)?.parse().ok()
}

fn wait_for_the_end_of(process: i32) -> io::Result<()> {
    let until = Instant::now() + Duration::from_secs(20);
    while field(process, 0).is_some_and(|state| state != "Z") {
        if Instant::now() > until {
            return Err(io::Error::other(format!("process {process} does not end")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Returns the folder of the newest PostgreSQL on this machine.
pub(crate) fn programs() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output();
    let told =
        asked.ok().and_then(|output| String::from_utf8(output.stdout).ok()).map(|text| PathBuf::from(text.trim()));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    debian.sort_by_key(|folder| version_in(folder));
    debian.into_iter().rev().chain(told).find(|folder| folder.join("initdb").is_file())
}

fn version_in(folder: &Path) -> Option<u32> {
    folder.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Returns the user that Debian's package made, if we are root and need one.
pub(crate) fn owner() -> io::Result<Option<Owner>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.split(':').next() == Some(USER));
    let number = |place: usize| line?.split(':').nth(place)?.parse().ok();
    match (number(2), number(3)) {
        (Some(user), Some(group)) => Ok(Some(Owner { user, group })),
        _ => Err(io::Error::other("we are root, and there is no user postgres to run PostgreSQL as")),
    }
}

pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn run(command: &mut Command) -> io::Result<()> {
    // To files, not to pipes: the server inherits them and would keep a pipe open for ever.
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} failed ({status})", command.get_program().display()))),
    }
}
