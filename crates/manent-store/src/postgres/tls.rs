//! TLS for server connections, configured by the settings of libpq.
//!
//! `sslmode=disable`, `prefer` (the default) and `require` mean the same as in libpq: the last two encrypt without
//! verifying the server. `verify-full`, or a certificate file in `sslrootcert`, verifies it; without such a file the
//! certificates of the system are trusted.

use crate::api::error::{Result, StoreError};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The policy for the certificate of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RootStore {
    /// Any server; its certificate is not verified.
    NoVerification,
    /// A server with a certificate for the requested host name, signed by an authority that the system trusts.
    System,
    /// The same, signed by an authority in this file.
    File(PathBuf),
}

/// Splits an address into the part that the client library understands, and the trust settings. Settings missing in the
/// address are taken from the variables of libpq.
pub(super) fn split(server: &str, variable: impl Fn(&str) -> Option<String>) -> Result<(String, RootStore)> {
    let is_url = server.starts_with("postgres://") || server.starts_with("postgresql://");
    let mut settings: Vec<String> = Vec::new();
    if !server.contains("sslmode") {
        settings.extend(variable("PGSSLMODE").map(|mode| format!("sslmode={mode}")));
    }
    let asks = |text: &str| text.contains("verify-") || text.contains("sslrootcert");
    if settings.is_empty() && !asks(server) {
        return Ok((server.to_owned(), RootStore::NoVerification));
    }
    let (before, given) = match is_url {
        true => server.split_once('?').unwrap_or((server, "")),
        false => ("", server),
    };
    match is_url {
        true => settings.extend(given.split('&').filter(|setting| !setting.is_empty()).map(str::to_owned)),
        false => settings.extend(given.split_whitespace().map(str::to_owned)),
    }
    let (mut trust, mut known) = (RootStore::NoVerification, Vec::new());
    for setting in settings {
        match setting.split_once('=') {
            Some(("sslmode", "verify-full")) => {
                known.push("sslmode=require".to_owned());
                if trust == RootStore::NoVerification {
                    trust = match variable("PGSSLROOTCERT").filter(|file| file != "system") {
                        Some(file) => RootStore::File(file.into()),
                        None => RootStore::System,
                    };
                }
            }
            Some(("sslmode", "verify-ca")) => {
                let why = "sslmode=verify-ca would let anybody answer who has a certificate; use verify-full";
                return Err(StoreError::Invalid(why.to_owned()));
            }
            Some(("sslrootcert", "system")) => trust = RootStore::System,
            Some(("sslrootcert", file)) => trust = RootStore::File(decoded(file, is_url).into()),
            _ => known.push(setting),
        }
    }
    let known = known.join(if is_url { "&" } else { " " });
    let between = if before.is_empty() || known.is_empty() { "" } else { "?" };
    Ok(([before, between, &known].concat(), trust))
}

/// In a URL a path may be written with percent signs.
fn decoded(text: &str, is_url: bool) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| is_url && *first == b'%');
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl RootStore {
    /// Returns what encrypts a connection.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let config = config.map_err(|error| StoreError::engine("preparing TLS", error))?;
        let config = match self {
            Self::NoVerification => config.dangerous().with_custom_certificate_verifier(Arc::new(NoVerifier(provider))),
            Self::System | Self::File(_) => config.with_root_certificates(self.roots()?),
        };
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(MakeRustlsConnect::new(config))
    }

    fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let found: Vec<CertificateDer<'static>> = match self {
            Self::File(path) => {
                let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
                let why = |error| StoreError::Invalid(format!("sslrootcert: {}: {error}", path.display()));
                read.map_err(why)?
            }
            _ => rustls_native_certs::load_native_certs().certs,
        };
        roots.add_parsable_certificates(found);
        match roots.is_empty() {
            true => Err(StoreError::Invalid("sslrootcert: there is no certificate to trust".to_owned())),
            false => Ok(roots),
        }
    }
}

/// Accepts any certificate, but checks that the server holds its private key.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_does_not_know_is_taken_out_of_an_address() {
        let split = |server| split(server, |_| None).expect("known");
        let plain = "postgres://ada@db/chats?connect_timeout=2&sslmode=require";
        assert_eq!(split(plain), (plain.to_owned(), RootStore::NoVerification));
        assert_eq!(split("postgres://db"), ("postgres://db".to_owned(), RootStore::NoVerification));
        let full = ("postgres://db/chats?sslmode=require".to_owned(), RootStore::System);
        assert_eq!(split("postgres://db/chats?sslmode=verify-full"), full);
        let file = RootStore::File("/etc/our roots.pem".into());
        let (server, trust) = split("postgres://db?sslrootcert=/etc/our%20roots.pem&sslmode=verify-full");
        assert_eq!((server.as_str(), &trust), ("postgres://db?sslmode=require", &file));
        let (server, trust) = split("host=db sslmode=verify-full sslrootcert=system");
        assert_eq!((server.as_str(), trust), ("host=db sslmode=require", RootStore::System));
    }

    #[test]
    fn where_an_address_says_nothing_the_variables_of_libpq_do() {
        let variable = |name: &str| match name {
            "PGSSLMODE" => Some("verify-full".to_owned()),
            "PGSSLROOTCERT" => Some("/etc/roots.pem".to_owned()),
            _ => None,
        };
        let split = |server| split(server, variable).expect("known");
        let file = RootStore::File("/etc/roots.pem".into());
        assert_eq!(split("postgres://db/x"), ("postgres://db/x?sslmode=require".to_owned(), file.clone()));
        assert_eq!(split("host=db"), ("sslmode=require host=db".to_owned(), file));
        let said = "postgres://db/x?sslmode=disable";
        assert_eq!(split(said), (said.to_owned(), RootStore::NoVerification));
    }

    #[test]
    fn what_would_trust_less_than_it_says_is_refused() {
        assert!(split("postgres://db?sslmode=verify-ca", |_| None).is_err());
    }
}
