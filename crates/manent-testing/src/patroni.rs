//! A PostgreSQL cluster of three servers under Patroni on loopback; stopped and removed on drop.
//!
//! A commit is acknowledged when a replica has it as well (strict synchronous mode), and only such a replica may
//! become the leader.

use crate::postgres::{self, Owner, USER};
use rustix::process::Signal;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many servers there are.
pub const NODES: usize = 3;
/// How long a cluster may take to become whole.
const WHOLE: Duration = Duration::from_secs(120);

/// An exclusive cluster.
pub struct Cluster {
    folder: PathBuf,
    owner: Option<Owner>,
    etcd: Child,
    nodes: Vec<Node>,
}

struct Node {
    port: u16,
    rest: u16,
    settings: PathBuf,
    data: PathBuf,
    patroni: Option<Child>,
}

impl Cluster {
    /// Makes a cluster below `folder` and returns when it is whole.
    ///
    /// The error says in one line what is missing, so that a test can report that it could not run.
    pub fn start(folder: &Path) -> io::Result<Cluster> {
        for program in ["etcd", "patroni"] {
            if !installed(program) {
                return Err(io::Error::other(format!("{program} is not installed")));
            }
        }
        let programs = postgres::programs().ok_or_else(|| io::Error::other("PostgreSQL is not installed"))?;
        let owner = postgres::owner()?;
        let folder = postgres::owned(folder, "patroni", owner)?;
        let (clients, peers) = (postgres::free_port()?, postgres::free_port()?);
        let etcd = etcd(&folder, owner, clients, peers)?;
        let mut cluster = Cluster { folder, owner, etcd, nodes: Vec::new() };
        for number in 0..NODES {
            let (port, rest) = (postgres::free_port()?, postgres::free_port()?);
            let settings = cluster.folder.join(format!("node{number}.yml"));
            let data = cluster.folder.join(format!("data{number}"));
            let node = Node { port, rest, settings, data, patroni: None };
            std::fs::write(&node.settings, node.yaml(number, clients, &programs))?;
            cluster.nodes.push(node);
        }
        for number in 0..NODES {
            cluster.start_again(number)?;
        }
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    /// Returns the address of the cluster, for a client that looks for the one that leads.
    pub fn url(&self) -> String {
        let mut hosts = String::new();
        for node in &self.nodes {
            let _ = write!(hosts, "{}127.0.0.1:{}", if hosts.is_empty() { "" } else { "," }, node.port);
        }
        format!("postgres://{USER}@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=2")
    }

    /// Returns the address of one of its servers.
    pub fn url_of(&self, node: usize) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres", self.nodes[node].port)
    }

    /// Returns the one that leads, if one says so.
    pub fn leader(&self) -> Option<usize> {
        (0..NODES).find(|node| self.nodes[*node].is("leader"))
    }

    /// Waits until one leads, another has everything it has, and the rest follow.
    pub fn wait_until_whole(&self) -> io::Result<()> {
        let until = Instant::now() + WHOLE;
        while Instant::now() < until {
            let count = |role: &str| self.nodes.iter().filter(|node| node.is(role)).count();
            if (count("leader"), count("synchronous"), count("replica")) == (1, 1, NODES - 1) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(io::Error::other("the cluster does not become whole"))
    }

    /// Kills a server with its Patroni at once, as when its machine is gone.
    pub fn kill(&mut self, node: usize) -> io::Result<()> {
        let node = &mut self.nodes[node];
        if let Some(mut patroni) = node.patroni.take() {
            patroni.kill()?;
            patroni.wait()?;
        }
        postgres::kill(&node.data)?;
        std::fs::remove_file(node.data.join("postmaster.pid"))
    }

    /// Starts a killed server again; it follows the present leader.
    pub fn start_again(&mut self, node: usize) -> io::Result<()> {
        let log = std::fs::File::create(self.folder.join(format!("node{node}-{}.log", fastrand::u32(..))))?;
        let mut patroni = command("patroni", &self.folder, self.owner);
        patroni.arg(&self.nodes[node].settings).stdout(log.try_clone()?).stderr(log);
        self.nodes[node].patroni = Some(patroni.spawn()?);
        Ok(())
    }

    /// Suspends every process of a server, simulating a stalled machine.
    pub fn freeze(&self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::STOP)
    }

    /// Lets a server go on after [`Self::freeze`].
    pub fn thaw(&self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::CONT)
    }

    fn signal(&self, node: usize, signal: Signal) -> io::Result<()> {
        let node = &self.nodes[node];
        // Patroni first: it would take a server that does not answer for a dead one.
        let patroni = node.patroni.as_ref().and_then(|patroni| i32::try_from(patroni.id()).ok());
        for process in patroni.into_iter().chain(postgres::processes_of(&node.data)?) {
            postgres::signal(process, signal);
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nothing is to be kept, and a test that fails must not leave servers behind.
        for node in 0..self.nodes.len() {
            let _ = self.kill(node);
        }
        let _ = self.etcd.kill();
        let _ = self.etcd.wait();
    }
}

impl Node {
    /// Asks Patroni whether the server has a role.
    fn is(&self, role: &str) -> bool {
        let ask = || -> io::Result<bool> {
            let mut stream = TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], self.rest)), SECOND)?;
            stream.set_read_timeout(Some(SECOND))?;
            write!(stream, "GET /{role} HTTP/1.0\r\n\r\n")?;
            let mut status = [0; 12];
            stream.read_exact(&mut status)?;
            Ok(status.ends_with(b" 200"))
        };
        // One that does not answer has no role.
        self.patroni.is_some() && ask().unwrap_or(false)
    }

    fn yaml(&self, number: usize, etcd: u16, programs: &Path) -> String {
        let Node { port, rest, data, .. } = self;
        let (data, programs, pass) = (data.display(), programs.display(), data.with_extension("pass"));
        let pass = pass.display();
        format!(
            "scope: manent
name: node{number}
restapi:
  listen: 127.0.0.1:{rest}
  connect_address: 127.0.0.1:{rest}
etcd3:
  hosts: 127.0.0.1:{etcd}
bootstrap:
  dcs:
    ttl: 10
    loop_wait: 2
    retry_timeout: 3
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters:
        wal_log_hints: 'on'
        max_connections: 60
  initdb:
    - encoding: UTF8
    - locale: C.UTF-8
postgresql:
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{port}
  data_dir: {data}
  bin_dir: {programs}
  pgpass: {pass}
  pg_hba:
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
  authentication:
    superuser:
      username: {USER}
    replication:
      username: follower
  parameters:
    unix_socket_directories: ''
"
        )
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn etcd(folder: &Path, owner: Option<Owner>, clients: u16, peers: u16) -> io::Result<Child> {
    let log = std::fs::File::create(folder.join("etcd.log"))?;
    let (clients, peers) = (format!("http://127.0.0.1:{clients}"), format!("http://127.0.0.1:{peers}"));
    let mut etcd = command("etcd", folder, owner);
    etcd.args(["--name", "one", "--data-dir"]).arg(folder.join("etcd"));
    etcd.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    etcd.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    etcd.args(["--initial-cluster", &format!("one={peers}")]);
    etcd.stdout(log.try_clone()?).stderr(log).spawn()
}

fn command(program: &str, folder: &Path, owner: Option<Owner>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    if let Some(Owner { user, group }) = owner {
        command.uid(user).gid(group);
    }
    command
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
