//! Location of a store: a SQLite file or a PostgreSQL server.

use manent_store::postgres::PostgresOptions;
use std::fmt;
use std::path::{Path, PathBuf};

/// Location of a store.
#[derive(Debug, Clone)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL server, with the number of the tenant.
    Server(PostgresOptions),
}

impl Location {
    /// Parses a location: `postgres://…` is a server, everything else is a file.
    pub fn of(text: impl AsRef<Path>) -> Self {
        let path = text.as_ref();
        let scheme = |text: &str| text.split_once("://").map(|(scheme, _)| scheme.trim_start().to_ascii_lowercase());
        let is_server = |text: &&str| scheme(text).is_some_and(|scheme| scheme == "postgres" || scheme == "postgresql");
        match path.to_str().filter(is_server) {
            Some(server) => Self::Server(PostgresOptions::new(server)),
            None => Self::File(path.to_owned()),
        }
    }

    /// Returns the file path, if it is a file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }
}

/// Omits the password of a server.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Server(options) => f.write_str(&options.address()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_from_a_file_and_keeps_its_password_to_itself() {
        let place = Location::of("postgres://ada:secret@db1,db2:6543/chats?sslmode=require");
        assert_eq!(place.to_string(), "postgres://ada@db1:5432,db2:6543/chats");
        assert!(!format!("{place:?}").contains("secret"));
        assert_eq!(Location::of("postgres.db").to_string(), "postgres.db");
        assert_eq!(Location::of("postgresql://localhost").to_string(), "postgres://localhost:5432");
        assert_eq!(Location::of("postgres://ada:secret@localhost:none/x").to_string(), "postgres://…");
        assert_eq!(Location::of(" Postgres://ada:secret@localhost/x").to_string(), "postgres://…");
    }
}
