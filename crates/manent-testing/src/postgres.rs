//! A PostgreSQL of one's own: made in a folder, started on a free port of loopback, gone with the value.

use crate::not_run;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The user that owns the databases.
const USER: &str = "postgres";

/// A running server that nobody else uses.
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    owner: Option<Owner>,
}

/// Whom the server runs as, where we are root: PostgreSQL refuses to be run by root.
#[derive(Debug, Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

impl Postgres {
    /// Makes a cluster below `folder` and starts it with these settings (`name=value`) besides its defaults.
    ///
    /// The error says in one line what is missing, so that a test can report that it could not run.
    pub fn start(folder: &Path, settings: &[&str]) -> io::Result<Postgres> {
        let programs = programs().ok_or_else(|| io::Error::other("PostgreSQL is not installed"))?;
        let owner = owner()?;
        let folder = folder.join("postgres");
        std::fs::create_dir_all(&folder)?;
        if let Some(owner) = owner {
            std::os::unix::fs::chown(&folder, Some(owner.user), Some(owner.group))?;
            let parent = folder.parent().unwrap_or(&folder);
            // A temporary folder lets only its owner through.
            std::fs::set_permissions(parent, std::fs::Permissions::from_mode(0o711))?;
        }
        let postgres = Postgres { programs, folder, port: free_port()?, owner };
        let data = postgres.folder.join("data");
        let mut make = postgres.command("initdb");
        make.arg("--pgdata").arg(&data).args(["--username", USER, "--auth", "trust", "--encoding", "UTF8"]);
        run(make.args(["--locale", "C.UTF-8", "--no-sync"]))?;
        postgres.launch(settings)?;
        Ok(postgres)
    }

    /// Returns where it listens.
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

/// An empty database that nobody else uses: on the server of the test run, or on one of its own.
pub struct Scratch {
    /// Its address.
    pub url: String,
    /// The server ends before its folder goes.
    _own: Option<(Postgres, tempfile::TempDir)>,
}

impl Scratch {
    /// Makes one; without PostgreSQL it reports that the test could not run.
    pub fn make() -> Option<Scratch> {
        match Self::try_make() {
            Ok(scratch) => Some(scratch),
            Err(error) => {
                not_run(&format!("PostgreSQL: {error}"));
                None
            }
        }
    }

    fn try_make() -> io::Result<Scratch> {
        let Ok(server) = std::env::var("MANENT_TEST_POSTGRES") else {
            let folder = tempfile::tempdir()?;
            let server = Postgres::start(folder.path(), &["fsync=off"])?;
            return Ok(Scratch { url: server.url(), _own: Some((server, folder)) });
        };
        let name = format!("scratch_{}", fastrand::u64(..));
        run_sql(&server, &format!("create database {name}"))?;
        let (before, _) = server.rsplit_once('/').ok_or_else(|| io::Error::other("an address names a database"))?;
        Ok(Scratch { url: format!("{before}/{name}"), _own: None })
    }
}

/// Runs a statement on a server, wherever the caller may be.
pub fn run_sql(server: &str, sql: &str) -> io::Result<()> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let connected = tokio_postgres::connect(server, tokio_postgres::NoTls).await;
            let (client, connection) = connected.map_err(io::Error::other)?;
            tokio::spawn(connection);
            client.batch_execute(sql).await.map_err(io::Error::other)
        })
    };
    // On a thread of its own: the caller may be inside a runtime, where nothing may wait.
    std::thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|_| Err(io::Error::other("it panicked"))))
}

/// Returns the folder of the newest PostgreSQL on this machine.
fn programs() -> Option<PathBuf> {
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
fn owner() -> io::Result<Option<Owner>> {
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

fn free_port() -> io::Result<u16> {
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
