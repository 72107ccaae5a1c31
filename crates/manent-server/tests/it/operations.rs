//! Every operation once, in one story, with its answer on record.

use crate::access::Everybody;
use crate::kit::Running;
use expect_test::expect_file;
use manent_server::{Operation, description, operations};
use manent_testing::http::{Answer, Client};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// A request as it is sent.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub kind: &'static str,
    pub body: String,
}

impl Request {
    pub async fn send(&self, client: &mut Client) -> Answer {
        let headers = [("content-type", self.kind)];
        // Some wait for long until it is their turn.
        if client.is_closed() {
            client.again().await.expect("it listens");
        }
        client.send(&self.method, &self.target, &headers, self.body.clone()).await.expect("an answer")
    }
}

/// Who calls the operations.
pub enum Callers {
    /// The holder of the server token.
    Owner(Client),
    /// The least privileged allowed caller, after all other callers were refused.
    Everybody(Box<Everybody>),
}

/// Calls operations by their ids and writes down what they answer.
pub struct Story {
    callers: Callers,
    operations: Vec<Operation>,
    told: BTreeSet<&'static str>,
    text: String,
    names: BTreeMap<String, String>,
    /// The first call of each operation, as the description shows it.
    examples: BTreeMap<&'static str, Value>,
}

impl Story {
    pub fn of(callers: Callers) -> Self {
        let (told, text, names, examples) = (BTreeSet::new(), String::new(), BTreeMap::new(), BTreeMap::new());
        Self { callers, operations: operations(), told, text, names, examples }
    }

    pub fn callers(&self) -> &Callers {
        &self.callers
    }

    /// Lists operations that were never called.
    pub fn untold(&self) -> Vec<&'static str> {
        let all: BTreeSet<&str> = self.operations.iter().map(|operation| operation.id).collect();
        all.difference(&self.told).copied().collect()
    }

    /// Calls an operation. `path` gives the values between braces, in order, then what stands after the question mark.
    async fn call(&mut self, id: &str, path: &[&str], query: &str, body: impl Into<Value>) -> Value {
        let operation = self.operations.iter().find(|operation| operation.id == id);
        let operation = operation.unwrap_or_else(|| panic!("no operation {id}"));
        let mut values = path.iter();
        let parts: Vec<&str> = operation
            .path
            .split('/')
            .map(|part| if part.starts_with('{') { *values.next().expect("a value for each name") } else { part })
            .collect();
        let shown = format!("{}{}{query}", parts.join("/"), if query.is_empty() { "" } else { "?" });
        let (method, body) = (operation.method.as_str().to_owned(), body.into());
        self.told.insert(operation.id);
        let sent = match &body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let kind = match id {
            "putBlob" | "importFiles" => "application/octet-stream",
            "import" => "application/x-ndjson",
            _ => "application/json",
        };
        let request = Request { method: method.clone(), target: format!("/api/v1{shown}"), kind, body: sent.clone() };
        let answer = match &mut self.callers {
            Callers::Owner(client) => request.send(client).await,
            Callers::Everybody(everybody) => everybody.call(operation, &request).await,
        };
        let status = answer.status.as_u16();
        let answered = answer.text();
        let value: Value = serde_json::from_str(&answered).unwrap_or(Value::Null);
        assert!((200..300).contains(&status), "{id}: {status} {answered}");
        for line in answered.lines() {
            crate::times::check(id, &serde_json::from_str(line).unwrap_or(Value::Null));
        }
        let (known, template) = (operation.id, operation.path);
        let plain = format!("{id}: {method} {shown}\n{sent}\n{status} {answered}\n");
        let anonymous = self.anonymous(&untimed(&plain));
        let _ = writeln!(self.text, "{anonymous}");
        if !self.examples.contains_key(known) {
            let example = crate::examples::example(template, path, query, &body, &value);
            let example = crate::examples::stable(&example, |word| self.name(word));
            self.examples.insert(known, example);
        }
        value
    }

    /// Calls an operation whose answer is another on every machine.
    async fn unrecorded(&mut self, id: &str, query: &str, body: Value) {
        let (before, is_first) = (self.text.len(), !self.examples.contains_key(id));
        self.call(id, &[], query, body).await;
        self.text.truncate(before);
        if is_first {
            self.forget_answer(id);
        }
    }

    /// Leaves an answer out of the examples.
    fn forget_answer(&mut self, id: &str) {
        if let Some(example) = self.examples.get_mut(id).and_then(Value::as_object_mut) {
            example.remove("response");
        }
    }

    /// The same, of something that the path names.
    async fn unrecorded_at(&mut self, id: &str, path: &[&str], body: Value) {
        let (before, is_first) = (self.text.len(), !self.examples.contains_key(id));
        self.call(id, path, "", body).await;
        self.text.truncate(before);
        if is_first {
            self.forget_answer(id);
        }
    }

    /// Numbers ids in the order they appear, and forgets times: the next run has others.
    fn anonymous(&mut self, text: &str) -> String {
        let mut shown = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|character: char| character.is_ascii_alphanumeric()) {
            shown.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest
                .find(|character: char| !(character.is_ascii_alphanumeric() || "_-:.".contains(character)))
                .unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            shown.push_str(&self.name(word));
            rest = behind;
        }
        shown + rest
    }

    fn name(&mut self, word: &str) -> String {
        let is_time = word.len() >= 20 && word.starts_with("20") && word.contains('T') && word.ends_with('Z');
        let (prefix, tail) = word.rsplit_once('_').unwrap_or(("", word));
        let is_id = tail.len() == 26 && !prefix.is_empty();
        if manent::model::ApiKeySecret::read(word).is_some() {
            return "KEY".to_owned();
        }
        match (is_time, is_id) {
            (true, _) => "TIME".to_owned(),
            (_, true) => {
                let next = self.names.keys().filter(|known| known.starts_with(prefix)).count() + 1;
                self.names.entry(word.to_owned()).or_insert_with(|| format!("{prefix}_{next}")).clone()
            }
            _ => word.to_owned(),
        }
    }
}

/// Forgets how long a search took.
fn untimed(text: &str) -> String {
    let Some((before, behind)) = text.split_once("\"micros\":") else { return text.to_owned() };
    format!("{before}\"micros\":SOME{}", behind.trim_start_matches(|character: char| character.is_ascii_digit()))
}

fn id(answer: &Value, pointer: &str) -> String {
    crate::kit::text(answer, pointer)
}

#[tokio::test]
async fn every_operation_answers_as_it_is_on_record() {
    let server = Running::start().await;
    let mut story = Story::of(Callers::Owner(server.client().await));
    tell(&mut story).await;
    assert!(story.untold().is_empty(), "untested operations: {:?}", story.untold());
    expect_file!["answers.txt"].assert_eq(&story.text);
    let examples = serde_json::to_string_pretty(&story.examples).expect("JSON") + "\n";
    expect_file!["../../src/wire/native/examples.json"].assert_eq(&examples);
    server.stop().await;
}

pub async fn tell(story: &mut Story) {
    let none = Value::Null;
    let nothing = || json!({});
    story.call("getSession", &[], "", none.clone()).await;

    let draft = json!({ "title": "天气", "external_id": "ext-1", "tags": ["weather"], "metadata": { "k": 1.50 } });
    let made = story.call("createConversation", &[], "", draft).await;
    let chat = id(&made, "/id");
    story.call("renameConversation", &[&chat], "", json!({ "title": "Weather" })).await;
    story
        .call(
            "editConversation",
            &[&chat],
            "",
            json!({ "pinned": true, "add_tags": ["a"], "remove_tags": ["weather"] }),
        )
        .await;
    let two = json!({ "messages": [
        { "role": "user", "text": "北京今天天气怎么样？" },
        { "role": "assistant", "model": "m-1", "tokens": 7, "parts": [
            { "type": "text", "text": "晴" }, { "type": "tool_call", "id": "c1", "name": "weather", "input": { "city": "北京" } },
        ] },
    ] });
    let added = story.call("appendMessages", &[&chat], "", two).await;
    let (question, answer) = (id(&added, "/ids/0"), id(&added, "/ids/1"));
    story.call("listMessages", &[&chat], "limit=1&direction=forward", none.clone()).await;
    story.call("getMessage", &[&answer], "", none.clone()).await;
    story.call("keepFailedMessage", &[&chat], "", json!({ "role": "user", "text": "lost" })).await;

    let again = json!({ "answer": answer, "with": { "role": "assistant", "text": "多云" } });
    let other = id(&story.call("regenerate", &[&chat], "", again).await, "/ids/0");
    story.call("listSiblings", &[&answer], "", none.clone()).await;
    story.call("listBranches", &[&chat], "", none.clone()).await;
    story.call("switch", &[&chat], "", json!({ "message": answer })).await;
    let edit = json!({ "message": question, "with": { "role": "user", "text": "上海呢？" }, "tail": "keep" });
    story.call("editMessage", &[&chat], "", edit).await;
    story.call("getUndoSteps", &[&chat], "", Value::Null).await;
    story.call("undoInConversation", &[&chat], "", nothing()).await;
    story.call("redoInConversation", &[&chat], "", nothing()).await;
    story.call("undo", &[], "", nothing()).await;
    let insert = json!({ "after": question, "messages": [{ "role": "user", "text": "between" }] });
    let between = id(&story.call("insertMessages", &[&chat], "", insert).await, "/ids/0");
    story.call("removeMessages", &[&chat], "", json!({ "first": between, "last": between })).await;
    let fold = story.call("hideMessages", &[&chat], "", json!({ "first": question, "last": question })).await;
    let fold = id(&fold, "/fold");
    story.call("unfold", &[&fold], "", nothing()).await;
    story.call("refold", &[&fold], "", nothing()).await;
    let summary = json!({ "kind": "summary", "summary": "weather", "covers": [{ "first": question, "last": answer }] });
    story.call("addFold", &[&chat], "", summary).await;
    story.call("rewind", &[&chat], "", json!({ "message": question })).await;
    let branch = json!({ "after": question, "message": { "role": "user", "text": "and then?", "reply_to": question } });
    let reply = id(&story.call("fork", &[&chat], "", branch).await, "/ids/0");
    story.call("getThread", &[&reply], "", none.clone()).await;
    let fork = json!({ "after": question, "conversation": { "title": "Fork" } });
    let forked = id(&story.call("forkToNew", &[&chat], "", fork).await, "/id");
    story.call("switch", &[&chat], "", json!({ "message": other })).await;

    let stream = story.call("beginStream", &[&chat], "", json!({ "role": "assistant" })).await;
    let stream = id(&stream, "/ids/0");
    story.call("appendChunk", &[&stream], "", json!({ "delta": "Once" })).await;
    story.call("finishStream", &[&stream], "", json!({ "status": "complete", "text": "Once upon", "tokens": 2 })).await;
    story.call("saveDraft", &[&chat], "actor=ann", json!({ "text": "half a" })).await;
    story.call("getDraft", &[&chat], "actor=ann", none.clone()).await;
    story.call("clearDraft", &[&chat], "actor=ann", none.clone()).await;

    let note = story.call("addNote", &[&answer], "", json!({ "kind": "rating", "value": 5 })).await;
    story.call("setBookmark", &[&chat, "here"], "", json!({ "head": question })).await;
    story.call("setState", &[&chat, "mood"], "", json!({ "after": question, "value": { "n": 1e2 } })).await;
    story.call("getState", &[&chat, "mood"], "", none.clone()).await;
    story.call("removeNote", &[&id(&note, "/id")], "", none.clone()).await;
    story.call("removeBookmark", &[&chat, "here"], "", none.clone()).await;

    let call =
        json!({ "message": answer, "part": 1, "call_id": "c1", "name": "weather", "state": "PENDING", "record": {} });
    story.call("putToolCall", &[], "", json!({ "call": call, "note": "asked" })).await;
    story.call("moveToolCall", &[], "", json!({ "message": answer, "part": 1, "to": "APPROVED" })).await;
    story.call("listOpenToolCalls", &[], "", none.clone()).await;
    story.call("logEvents", &[&chat], "", json!({ "channel": "progress", "events": [{ "step": 1 }] })).await;
    story.call("listEvents", &[&chat], "after=0", none.clone()).await;
    let input = id(&story.call("putInput", &[&chat], "", json!({ "body": "go on" })).await, "/id");
    story.call("takeInputs", &[&chat], "", json!({ "ids": [input] })).await;
    let until = "2999-01-01T00:00:00Z";
    story.call("takeLease", &[&chat], "", json!({ "owner": "me", "until": until })).await;
    story.call("renewLease", &[&chat], "", json!({ "token": 1, "until": until })).await;
    story.call("releaseLease", &[&chat], "token=1", none.clone()).await;
    story.call("recordCall", &[&chat], "", json!({ "after": answer, "outcome": "answered", "tokens_in": 3 })).await;
    story.call("getAnnotations", &[&chat], "", none.clone()).await;

    let project = story.call("createProject", &[], "", json!({ "name": "Home", "instructions": "Be kind." })).await;
    let project = id(&project, "/id");
    story.call("editProject", &[&project], "", json!({ "facts": { "city": "北京" } })).await;
    story.call("getProject", &[&project], "", none.clone()).await;
    story.call("listProjects", &[], "", none.clone()).await;
    story.call("editConversation", &[&chat], "", json!({ "project": project })).await;
    story.call("resolve", &[], "text=ext-1", none.clone()).await;
    story.call("putDocument", &["character", "ann"], "", json!({ "body": { "name": "Ann" } })).await;
    story.call("getDocument", &["character", "ann"], "", none.clone()).await;
    story.call("listDocuments", &["character"], "", none.clone()).await;
    story.call("removeDocument", &["character", "ann"], "", none.clone()).await;
    story.call("listDocumentVersions", &["character", "ann"], "", none.clone()).await;
    let memory = story.call("putMemory", &[], "", json!({ "collection": "facts", "text": "She likes tea." })).await;
    story.call("listMemories", &[], "collection=facts", none.clone()).await;
    story.call("removeMemory", &[&id(&memory, "/id")], "", none.clone()).await;
    story.call("removeProject", &[&project], "", none.clone()).await;
    story.call("undo", &[], "", json!({ "workspace": true })).await;
    story.call("redo", &[], "", json!({ "workspace": true })).await;

    let blob = id(&story.call("putBlob", &[], "", "some bytes").await, "/sha256");
    story.call("getBlob", &[&blob], "", none.clone()).await;
    let bookmark = json!({ "set_bookmark": { "conversation": chat, "name": "raw", "head": null, "metadata": null } });
    story.call("commit", &[], "", json!({ "changes": [bookmark] })).await;

    let lines = concat!(
        r#"{"type":"manent","value":{"format":1}}"#,
        "\n",
        r#"{"type":"source","value":{"id":"src_01K7H1RY3BNE1D3YX3C01SM0R1","format":"x","generation":"1","path":"a.json","sha256":"00","style":{},"at":1}}"#,
        "\n",
        r#"{"type":"end","value":{"lines":3}}"#,
        "\n",
    );
    story.call("import", &[], "", lines).await;
    let source = "src_01K7H1RY3BNE1D3YX3C01SM0R1";
    story.call("listSources", &[], "", none.clone()).await;
    story.call("listOrigins", &[source], "", none.clone()).await;
    story.call("listQuarantined", &[source], "", none.clone()).await;

    story.call("listConversations", &[], "tag=a&limit=1", none.clone()).await;
    story.call("countConversations", &[], "status=active,archived", none.clone()).await;
    story.call("clearConversation", &[&forked], "", nothing()).await;
    story.call("trashConversation", &[&forked], "", none.clone()).await;
    story.call("restoreConversation", &[&forked], "", nothing()).await;
    story.call("trashConversation", &[&forked], "", none.clone()).await;
    story.call("purgeConversation", &[&forked], "", nothing()).await;
    story.call("getConversation", &[&chat], "", none.clone()).await;
    let timed = id(&story.call("createConversation", &[], "", json!({ "title": "Timed" })).await, "/id");
    let said = json!({ "messages": [
        { "role": "user", "text": "How long?", "time": "2026-01-01T08:00:00Z" },
        { "role": "assistant", "model": "m-1", "text": "五秒", "time": "2026-01-01T08:00:05Z" },
    ] });
    story.call("appendMessages", &[&timed], "", said).await;
    story.call("getStats", &[], &format!("conversation={timed}"), none.clone()).await;
    story.call("getStats", &[], "tag=unused&since=2026-11-01&until=2026-11-02", none.clone()).await;
    story.call("readJournal", &[], "limit=4", none.clone()).await;
    story.call("getIndex", &[], "wait=true", none.clone()).await;
    story.call("search", &[], "q=once%20-role:user&neighbours=2", none.clone()).await;
    story.call("search", &[], "q=%E4%B8%8A%E6%B5%B7&include=branches&order=relevance&count=exact", none.clone()).await;
    story.unrecorded("reindex", "", nothing()).await;
    story.call("export", &[], &format!("conversation={chat}"), none.clone()).await;
    story.call("listFormats", &[], "", none.clone()).await;
    let session = r#"{"session_id":"s1","name":"第一","status":0,"create_at":"2024-01-01T00:00:00.000Z"}"#;
    let theirs = format!(r#"{{"sessions":[{session}],"entries":[],"compacted_dialogues":[]}}"#);
    let report = story.call("importFiles", &[], "name=veloca-storage.json", theirs).await;
    let imported = id(&report, "/conversations/0/id");
    story.call("exportFiles", &[], &format!("format=veloca&conversation={imported}"), none.clone()).await;
    story.call("erase", &[], "", json!({ "message": answer })).await;
    story.unrecorded("getIndex", "wait=true", Value::Null).await;
    story.call("verify", &[], "", nothing()).await;
    story.unrecorded("doctor", "", Value::Null).await;
    story.unrecorded("backup", "", nothing()).await;
    tell_of_people(story).await;
    // Its secret is another every time.
    story.unrecorded("beginSession", "", json!({ "token": crate::kit::TOKEN })).await;
    story.call("endSession", &[], "", none).await;
}

/// Tenants, users and keys.
async fn tell_of_people(story: &mut Story) {
    let none = Value::Null;
    let nothing = || json!({});
    story.call("putUser", &["ada"], "", json!({ "name": "Ada" })).await;
    story.call("getUser", &["ada"], "", none.clone()).await;
    story.call("listUsers", &[], "limit=1", none.clone()).await;
    let draft = json!({ "name": "laptop", "scopes": ["append", "read"], "user": "ada", "rate": 5 });
    let key = id(&story.call("createKey", &[], "", draft).await, "/id");
    story.call("revokeKey", &[&key], "", none.clone()).await;
    story.call("listKeys", &[], "", none.clone()).await;
    let tenant = id(&story.call("createTenant", &[], "", json!({ "name": "acme" })).await, "/id");
    story.call("listTenants", &[], &format!("after={tenant}"), none.clone()).await;
    story.call("createTenantKey", &[&tenant], "", json!({ "name": "first", "scopes": ["admin"] })).await;
    story.call("suspendTenant", &[&tenant], "", nothing()).await;
    story.call("resumeTenant", &[&tenant], "", nothing()).await;
    story.unrecorded_at("exportTenant", &[&tenant], none.clone()).await;
    story.unrecorded_at("eraseTenant", &[&tenant], json!({ "name": "acme" })).await;
    story.unrecorded_at("getTenant", &[&tenant], none.clone()).await;
    story.unrecorded_at("eraseUser", &["ada"], nothing()).await;
    story.unrecorded("readAudit", "limit=3", none).await;
    story.unrecorded("verifyAudit", "", nothing()).await;
}

#[test]
fn openapi_times_have_one_shape() {
    crate::times::check_description(&description(&operations()));
}

#[test]
fn openapi_has_an_example_of_every_json_body() {
    let description = description(&operations());
    let (mut examples, mut missing) = (0, Vec::new());
    for (_, operation) in description["paths"]
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(|(_, methods)| methods.as_object().into_iter().flatten())
    {
        let bodies = operation["responses"].as_object().into_iter().flatten().map(|(_, answer)| answer);
        for body in bodies.chain([&operation["requestBody"]]) {
            match &body["content"]["application/json"] {
                Value::Null => {}
                body if body["example"].is_null() => {
                    missing.push(operation["operationId"].as_str().unwrap_or_default())
                }
                _ => examples += 1,
            }
        }
    }
    // What these answer is another on every machine.
    let varying = [
        "beginSession",
        "backup",
        "doctor",
        "reindex",
        "getTenant",
        "eraseTenant",
        "eraseUser",
        "readAudit",
        "verifyAudit",
    ];
    missing.retain(|id| !varying.contains(id));
    assert_eq!(missing, [""; 0]);
    assert!(examples > 80, "{examples} examples");
}

#[test]
fn the_description_is_on_record() {
    let shown = serde_json::to_string_pretty(&description(&operations())).expect("JSON") + "\n";
    expect_file!["../../../../docs/openapi.json"].assert_eq(&shown);
}

/// What cannot be asked of a server that runs on the very store: see the reasons.
const NOT_BY_HTTP: [(&str, &str); 17] = [
    ("import_tree", "importFiles reads every store of what is sent"),
    ("begin", "the server does so when it starts"),
    ("refresh", "the server does so when something changes"),
    ("follow", "the server does so while it runs"),
    ("end_idle_streams", "the server does so while it runs"),
    ("granted", "every request has the database of its caller"),
    ("ended", "the server ends responses of callers that lost their access"),
    ("audit", "lines are written by what is done"),
    ("tenants_in_use", "the server asks it to back them up"),
    ("close", "the server closes when it ends"),
    ("send", "commits are sent by `commit`"),
    ("backup_system", "`manent backup --system` writes to a path of the operator"),
    ("backup_if_due", "the server does so while it runs"),
    ("backup_system_if_due", "the server does so while it runs"),
    ("restore_system", "it makes tenants and keys where there are none; `manent restore-backup` does"),
    ("restore_tenant", "it makes a store that is not there; `manent restore-backup --tenant` does"),
    ("restore_backup", "it makes a store that is not there yet, so no server runs on it; `manent restore-backup` does"),
];

/// Returns the names of everything the library can do, as its source says.
fn library() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manent/src");
    let mut names = BTreeSet::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the library").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).expect("text");
            for line in text.lines().filter_map(|line| line.strip_prefix("    pub async fn ")) {
                names.insert(line.split(['(', '<']).next().unwrap_or_default().to_owned());
            }
        }
    }
    names
}

#[test]
fn every_operation_of_the_library_can_be_reached() {
    let reachable: BTreeSet<String> =
        operations().iter().flat_map(|operation| operation.library.clone()).map(str::to_owned).collect();
    let known = library();
    assert!(known.len() > 60, "found only {known:?}");
    let excepted = |name: &&String| NOT_BY_HTTP.iter().any(|(other, _)| other == name) || *name == "once";
    let missing: Vec<&String> = known.difference(&reachable).filter(|name| !excepted(name)).collect();
    assert!(missing.is_empty(), "no operation of the API makes these reachable: {missing:?}");
    let invented: Vec<&String> = reachable.difference(&known).collect();
    assert!(invented.is_empty(), "the library has none of these: {invented:?}");
}
