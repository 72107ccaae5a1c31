//! Who may do what: every operation of the description is tried by everybody, and exactly those who may succeed.
//!
//! The story of all operations is told once more. Before each call everybody who must not make it tries the very same
//! request, and nothing may come of it; then the least privileged allowed caller makes the call.

use crate::kit::{Running, good, text};
use crate::operations::{Callers, Request, Story, tell};
use manent_server::{Access, Limits, Operation, Rate};
use manent_testing::http::{Answer, Client, Events};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The kind of a caller, and why it must be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They show nothing, or nothing that counts: they are told nothing at all.
    Unauthenticated,
    /// They are in, with too little.
    Lacks(&'static [&'static str]),
    /// They may do everything in another part of the same tenant.
    Limited,
    /// They may do everything in another tenant.
    Foreign,
}

/// A caller that must be refused.
struct Other {
    name: &'static str,
    kind: Kind,
    client: Client,
}

/// Everybody who tries, and those who may.
pub struct Everybody {
    others: Vec<Other>,
    able: BTreeMap<&'static str, Client>,
    /// Ids and words of the story: refused callers must not see them.
    known: BTreeSet<String>,
    tried: usize,
}

/// Operations that take no id of anybody's, so that even a limited key may have its own.
const OWN: [&str; 14] = [
    "createConversation",
    "putBlob",
    "listConversations",
    "countConversations",
    "listOpenToolCalls",
    "listProjects",
    "listMemories",
    "readJournal",
    "search",
    "getIndex",
    "listFormats",
    "export",
    "exportFiles",
    "getStats",
];

/// What everybody may make for themselves, under the very names of the story: it would be there afterwards.
const MAKES: [&str; 6] = ["createConversation", "putBlob", "putUser", "putDocument", "putMemory", "import"];

impl Everybody {
    /// Makes keys of every kind for a tenant of their own.
    async fn of(server: &Running) -> Self {
        let (acme, umbrella) = (server.tenant("ours").await, server.tenant("theirs").await);
        let mut owner = server.client().await;
        let mut able = BTreeMap::new();
        for scope in ["read", "append", "manage", "admin"] {
            let (_, word) = server.key(&acme, json!({ "scopes": [scope] })).await;
            able.insert(scope, server.holder(&word).await);
        }
        let admin = able.get_mut("admin").expect("made above");
        let elsewhere = text(&good(admin, "POST", "/projects", json!({ "name": "Elsewhere" })).await, "/id");
        good(admin, "PUT", "/users/bob", json!({ "name": "Bob" })).await;
        able.insert("token", server.client().await);
        let mut others = Vec::new();
        let mut add = |name, kind, client| others.push(Other { name, kind, client });
        add("no key", Kind::Unauthenticated, server.stranger().await);
        let unknown = manent::model::ApiKeySecret::new(manent::model::KeyId::new(1, [1; 10]), [7; 32]).reveal();
        add("unknown key", Kind::Unauthenticated, server.holder(&unknown).await);
        let (id, word) = server.key(&acme, json!({ "scopes": ["admin"] })).await;
        let wrong = manent::model::ApiKeySecret::new(id.parse().expect("an id"), [7; 32]).reveal();
        add("wrong key", Kind::Unauthenticated, server.holder(&wrong).await);
        good(&mut owner, "POST", &format!("/tenants/{acme}/resume"), json!({})).await;
        good(able.get_mut("admin").expect("made above"), "DELETE", &format!("/keys/{id}"), Value::Null).await;
        add("revoked key", Kind::Unauthenticated, server.holder(&word).await);
        add("expired key", Kind::Unauthenticated, server.holder(&expired(server, &acme).await).await);
        for (name, scope, lacks) in LACKING {
            let (_, word) = server.key(&acme, json!({ "scopes": [scope] })).await;
            add(name, Kind::Lacks(lacks), server.holder(&word).await);
        }
        let (_, word) = server.key(&acme, json!({ "scopes": ["admin"], "user": "bob" })).await;
        add("other user", Kind::Limited, server.holder(&word).await);
        let (_, word) = server.key(&acme, json!({ "scopes": ["admin"], "projects": [elsewhere] })).await;
        add("other project", Kind::Limited, server.holder(&word).await);
        let (_, word) = server.key(&umbrella, json!({ "scopes": ["admin"] })).await;
        add("other tenant", Kind::Foreign, server.holder(&word).await);
        Self { others, able, known: BTreeSet::new(), tried: 0 }
    }

    /// Calls as every other caller first, then as the least privileged allowed one.
    pub async fn call(&mut self, operation: &Operation, request: &Request) -> Answer {
        let before = self.trace().await;
        for place in 0..self.others.len() {
            self.attempt(operation, request, place).await;
        }
        assert!(self.trace().await == before, "{}: a refused caller changed something", operation.id);
        let who = match operation.access {
            Access::Public | Access::Authenticated => "read",
            Access::Scope(scope) => scope.word(),
            Access::TenantAdmin => "admin",
            Access::ServerAdmin => "token",
        };
        let answer = request.send(self.able.get_mut(who).expect("one of each")).await;
        self.learn(&answer.text());
        answer
    }

    /// One of the others sends the very same request.
    async fn attempt(&mut self, operation: &Operation, request: &Request, place: usize) {
        let Other { name, kind, .. } = self.others[place];
        let (id, need) = (operation.id, operation.access);
        // Every holder of a secret may start a session with it.
        let is_able = matches!(kind, Kind::Lacks(lacks) if !lacks.contains(&need.name()));
        let has_own = matches!(kind, Kind::Limited | Kind::Foreign) && MAKES.contains(&id);
        if need == Access::Public || is_able || has_own {
            return;
        }
        let answer = request.send(&mut self.others[place].client).await;
        self.tried += 1;
        let (status, said) = (answer.status.as_u16(), answer.text());
        let told = format!("{id} by {name}: {status} {said}");
        match kind {
            Kind::Unauthenticated => assert_eq!(status, 401, "{told}"),
            Kind::Lacks(_) => assert_eq!(status, 403, "{told}"),
            Kind::Limited | Kind::Foreign => {
                let forbidden = need == Access::ServerAdmin || (kind == Kind::Limited && need == Access::TenantAdmin);
                if forbidden {
                    assert_eq!(status, 403, "{told}");
                } else if names_something(request) {
                    // Forbidden operations are refused before any id is looked up.
                    assert!(matches!(status, 403 | 404) || (status == 200 && is_empty(&said)), "{told}");
                    self.looks_like_nothing(request, place, &answer).await;
                } else if kind == Kind::Limited && !OWN.contains(&id) && need != Access::Authenticated {
                    assert!(matches!(status, 403 | 404) || is_empty(&said), "{told}");
                }
            }
        }
        if id == "readJournal" {
            self.listen(request, place).await;
        }
        // A refusal repeats what was asked for, and nothing else.
        let leaked = self.known.iter().find(|known| said.contains(*known) && !sent(request).contains(*known));
        assert_eq!(leaked, None, "{told}");
        assert!((200..300).contains(&status) || matches!(status, 400..=499), "{told}");
    }

    /// One of the others asks for what happens, from the beginning and live.
    async fn listen(&mut self, request: &Request, place: usize) {
        let Other { name, kind, ref mut client } = self.others[place];
        let headers = [("accept", "text/event-stream"), ("last-event-id", "0")];
        let answer = client.begin("GET", &request.target, &headers, "").await.expect("an answer");
        match kind {
            Kind::Unauthenticated => assert_eq!(answer.status().as_u16(), 401, "{name} listens"),
            Kind::Lacks(_) => assert_eq!(answer.status().as_u16(), 403, "{name} listens"),
            Kind::Limited | Kind::Foreign => {
                assert_eq!(answer.status().as_u16(), 200, "{name} listens");
                let mut events = Events::of(answer);
                // Whatever there is comes at once; after it nothing does.
                while let Ok(heard) = tokio::time::timeout(Duration::from_millis(500), events.next()).await {
                    let Some(event) = heard.expect("readable") else { break };
                    let leaked = self.known.iter().find(|known| event.data.contains(*known));
                    assert_eq!(leaked, None, "{name} hears {}", event.data);
                }
            }
        }
        let Other { ref mut client, .. } = self.others[place];
        client.again().await.expect("a server that listens");
    }

    /// Objects of others look like objects that do not exist: the same request about unknown ids gets the same response.
    async fn looks_like_nothing(&mut self, request: &Request, place: usize, refused: &Answer) {
        let mut made_up = request.clone();
        let mut back = refused.text();
        for (id, other) in ids_in(&sent(request)) {
            made_up.target = made_up.target.replace(&id, &other);
            made_up.body = made_up.body.replace(&id, &other);
            back = back.replace(&id, &other);
        }
        let answer = made_up.send(&mut self.others[place].client).await;
        assert_eq!((answer.status, answer.text()), (refused.status, back), "{request:?} tells of what is another's");
    }

    /// Everything that the tenant holds, as its admin sees it; what limited keys may make for themselves left out.
    async fn trace(&mut self) -> String {
        let admin = self.able.get_mut("admin").expect("one of each");
        let mut trace = String::new();
        for path in
            ["/conversations?status=active,archived,trashed&limit=1000", "/projects", "/memories", "/keys", "/users"]
        {
            let listed = good(admin, "GET", path, Value::Null).await;
            let mut listed =
                listed.as_object().cloned().unwrap_or_else(|| [("all".to_owned(), listed)].into_iter().collect());
            for value in listed.values_mut() {
                if let Some(values) = value.as_array_mut() {
                    values.retain(|one| one["creator"]["id"] != "bob" && one["title"] != "天气");
                    values.iter_mut().for_each(|one| one["used_at"] = Value::Null);
                }
            }
            trace.push_str(&json!(listed).to_string());
        }
        let ids: Vec<String> = self.known.iter().filter(|known| known.starts_with("conv_")).cloned().collect();
        for id in ids {
            let admin = self.able.get_mut("admin").expect("one of each");
            let lines =
                admin.send("GET", &format!("/api/v1/export?conversation={id}"), &[], "").await.expect("an answer");
            trace.push_str(&lines.text());
        }
        trace
    }

    /// Remembers the ids of an answer.
    fn learn(&mut self, answer: &str) {
        let ids = ids_in(answer).into_iter().map(|(id, _)| id).filter(|id| !id.starts_with("ten_0000"));
        self.known.extend(ids);
    }
}

/// Keys that lack something, and what.
const LACKING: [(&str, &str, &[&str]); 4] = [
    ("read key", "read", &["append", "manage", "admin", "tenant_admin", "server_admin"]),
    ("append key", "append", &["read", "manage", "admin", "tenant_admin", "server_admin"]),
    ("manage key", "manage", &["admin", "tenant_admin", "server_admin"]),
    ("admin key", "admin", &["server_admin"]),
];

async fn expired(server: &Running, tenant: &str) -> String {
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now").as_micros() as i64;
    let soon = manent::Timestamp(soon + 500_000).to_string();
    let (_, word) = server.key(tenant, json!({ "scopes": ["admin"], "expires_at": soon })).await;
    let mut holder = server.holder(&word).await;
    let over = async {
        while holder.send("GET", "/api/v1/session", &[], "").await.expect("an answer").status.as_u16() != 401 {}
    };
    tokio::time::timeout(Duration::from_secs(20), over).await.expect("it expires");
    word
}

fn sent(request: &Request) -> String {
    format!("{} {}", request.target, request.body)
}

/// Says whether a request names something of the story: an id, or something by its name.
fn names_something(request: &Request) -> bool {
    let named = ["/users/ada", "/documents/character/ann", "text=ext-1"];
    !ids_in(&sent(request)).is_empty() || named.iter().any(|name| request.target.contains(name))
}

/// Says whether a list is empty.
fn is_empty(said: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(said) else { return said.is_empty() };
    let lists: Vec<&Value> = value.as_object().map_or_else(|| vec![&value], |members| members.values().collect());
    lists.iter().all(|list| list.as_array().is_none_or(Vec::is_empty))
}

/// Returns the ids in a text, each with an unknown id of the same kind.
fn ids_in(text: &str) -> Vec<(String, String)> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut found = Vec::new();
    for word in text.split(|character| !is_part(character)) {
        let Some((prefix, tail)) = word.rsplit_once('_') else { continue };
        let is_blob = word.len() == 64;
        if tail.len() == 26 && !prefix.is_empty() && !is_blob {
            found.push((word.to_owned(), format!("{prefix}_7{}", &tail[1..].chars().rev().collect::<String>())));
        }
    }
    let blobs = text.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| word.len() == 64);
    found.extend(blobs.map(|word| (word.to_owned(), word.chars().rev().collect())));
    found
}

#[tokio::test]
async fn exactly_those_who_may_succeed() {
    // Who may is asked here, not how often.
    let any = Rate { per_second: 1_000_000, burst: 1_000_000 };
    let server = Running::with(Limits { key: any, address: any, refusals: any, ..Limits::default() }).await;
    let mut story = Story::of(Callers::Everybody(Box::new(Everybody::of(&server).await)));
    tell(&mut story).await;
    assert!(story.untold().is_empty(), "untested operations: {:?}", story.untold());
    let Callers::Everybody(everybody) = story.callers() else { unreachable!("as it was begun") };
    assert!(everybody.tried > 900, "only {} tries", everybody.tried);
    server.stop().await;
}
