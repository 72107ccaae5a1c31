//! `manent serve`: the API and the page.

use crate::home::Home;
use crate::output::print;
use anyhow::Result;
use clap::Args;
use manent::BackupPlan;
use manent_server::{Limits, Rate, Secret, ServeOptions, Server};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// Run the HTTP server with the API and the page. By default it listens on this machine only.
#[derive(Args)]
pub struct Serve {
    /// Address to listen on; port 0 selects a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7317", env = "MANENT_LISTEN")]
    listen: SocketAddr,
    /// Additional `Host` name to accept.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Open the page in a browser.
    #[arg(long, short)]
    open: bool,
    /// Folder for backups.
    #[arg(long, value_name = "FOLDER")]
    backups: Option<PathBuf>,
    /// Number of backups to keep.
    #[arg(long, value_name = "N", default_value_t = 7)]
    backups_keep: usize,
    /// Hours between backups.
    #[arg(long, value_name = "HOURS", default_value_t = 24)]
    backups_every: u64,
    /// Disable backups.
    #[arg(long, conflicts_with = "backups")]
    no_backups: bool,
    /// Default rate limit per API key, in requests per second (burst: twice that).
    #[arg(long, value_name = "N", default_value_t = Limits::default().key.per_second, value_parser = clap::value_parser!(u32).range(1..))]
    key_rate: u32,
    /// Rate limit per address, in requests per second (burst: twice that).
    #[arg(long, value_name = "N", default_value_t = Limits::default().address.per_second, value_parser = clap::value_parser!(u32).range(1..))]
    address_rate: u32,
    /// Rate limit for invalid keys and tokens per address, per second (burst: ten times that).
    #[arg(long, value_name = "N", default_value_t = Limits::default().refusals.per_second, value_parser = clap::value_parser!(u32).range(1..))]
    refusal_rate: u32,
    /// Write the log as JSON lines.
    #[arg(long)]
    log_json: bool,
}

impl Serve {
    pub async fn run(self, home: &Home) -> Result<()> {
        start_log(self.log_json);
        let folder = match &self.backups {
            Some(folder) => home.move_backups(folder)?,
            None => home.backups(),
        };
        let tenants = home.open_tenants(folder.clone())?;
        let plan = BackupPlan {
            every: Duration::from_secs(self.backups_every.saturating_mul(3600)),
            keep: self.backups_keep,
            folder,
        };
        let options = ServeOptions {
            listen: self.listen,
            hosts: self.allow_host,
            home: home.folder.clone(),
            backups: (!self.no_backups).then_some(plan),
            limits: Limits {
                key: Rate::with_burst(self.key_rate, 2),
                address: Rate::with_burst(self.address_rate, 2),
                refusals: Rate::with_burst(self.refusal_rate, 10),
                ..Limits::default()
            },
        };
        let token = std::env::var("MANENT_TOKEN").ok().filter(|token| !token.is_empty()).map(Secret::given);
        let is_chosen = token.is_some();
        let server = Server::bind(tenants, options, token).await?;
        let (store, link, address) = (&home.store, server.login_link(), server.address());
        // A chosen token needs no link. Without a terminal the output usually ends in the log of a service manager, where
        // a token must not be.
        let shown = match is_chosen || !std::io::stdout().is_terminal() {
            true => format!("http://{address}/"),
            false => link.clone(),
        };
        print(&format!("Manent keeps {store}\nOpen {shown}\nAPI  http://{address}/docs/api\n"))?;
        let opened = self.open.then(|| open_browser(&home.folder, &link)).transpose()?;
        let ran = server.run(ended()).await;
        drop(opened);
        Ok(ran?)
    }
}

/// A private file that redirects a browser to the login link; removed on drop.
struct LoginFile(PathBuf);

impl Drop for LoginFile {
    fn drop(&mut self) {
        // It may be gone already, and the next start writes over it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Time until the file is removed.
const LOGIN_FILE: Duration = Duration::from_secs(60);

/// Opens a browser. The link contains the token, and every user of the machine can read process arguments, so the
/// browser is given the name of a private file that contains the link.
fn open_browser(folder: &Path, link: &str) -> Result<LoginFile> {
    let file = LoginFile(folder.join("open.html"));
    // The token is letters, digits, `_` and `-` where we made it; one that was chosen may hold anything.
    let target = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Manent</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={target}\">\n"
    );
    manent_server::write_private(&file.0, &text)?;
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    // A machine without a browser is not an error: the link was printed.
    let _ = std::process::Command::new(program).arg(&file.0).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    let written = LoginFile(file.0.clone());
    tokio::spawn(async move {
        tokio::time::sleep(LOGIN_FILE).await;
        drop(written);
    });
    Ok(file)
}

fn start_log(json: bool) {
    let filter = EnvFilter::try_from_env("MANENT_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match json {
        true => log.json().init(),
        false => log.compact().with_target(false).with_ansi(std::io::stderr().is_terminal()).init(),
    }
}

/// Waits for SIGINT or SIGTERM.
pub async fn ended() {
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
        let terminated = async {
            match &mut terminate {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = terminated => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    #[cfg(not(unix))]
    drop(tokio::signal::ctrl_c().await);
}
