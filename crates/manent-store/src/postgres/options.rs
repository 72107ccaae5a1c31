//! Connection options: the address of the server, and the tenant.

use super::tls::{self, RootStore};
use crate::api::error::{Result, StoreError};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// Connect timeout of a host, unless the address sets it.
const CONNECT: Duration = Duration::from_secs(5);

/// Options of a store on PostgreSQL: the address of the server, and the tenant.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The server: a URL or a list of settings, as libpq takes it. It may name several hosts; the one that takes writes
    /// is used. `sslmode` and `sslrootcert` say how the way there is protected.
    pub server: String,
    /// The tenant.
    pub tenant: i64,
    /// Number of reader threads.
    pub readers: usize,
    /// How long a server may be unavailable or silent before callers get an error.
    pub statement_timeout: Duration,
    /// Keep the index filled, so that the store can be searched at once.
    pub index: bool,
}

impl PostgresOptions {
    /// The first tenant of a server.
    pub fn new(server: impl Into<String>) -> Self {
        Self { server: server.into(), tenant: 1, readers: 4, statement_timeout: Duration::from_secs(10), index: true }
    }

    /// Returns the server for display: without its password and its settings.
    pub fn address(&self) -> String {
        let Ok((config, _)) = self.config() else { return "postgres://…".to_owned() };
        let ports = config.get_ports();
        let port = |place: usize| ports.get(place).or(ports.first()).copied().unwrap_or(5432);
        let hosts = config.get_hosts().iter().enumerate().map(|(place, host)| match host {
            Host::Tcp(name) => format!("{name}:{}", port(place)),
            Host::Unix(folder) => folder.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
        format!("postgres://{user}{}{database}", hosts.join(","))
    }

    /// Returns the connection settings of each host.
    pub(super) fn hosts(&self) -> Result<(Vec<Config>, RootStore)> {
        let (given, trust) = self.config()?;
        let count = given.get_hosts().len().max(given.get_hostaddrs().len());
        Ok(((0..count).map(|place| of_host(&given, place)).collect(), trust))
    }

    fn config(&self) -> Result<(Config, RootStore)> {
        let (server, trust) = tls::split(&self.server, |name| std::env::var(name).ok())?;
        // The cause is not repeated: it may contain a password.
        let wrong = |_| StoreError::Invalid("that is not the address of a PostgreSQL".to_owned());
        let config: Config = server.parse().map_err(wrong)?;
        // A password with a sign of its own would be taken for a part of the host, and be shown.
        let strange = |text: &str| text.contains(['@', '?', '&', '=']);
        let strange_host = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if strange(name)));
        if strange_host || config.get_user().is_some_and(|user| user.contains(['?', '&', '='])) {
            let why = "that is not the address of a PostgreSQL: write signs in names and passwords as %40 for @";
            return Err(StoreError::Invalid(why.to_owned()));
        }
        // However often and in whatever form `sslmode` was given, a certificate that must be verified requires TLS.
        if trust != RootStore::NoVerification && config.get_ssl_mode() != SslMode::Require {
            let why = "the address says whom to trust; with that, sslmode is said once, as verify-full or require";
            return Err(StoreError::Invalid(why.to_owned()));
        }
        Ok((config, trust))
    }
}

/// Returns the settings of one host of an address.
fn of_host(given: &Config, place: usize) -> Config {
    let mut config = Config::new();
    match given.get_hosts().get(place) {
        Some(Host::Tcp(name)) => drop(config.host(name)),
        Some(Host::Unix(folder)) => drop(config.host_path(folder)),
        None => {}
    }
    if let Some(address) = given.get_hostaddrs().get(place) {
        config.hostaddr(*address);
        if given.get_hosts().is_empty() {
            config.host(address.to_string());
        }
    }
    if let Some(port) = given.get_ports().get(place).or(given.get_ports().first()) {
        config.port(*port);
    }
    if let Some(user) = given.get_user() {
        config.user(user);
    }
    let password = given.get_password().map(<[u8]>::to_vec);
    let password = password.or_else(|| std::env::var_os("PGPASSWORD").map(std::ffi::OsString::into_encoded_bytes));
    if let Some(password) = password {
        config.password(password);
    }
    if let Some(database) = given.get_dbname() {
        config.dbname(database);
    }
    if let Some(options) = given.get_options() {
        config.options(options);
    }
    let several = given.get_hosts().len().max(given.get_hostaddrs().len()) > 1;
    config.target_session_attrs(match several {
        true => TargetSessionAttrs::ReadWrite,
        false => given.get_target_session_attrs(),
    });
    config
        .application_name(given.get_application_name().unwrap_or("manent"))
        .ssl_mode(given.get_ssl_mode())
        .ssl_negotiation(given.get_ssl_negotiation())
        .channel_binding(given.get_channel_binding())
        .connect_timeout(given.get_connect_timeout().copied().unwrap_or(CONNECT))
        // Keepalives detect a host that disappeared, even while no result is awaited.
        .keepalives_idle(Duration::from_secs(10))
        .tcp_user_timeout(Duration::from_secs(20));
    config
}

impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the address: it may hold a password.
        let Self { server: _, tenant, readers, statement_timeout: patience, index } = self;
        f.debug_struct("PostgresOptions")
            .field("tenant", tenant)
            .field("readers", readers)
            .field("patience", patience)
            .field("index", index)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(server: &str) -> bool {
        PostgresOptions::new(server).config().is_err()
    }

    #[test]
    fn who_is_to_be_trusted_is_asked_however_often_the_address_says_otherwise() {
        assert!(!refused("postgres://db/x?sslmode=verify-full"));
        assert!(!refused("postgres://db/x?sslmode=require&sslmode=verify-full"));
        for server in [
            "postgres://db/x?sslmode=verify-full&sslmode=disable",
            "postgres://db/x?sslmode=verify-full&sslmode=prefer",
            "postgres://db/x?sslmode=verify-full&ssl%6Dode=disable",
            "postgres://db/x?sslmode=require&sslrootcert=/a&sslmode=disable",
            "postgres://db/x?sslrootcert=/a",
            "host=db sslrootcert=system",
            "host=db sslrootcert=/a application_name='x sslmode=require y'",
        ] {
            assert!(refused(server), "{server}");
        }
    }

    #[test]
    fn a_password_is_not_taken_for_a_host_and_shown() {
        for server in [
            "postgres://ada:p@ss@db/chats",
            "postgres://db/chats?password=secret&user=ada@corp",
            "postgres://db/chats?user=ada@corp&password=secret",
            "postgres://db/x?sslmode=verify-full&application_name=me@home",
        ] {
            assert!(refused(server), "{server}");
            assert_eq!(PostgresOptions::new(server).address(), "postgres://…", "{server}");
        }
        let escaped = PostgresOptions::new("postgres://ada%40corp:p%40ss@[::1]/chats");
        assert_eq!(escaped.address(), "postgres://ada@corp@::1:5432/chats");
    }
}
