//! Secrets: random, stored in files that only their owner can read, never printed.

use manent::private_files;
use std::fmt;
use std::io::Write;
use std::path::Path;

/// A string that must not appear in a log.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Generates a secret of 256 random bits with the given prefix.
    pub fn random(prefix: &str) -> Self {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).expect("the system has random numbers");
        Self(format!("{prefix}{}", manent::model::hex::encode(&bytes)))
    }

    /// Wraps an existing secret.
    pub fn given(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the plain text, to be sent to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns a digest to store and compare. Comparing digests takes constant time.
    pub fn digest(&self) -> blake3::Hash {
        blake3::hash(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Writes a file with owner-only permissions, atomically.
pub fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    private_files::create_folders(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = folder.join(format!(".{name}.{}.partial", std::process::id()));
    let mut file = private_files::open_options().write(true).create(true).truncate(true).open(&partial)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&partial, path)
}
