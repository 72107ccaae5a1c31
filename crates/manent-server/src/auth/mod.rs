//! Authentication by server token, API key, or a browser session that was started with one of them.
//!
//! A session has two secrets. A cookie carries one; the page keeps the other in the storage of its origin and sends it as a
//! header. The cookie alone is not enough, because a browser sends it to every port of the host.

use crate::auth::principal::Credential;
use crate::auth::secret::{Secret, write_private};
use crate::problem::Problem;
use crate::wire::{PresentedSecret, Wire};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use manent::model::{ApiKeySecret, KeyId};
use manent::{Refusal, Tenants};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Lifetime of a session after its last renewal.
pub const SESSION: Duration = Duration::from_secs(24 * 60 * 60);

/// A session is renewed when the page asks for it and at least this much of its lifetime has passed.
const RENEWAL: Duration = Duration::from_secs(60 * 60);

/// Header with the session secret that the page stores.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("manent-session");

const TOKEN_FILE: &str = "token";
const SESSIONS_FILE: &str = "sessions.json";

/// Maximum number of sessions per key, or of the server token; a new one ends the oldest.
const SESSIONS_MAX: usize = 64;

/// The server token and the sessions.
pub struct Auth {
    token: blake3::Hash,
    sessions_file: PathBuf,
    sessions: Mutex<Sessions>,
    /// Wakes all waiters whenever a session ends; each checks whether it was its own.
    ended: watch::Sender<()>,
    /// Name of the cookie. It contains the port, because browsers share cookies between all ports of a host.
    cookie: String,
}

/// An authenticated caller.
#[derive(Clone)]
pub struct Authenticated {
    pub who: Credential,
    /// The session of the request, as the digest of its cookie.
    pub session: Option<String>,
}

/// A started session, for the browser.
pub struct NewSession {
    pub cookie: String,
    /// For the page, which sends it with every request.
    pub secret: Secret,
}

/// Sessions by the digest of the secret in their cookie.
#[derive(Default, Serialize, Deserialize)]
struct Sessions(BTreeMap<String, Session>);

/// A session: its expiry in seconds since 1970, and the key that started it, if it was not the server token.
#[derive(Clone, Serialize, Deserialize)]
struct Session {
    end: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<KeyId>,
    /// Digest of the server token, if that started the session: the session ends when the token changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Digest of the secret that the page stores. A session without one is refused.
    #[serde(default)]
    page: String,
}

impl Sessions {
    /// Ends the oldest session of a key that has too many; sessions of other keys are not affected.
    fn make_room(&mut self, key: Option<KeyId>) {
        let mut own: Vec<(u64, String)> = self
            .0
            .iter()
            .filter(|(_, session)| session.key == key)
            .map(|(digest, session)| (session.end, digest.clone()))
            .collect();
        own.sort_unstable();
        for (_, digest) in own.iter().take((own.len() + 1).saturating_sub(SESSIONS_MAX)) {
            self.0.remove(digest);
        }
    }
}

impl Auth {
    /// Loads the sessions from the folder of the token.
    pub fn open(home: &Path, token: &Secret, port: u16) -> io::Result<Self> {
        let sessions_file = home.join(SESSIONS_FILE);
        let sessions = match std::fs::read(&sessions_file) {
            // An unreadable file ends all sessions; it must not keep the server from starting.
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Sessions::default(),
            Err(error) => return Err(error),
        };
        let cookie = format!("manent-{port}");
        let ended = watch::Sender::new(());
        Ok(Self { token: token.digest(), sessions_file, sessions: Mutex::new(sessions), ended, cookie })
    }

    /// Authenticates a request. This is the only place that reads credentials.
    pub fn authenticate(
        &self,
        wire: &Wire,
        tenants: &Tenants,
        headers: &HeaderMap,
    ) -> Result<Authenticated, AuthError> {
        match (wire.secret)(headers) {
            PresentedSecret::Secret(secret) => {
                return Ok(Authenticated { who: self.resolve(tenants, secret)?, session: None });
            }
            PresentedSecret::Malformed => return Err(AuthError::Invalid),
            PresentedSecret::Missing if !wire.has_sessions => return Err(AuthError::Missing),
            PresentedSecret::Missing => {}
        }
        let (digest, session) = self.session_of(headers).ok_or(AuthError::Missing)?;
        let who = match session {
            Session { key: Some(key), .. } => {
                tenants.authenticate_session(key).map(Credential::Key).map_err(|why| AuthError::Key(why, Some(key)))?
            }
            Session { token: Some(token), .. } if token == self.mark() => Credential::Token,
            Session { .. } => return Err(AuthError::Missing),
        };
        Ok(Authenticated { who, session: Some(digest) })
    }

    /// Resolves a server token or an API key.
    pub fn resolve(&self, tenants: &Tenants, shown: &str) -> Result<Credential, AuthError> {
        if Secret::given(shown).digest() == self.token {
            return Ok(Credential::Token);
        }
        match tenants.authenticate(shown) {
            Ok(pass) => Ok(Credential::Key(pass)),
            Err(Refusal::Unknown) => Err(AuthError::Invalid),
            Err(why) => Err(AuthError::Key(why, ApiKeySecret::read(shown).map(|word| word.id))),
        }
    }

    /// Starts a session. If it cannot be saved, for example on a full disk, it lasts until the server stops.
    pub fn begin(&self, who: &Credential) -> NewSession {
        let (session, page) = (Secret::random(""), Secret::random(""));
        let now = seconds();
        let mut sessions = self.lock();
        sessions.0.retain(|_, session| session.end > now);
        let key = match who {
            Credential::Token => None,
            Credential::Key(pass) => Some(pass.key.id),
        };
        sessions.make_room(key);
        let token = key.is_none().then(|| self.mark());
        let kept = Session { end: now + SESSION.as_secs(), key, token, page: page.digest().to_string() };
        sessions.0.insert(session.digest().to_string(), kept);
        if let Err(error) = self.save(&sessions) {
            tracing::warn!(%error, "a session could not be kept; it ends with the server");
        }
        drop(sessions);
        self.ended.send_replace(());
        NewSession { cookie: self.cookie(session.reveal(), SESSION), secret: page }
    }

    /// Renews the session of a request and returns its new cookie, if a renewal is due.
    pub fn renew(&self, headers: &HeaderMap) -> Option<String> {
        let (digest, session) = self.session_of(headers)?;
        let end = seconds() + SESSION.as_secs();
        if end.saturating_sub(session.end) < RENEWAL.as_secs() {
            return None;
        }
        let mut sessions = self.lock();
        sessions.0.get_mut(&digest)?.end = end;
        // A renewal that could not be saved is not announced: the session ends at its old expiry.
        self.save(&sessions).ok()?;
        Some(self.cookie(self.cookie_of(headers)?.reveal(), SESSION))
    }

    /// Ends the session of a request, aborts its running responses, and returns the cookie that deletes it.
    pub fn end(&self, headers: &HeaderMap) -> io::Result<String> {
        if let Some((digest, _)) = self.session_of(headers) {
            let mut sessions = self.lock();
            sessions.0.remove(&digest);
            // On a full disk the file can only be removed. All sessions then end with the server, but the ended one
            // cannot come back.
            let saved = self.save(&sessions).or_else(|_| self.forget_all());
            drop(sessions);
            self.ended.send_replace(());
            saved?;
        }
        Ok(self.cookie("", Duration::ZERO))
    }

    /// Waits until a session ends: by logout, replacement by a newer one, or expiry.
    pub async fn ended(&self, session: &str) {
        let mut ended = self.ended.subscribe();
        loop {
            let end = self.lock().0.get(session).map(|session| session.end);
            let left = end.and_then(|end| end.checked_sub(seconds())).filter(|left| *left > 0);
            let Some(left) = left else { return };
            tokio::select! {
                _ = ended.changed() => {}
                () = tokio::time::sleep(Duration::from_secs(left)) => {}
            }
        }
    }

    fn cookie(&self, value: &str, age: Duration) -> String {
        format!("{}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}", self.cookie, age.as_secs())
    }

    /// Derives an identifier of the token for the session file, which does not reveal the token.
    fn mark(&self) -> String {
        manent::model::hex::encode(&blake3::derive_key("manent 2026 session of a token", self.token.as_bytes()))
    }

    /// Finds the session of a request; both of its secrets must match.
    fn session_of(&self, headers: &HeaderMap) -> Option<(String, Session)> {
        let digest = self.cookie_of(headers)?.digest().to_string();
        let session = self.lock().0.get(&digest).cloned()?;
        let page = headers.get(SESSION_HEADER)?.to_str().ok()?;
        let is_own = Secret::given(page).digest() == blake3::Hash::from_hex(&session.page).ok()?;
        (is_own && session.end > seconds()).then_some((digest, session))
    }

    fn cookie_of(&self, headers: &HeaderMap) -> Option<Secret> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .find(|(name, _)| *name == self.cookie)
            .map(|(_, value)| Secret::given(value))
    }

    fn save(&self, sessions: &Sessions) -> io::Result<()> {
        write_private(&self.sessions_file, &serde_json::to_string(sessions)?)
    }

    /// Removes the session file; sessions of the running server continue.
    fn forget_all(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.sessions_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        // A panic between two statements leaves at most one session more or less.
        self.sessions.lock()
    }
}

/// Returns the token generated at the first start; generates it if there is none.
pub fn token(home: &Path) -> io::Result<Secret> {
    let path = home.join(TOKEN_FILE);
    if let Some(token) = stored_token(&path)? {
        return Ok(token);
    }
    let token = Secret::random("mnt_");
    let own = home.join(format!("{TOKEN_FILE}.{}", std::process::id()));
    write_private(&own, token.reveal())?;
    // Two processes may start for the first time at once. The hard link succeeds only once, and both then use the same
    // token.
    let made = std::fs::hard_link(&own, &path);
    std::fs::remove_file(&own)?;
    match made {
        Ok(()) => Ok(token),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match stored_token(&path)? {
            Some(token) => Ok(token),
            // An empty file contains no token.
            None => write_private(&path, token.reveal()).map(|()| token),
        },
        Err(error) => Err(error),
    }
}

fn stored_token(path: &Path) -> io::Result<Option<Secret>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(Secret::given)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why authentication failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthError {
    /// No credentials, or an expired session.
    Missing,
    /// An unknown token, key or session.
    Invalid,
    /// A key that is revoked, expired or otherwise no longer valid.
    Key(Refusal, Option<KeyId>),
}

impl From<AuthError> for Problem {
    fn from(refused: AuthError) -> Self {
        let (code, why) = match refused {
            AuthError::Missing => {
                ("unauthorized", "authentication required: send the server token or an API key".to_owned())
            }
            AuthError::Invalid => ("unauthorized", "invalid token or API key".to_owned()),
            AuthError::Key(why, _) => (why.code(), why.to_string()),
        };
        Self::new(StatusCode::UNAUTHORIZED, code, why)
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::native::NATIVE;
    use manent::Location;

    #[tokio::test]
    async fn a_session_ends_with_the_token_that_began_it() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let tenants = Tenants::open(&Location::File(home.path().join("manent.db")), None).expect("an empty folder");
        let open = |token: &str| Auth::open(home.path(), &Secret::given(token), 80).expect("readable");
        let begun = open("one").begin(&Credential::Token);
        let cookie = begun.cookie.split(';').next().expect("a cookie").parse().expect("a header");
        let secret = begun.secret.reveal().parse().expect("a header");
        let headers = HeaderMap::from_iter([(header::COOKIE, cookie), (SESSION_HEADER, secret)]);
        assert!(open("one").authenticate(&NATIVE, &tenants, &headers).is_ok());
        assert!(
            open("two").authenticate(&NATIVE, &tenants, &headers).is_err(),
            "the token that began it is no longer one"
        );
        let kept = std::fs::read_to_string(home.path().join(SESSIONS_FILE)).expect("there");
        let digest = Secret::given("one").digest().to_string();
        assert!(!kept.contains(&digest), "the file tells the digest of the token");
        tenants.close().await.expect("closed");
    }
}
pub(crate) mod principal;
pub(crate) mod secret;
