//! One flipped byte: found or harmless, never another text.

use super::{fast_folder, number, runtime, seed};
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[test]
fn a_flipped_byte_never_shows_as_another_text() {
    let flips = number("MANENT_FLIPS", 200);
    let mut rng = fastrand::Rng::with_seed(seed());
    let folder = fast_folder();
    let path = folder.path().join("store.db");
    let store = open(&path).expect("opens");
    let runtime = runtime();
    let known = runtime.block_on(populate(&store));
    let original = runtime.block_on(read(&store, &known));
    assert!(original.values().all(std::result::Result::is_ok), "{original:?}");
    drop(store);
    let bytes = std::fs::read(&path).expect("a file");
    let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
    let mut places: Vec<(usize, u8)> = Vec::new();
    for _ in 0..flips {
        // Most of a young file is empty pages, where nothing can be harmed; those are tried less often.
        let (mut at, bit) = (rng.usize(..bytes.len()), rng.u8(..8));
        while bytes[at] == 0 && rng.u8(..20) > 0 {
            at = rng.usize(..bytes.len());
        }
        places.push((at, bit));
    }
    // In an index, an id is followed by the number of its row.
    for talk in &known.talks {
        let id = talk.as_bytes();
        let ends = bytes.windows(id.len()).enumerate().filter(|(_, window)| window == id);
        places.extend(ends.flat_map(|(at, _)| (0..8).map(move |bit| (at + id.len(), bit))));
    }
    for (at, bit) in places {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << bit;
        let copy = fast_folder();
        let path = copy.path().join("store.db");
        std::fs::write(&path, &flipped).expect("a copy");
        let outcome = match open(&path) {
            Err(_) => "refused",
            Ok(store) => runtime.block_on(judge(&store, &known, &original, &format!("bit {bit} of byte {at}"))),
        };
        *tally.entry(outcome).or_default() += 1;
    }
    println!("flips in {} bytes: {tally:?}", bytes.len());
}

fn open(path: &Path) -> Result<SqliteStore> {
    SqliteStore::open(SqliteOptions { readers: 1, ..SqliteOptions::new(path) })
}

/// Compares what is read with what was written, and says how it ended.
async fn judge(store: &SqliteStore, known: &Known, original: &Shown, place: &str) -> &'static str {
    let shown = read(store, known).await;
    let mut harmed = Vec::new();
    for (what, then) in original {
        let missing = Ok(Vec::new());
        let now = shown.get(what).unwrap_or(&missing);
        if now == then {
            continue;
        }
        if let (Ok(now), Ok(then)) = (now, then) {
            let other = now.iter().find(|text| !then.contains(text));
            let strange = other.filter(|text| match what.0 {
                Shows::Text => true,
                Shows::Listed => !original.values().flatten().flatten().any(|known| known == *text),
                Shows::Fact => false,
            });
            assert_eq!(strange, None, "{place}: {} shows another text", what.1);
            if what.0 == Shows::Listed && other.is_none() {
                continue;
            }
        }
        harmed.push(format!("{} is {now:?}, was {then:?}", what.1));
    }
    match store.verify().await {
        Err(_) => "verify fails",
        Ok(report) if !report.is_sound() => "verify complains",
        Ok(_) => {
            assert!(harmed.is_empty(), "{place}: verify is content with {harmed:?}");
            "harmless"
        }
    }
}

/// What was written, and so can be asked for.
struct Known {
    talks: Vec<ConversationId>,
    messages: Vec<MessageId>,
    values: BTreeSet<String>,
}

/// How much what is read must resemble what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shows {
    /// Texts of messages: some may be missing, none may differ.
    Text,
    /// Texts of many rows: one may show in the wrong place, but then verify must say so. It cannot yet say that one is
    /// missing, since the bit that withdraws such a row is under no seal.
    Listed,
    /// What follows from many rows: it may be wrong, but then verify must say so.
    Fact,
}

/// What a reader sees, by what it is; or the error.
type Shown = BTreeMap<(Shows, String), std::result::Result<Vec<String>, String>>;

async fn populate(store: &SqliteStore) -> Known {
    let (mut talks, mut messages, mut values) = (Vec::new(), Vec::new(), BTreeSet::new());
    for count in 0..3 {
        let talk = conversation(store, &format!("the title of talk {count}")).await;
        for turn in 0..12 {
            let text = format!("talk {count}, turn {turn}: {}", "words and words ".repeat(turn));
            let ids = say(store, talk, &[&text]).await;
            let (name, after) = ("plot".to_owned(), Some(ids[0]));
            let value = format!(r#"{{"scene": "{count} of {turn}"}}"#);
            values.insert(value.clone());
            let value = Some(json(&value));
            commit(store, Change::SetState { conversation: talk, name, after, value }).await;
            let (kind, value) = ("remark".to_owned(), json(&format!(r#""a remark on {turn}""#)));
            commit(store, Change::AddNote { id: id(NoteId::new), message: ids[0], kind, value }).await;
            messages.extend(ids);
        }
        let (kind, name) = ("character".to_owned(), format!("character {count}"));
        let body = Some(json(&format!(r#"{{"name": "the {count}th of them"}}"#)));
        commit(store, Change::PutDocument { kind, id: name, project: None, body }).await;
        talks.push(talk);
    }
    Known { talks, messages, values }
}

/// Reads everything, each thing by itself, so that what is broken does not hide the rest.
async fn read(store: &SqliteStore, known: &Known) -> Shown {
    let mut shown = Shown::new();
    let mut put = |shows, what: String, texts: Result<Vec<String>>| {
        shown.insert((shows, what), texts.map_err(|error| format!("{error:?}")));
    };
    for message in &known.messages {
        let found = store.messages(MessagesQuery::Ids(vec![*message])).await;
        let content = |placed: &LocatedMessage| format!("{:?}", placed.message.content);
        put(Shows::Text, format!("message {message}"), found.map(|found| found.iter().map(content).collect()));
    }
    for talk in &known.talks {
        let found = store.conversation(ConversationRef::Id(*talk)).await;
        let title = |found: Option<Conversation>| found.into_iter().map(|found| found.title).collect();
        put(Shows::Text, format!("title of {talk}"), found.map(title));
        let state = store.state(*talk, "plot".to_owned(), None).await;
        // A value that is lost shows the one before it.
        let lost =
            state.as_ref().is_ok_and(|state| state.as_ref().is_some_and(|json| !known.values.contains(&text_of(json))));
        assert!(!lost, "a state shows another text: {state:?}");
        put(Shows::Fact, format!("state of {talk}"), state.map(|_| Vec::new()));
        let (branch, from, direction) = (None, None, Direction::Forward);
        let window =
            store.message_page(MessagePageQuery { conversation: *talk, branch, from, direction, limit: 100 }).await;
        let words = |message: &Message| message.content.body.words();
        put(Shows::Text, format!("path of {talk}"), window.map(|window| window.messages.iter().map(words).collect()));
        let annotations = match store.annotations((*talk).into()).await {
            Ok(annotations) => annotations,
            Err(error) => {
                put(Shows::Fact, format!("notes of {talk}"), Err(error));
                Annotations::default()
            }
        };
        let remark = |note: &Note| format!("{} {} {}", note.kind, note.at.0, note.value.text());
        put(Shows::Listed, format!("remarks in {talk}"), Ok(annotations.notes.iter().map(remark).collect()));
        let values = annotations.states.iter().flat_map(|state| &state.value).map(text_of).collect();
        put(Shows::Listed, format!("values in {talk}"), Ok(values));
    }
    let documents = store.documents(DocumentsQuery::All).await;
    let text =
        |document: &Document| format!("{} {} {:?}", document.kind, document.id, document.body.as_ref().map(text_of));
    let texts = documents.map(|documents| documents.iter().map(text).collect());
    put(Shows::Listed, "documents".to_owned(), texts);
    shown
}

fn text_of(json: &Json) -> String {
    json.text().to_owned()
}

/// A walk goes on behind the last row that it read; where rows are out of order, that may be before the first one.
#[test]
fn rows_out_of_order_are_read_in_one_pass() {
    let folder = fast_folder();
    let path = folder.path().join("store.db");
    let store = open(&path).expect("opens");
    let runtime = runtime();
    let known = runtime.block_on(populate(&store));
    drop(store);
    let mut bytes = std::fs::read(&path).expect("a file");
    const TABLE_LEAF: u8 = 0x0D;
    let size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let has_all = |page: &[u8]| known.talks.iter().all(|id| page.windows(16).any(|window| window == id.as_bytes()));
    let mut pages = bytes.chunks_exact_mut(size).skip(1);
    let page = pages.find(|page| page[0] == TABLE_LEAF && has_all(page)).expect("a page with all conversations");
    // Behind the head of a page stand the places of its rows, two bytes each, in the order of their numbers.
    let (second, third) = page[8 + 2..8 + 6].split_at_mut(2);
    second.swap_with_slice(third);
    std::fs::write(&path, &bytes).expect("written");
    let store = open(&path).expect("opens");
    let verified = runtime.block_on(async {
        tokio::time::timeout(std::time::Duration::from_secs(60), store.verify()).await.expect("it ends")
    });
    assert!(verified.is_err() || verified.is_ok_and(|report| !report.is_sound()));
}
