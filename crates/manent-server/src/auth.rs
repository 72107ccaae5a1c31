//! Who may come in: whoever has the token or a key, or a session that was begun with one of them.

use crate::principal::Who;
use crate::problem::Problem;
use crate::secret::{Secret, write_private};
use axum::http::{HeaderMap, StatusCode, header};
use manent::model::{KeyId, KeyWord};
use manent::{Refusal, Tenants};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a session of the page lasts.
pub const SESSION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const TOKEN_FILE: &str = "token";
const SESSIONS_FILE: &str = "sessions.json";

/// So many sessions are begun with one key, or with the token; the oldest ends for one more.
const SESSIONS_MAX: usize = 64;

/// The token and the sessions of a server.
pub struct Auth {
    token: blake3::Hash,
    sessions_file: PathBuf,
    sessions: Mutex<Sessions>,
    /// Sessions of several servers on one machine meet in one jar, because cookies do not know ports.
    cookie: String,
}

/// Sessions by the digest of their secret.
#[derive(Default, Serialize, Deserialize)]
struct Sessions(BTreeMap<String, Session>);

/// A session: when it ends, in seconds since 1970, and the key that it was begun with, if not the token.
#[derive(Clone, Serialize, Deserialize)]
struct Session {
    end: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<KeyId>,
    /// The digest of the token, if it was begun with that: it ends when there is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl Sessions {
    /// Ends the oldest session of a key that has too many; nobody is sent out by another's.
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
    /// Reads the sessions beside the token.
    pub fn open(home: &Path, token: &Secret, port: u16) -> io::Result<Self> {
        let sessions_file = home.join(SESSIONS_FILE);
        let sessions = match std::fs::read(&sessions_file) {
            // A file that cannot be read ends the sessions; it must not keep the server from starting.
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Sessions::default(),
            Err(error) => return Err(error),
        };
        let cookie = format!("manent-{port}");
        Ok(Self { token: token.digest(), sessions_file, sessions: Mutex::new(sessions), cookie })
    }

    /// Finds out who sent a request. This is the only place that looks at what they show.
    pub fn admit(&self, tenants: &Tenants, headers: &HeaderMap) -> Result<Who, Refused> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let shown = value.to_str().ok().and_then(|text| text.split_once(' '));
            return match shown {
                Some((scheme, shown)) if scheme.eq_ignore_ascii_case("bearer") => self.know(tenants, shown.trim()),
                _ => Err(Refused::Unknown),
            };
        }
        let session = self.session_of(headers).ok_or(Refused::Nothing)?;
        let session = self.lock().0.get(&session.digest().to_string()).cloned();
        match session.filter(|session| session.end > seconds()) {
            Some(Session { key: Some(key), .. }) => {
                tenants.admit_again(key).map(Who::Key).map_err(|why| Refused::Key(why, Some(key)))
            }
            Some(Session { token: Some(token), .. }) if token == self.mark() => Ok(Who::Token),
            Some(_) | None => Err(Refused::Nothing),
        }
    }

    /// Finds out whose token or key this is.
    pub fn know(&self, tenants: &Tenants, shown: &str) -> Result<Who, Refused> {
        if Secret::given(shown).digest() == self.token {
            return Ok(Who::Token);
        }
        match tenants.admit(shown) {
            Ok(pass) => Ok(Who::Key(pass)),
            Err(Refusal::Unknown) => Err(Refused::Unknown),
            Err(why) => Err(Refused::Key(why, KeyWord::read(shown).map(|word| word.id))),
        }
    }

    /// Begins a session and returns the cookie that carries it.
    pub fn begin(&self, who: &Who) -> io::Result<String> {
        let session = Secret::random("");
        let now = seconds();
        let mut sessions = self.lock();
        sessions.0.retain(|_, session| session.end > now);
        let key = match who {
            Who::Token => None,
            Who::Key(pass) => Some(pass.key.id),
        };
        sessions.make_room(key);
        let token = key.is_none().then(|| self.mark());
        sessions.0.insert(session.digest().to_string(), Session { end: now + SESSION.as_secs(), key, token });
        self.save(&sessions)?;
        let (name, age) = (&self.cookie, SESSION.as_secs());
        Ok(format!("{name}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}", session.reveal()))
    }

    /// Ends the session of a request and returns the cookie that forgets it.
    pub fn end(&self, headers: &HeaderMap) -> io::Result<String> {
        if let Some(session) = self.session_of(headers) {
            let mut sessions = self.lock();
            sessions.0.remove(&session.digest().to_string());
            self.save(&sessions)?;
        }
        Ok(format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", self.cookie))
    }

    /// Tells this token from another in the file of the sessions, and says nothing else of it.
    fn mark(&self) -> String {
        manent::model::hex::encode(&blake3::derive_key("manent 2026 session of a token", self.token.as_bytes()))
    }

    fn session_of(&self, headers: &HeaderMap) -> Option<Secret> {
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

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        // A panic between two lines leaves at most one session more or less.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the token that was made at the first start; makes it if there is none.
pub fn token(home: &Path) -> io::Result<Secret> {
    let path = home.join(TOKEN_FILE);
    if let Some(token) = kept_token(&path)? {
        return Ok(token);
    }
    let token = Secret::random("mnt_");
    let own = home.join(format!("{TOKEN_FILE}.{}", std::process::id()));
    write_private(&own, token.reveal())?;
    // Two programs may start for the first time at once. A link is made once, and both then use the same token.
    let made = std::fs::hard_link(&own, &path);
    std::fs::remove_file(&own)?;
    match made {
        Ok(()) => Ok(token),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match kept_token(&path)? {
            Some(token) => Ok(token),
            // An empty file holds nobody's token.
            None => write_private(&path, token.reveal()).map(|()| token),
        },
        Err(error) => Err(error),
    }
}

fn kept_token(path: &Path) -> io::Result<Option<Secret>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(Secret::given)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why somebody was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// They showed nothing, or a session that is over.
    Nothing,
    /// They showed something that is not known here.
    Unknown,
    /// They showed a key that lets nobody in any more.
    Key(Refusal, Option<KeyId>),
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let (code, why) = match refused {
            Refused::Nothing => ("unauthorized", "a token, a key or a session is needed".to_owned()),
            Refused::Unknown => ("unauthorized", "neither the token nor a key of this server".to_owned()),
            Refused::Key(why, _) => (why.code(), why.to_string()),
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
    use manent::Place;

    #[tokio::test]
    async fn a_session_ends_with_the_token_that_began_it() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let tenants = Tenants::open(&Place::File(home.path().join("manent.db")), None).expect("an empty folder");
        let open = |token: &str| Auth::open(home.path(), &Secret::given(token), 80).expect("readable");
        let cookie = open("one").begin(&Who::Token).expect("kept");
        let cookie = cookie.split(';').next().expect("a cookie").parse().expect("a header");
        let headers = HeaderMap::from_iter([(header::COOKIE, cookie)]);
        assert!(open("one").admit(&tenants, &headers).is_ok());
        assert!(open("two").admit(&tenants, &headers).is_err(), "the token that began it is no longer one");
        let kept = std::fs::read_to_string(home.path().join(SESSIONS_FILE)).expect("there");
        let digest = Secret::given("one").digest().to_string();
        assert!(!kept.contains(&digest), "the file tells the digest of the token");
        tenants.close().await.expect("closed");
    }
}
