//! Search: what was said is found at its place, at once, in any script, and by the same rules on every engine.

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use manent_text::{Clock, Field, Query};

/// The moment at which tests look back.
pub(super) fn clock() -> Clock {
    Clock { now: at(1_000_000), offset_seconds: 0 }
}

pub(super) fn search(text: &str) -> Search {
    Search::new(Query::parse(text, clock()).expect("a test asks what can be read"), clock().now)
}

/// Looks in what is not indexed yet and again in the index; both must answer the same.
pub(super) async fn found(store: &dyn Store, search: Search) -> SearchPage {
    let at_once = store.search(search.clone()).await.expect("readable");
    indexed(store).await;
    let later = store.search(search).await.expect("readable");
    assert_eq!(later.hits, at_once.hits);
    assert!(later.coverage.complete && later.coverage.waiting == 0, "{:?}", later.coverage);
    later
}

/// The words of the hits, in order; hits outside messages are in brackets.
async fn words(store: &dyn Store, text: &str) -> Vec<String> {
    shown(&found(store, search(text)).await)
}

pub(super) fn shown(found: &SearchPage) -> Vec<String> {
    let show = |hit: &Hit| match hit.field {
        Field::Text => hit.snippet.text.clone(),
        field => format!("[{field:?}] {}", hit.snippet.text),
    };
    found.hits.iter().map(show).collect()
}

/// Appends messages a second apart, in their order.
pub(super) async fn tell(store: &dyn Store, conversation: ConversationId, from: i64, texts: &[&str]) -> Vec<MessageId> {
    let mut messages: Vec<NewMessage> = texts.iter().map(|text| message("user", text)).collect();
    for (place, message) in messages.iter_mut().enumerate() {
        message.content.time = Time { at: at(from + place as i64), source: TimeSource::Exact };
    }
    let ids = messages.iter().map(|message| message.id).collect();
    commit(store, append(conversation, messages)).await;
    ids
}

pub async fn words_of_any_script_are_found(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let texts = [
        "修复悬空引用的问题",
        "把服务部署到生产环境",
        "全文检索要支持中文",
        "日本語の検索は難しい",
        "重跑gen-itgc后再看",
        "a quick check, ok then",
        "quickly take the token",
        "한국어 검색 테스트",
        "ภาษาไทยไม่มีช่องว่าง",
        "well done 👍🏽 🎉",
        "שלום עולם",
        "مرحبا بالعالم",
        "ＦＵＬＬ ｗｉｄｔｈ ｶﾀｶﾅ",
        "Café Zürich naïve",
        "call parseHttpRequest in src/net_utils/main.rs",
    ];
    tell(store, conversation, 0, &texts).await;
    for (query, expected) in [
        ("悬空", 0),
        ("悬空引用", 0),
        ("部署", 1),
        ("检索", 2),
        ("検索", 3),
        ("itgc", 4),
        ("重跑", 4),
        ("后", 4),
        ("quick ok", 5),
        ("검색", 7),
        ("ไม่มี", 8),
        ("👍", 9),
        ("🎉", 9),
        ("עולם", 10),
        ("بالعالم", 11),
        ("full width カタカナ", 12),
        ("cafe zurich", 13),
        ("parsehttprequest", 14),
        ("http net_utils", 14),
        ("net_utils/main.rs", 14),
    ] {
        assert_eq!(words(store, query).await, [texts[expected]], "{query}");
    }
    for nothing in ["空引悬", "引悬", "oken", "quick token missing", "部署检索", "검색어"] {
        assert_eq!(words(store, nothing).await, Vec::<String>::new(), "{nothing}");
    }
}

pub async fn a_phrase_is_found_wherever_it_stands(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let end = format!("{} the needle in the haystack", "hay stack ".repeat(100_000));
    let repeats = format!("{} needle thread", "needle ".repeat(1_000));
    let chinese = format!("{}最后的词组", "的词".repeat(100_000));
    tell(store, conversation, 0, &[&end, &repeats, &chinese]).await;
    for (query, count) in [
        ("\"needle in the haystack\"", 1),
        ("\"needle thread\"", 1),
        ("\"thread needle\"", 0),
        ("最后的词组", 1),
        ("组最后", 0),
    ] {
        assert_eq!(found(store, search(query)).await.hits.len(), count, "{query}");
    }
    let hit = &found(store, search("\"needle in the haystack\"")).await.hits[0];
    assert!(hit.snippet.text.ends_with("needle in the haystack"), "{}", hit.snippet.text);
    let (from, to) = hit.snippet.highlights[0];
    let highlighted: String = hit.snippet.text.chars().skip(from as usize).take((to - from) as usize).collect();
    assert_eq!(highlighted, "needle in the haystack");
}

pub async fn a_query_says_what_people_mean(store: &dyn Store) {
    let (work, play) = (conversation(store, "Work plan").await, conversation(store, "Play").await);
    patch(store, work, ConversationPatch { add_tags: ["urgent".to_owned()].into(), ..Default::default() }).await;
    tell(store, work, 100, &["alpha beta", "alpha gamma", "beta gamma ```rust\nfn main() {}\n```"]).await;
    let mut answer = message("assistant", "alpha from the model");
    answer.content.model = Some("GPT-4.1 mini".to_owned());
    answer.content.time = Time { at: at(200_000), source: TimeSource::Exact };
    commit(store, append(play, vec![answer])).await;
    let check = async |query: &str, expected: &[&str]| {
        assert_eq!(words(store, query).await, expected, "{query}");
    };
    check("alpha", &["alpha from the model", "alpha gamma", "alpha beta"]).await;
    check("alpha -gamma", &["alpha from the model", "alpha beta"]).await;
    check("alpha beta OR gamma", &["alpha gamma", "alpha beta"]).await;
    check("alp*", &["alpha from the model", "alpha gamma", "alpha beta"]).await;
    check("\"beta gamma\"", &["beta gamma ```rust fn main() {} ```"]).await;
    check("has:code", &["beta gamma ```rust fn main() {} ```"]).await;
    check("alpha role:assistant", &["alpha from the model"]).await;
    check("alpha -role:assistant", &["alpha gamma", "alpha beta"]).await;
    check("model:\"gpt-4.1 mini\"", &["alpha from the model"]).await;
    check("alpha tag:urgent", &["alpha gamma", "alpha beta"]).await;
    check("tag:urgent in:title work", &["[Title] Work plan"]).await;
    check("urgent", &["[Tags] urgent"]).await;
    check("alpha after:2023-11-16", &["alpha from the model"]).await;
    check("alpha before:2023-11-16", &["alpha gamma", "alpha beta"]).await;
    check("alpha kind:agent", &[]).await;
}

pub async fn hits_say_where_they_stand(store: &dyn Store) {
    let conversation = conversation(store, "Places").await;
    let ids = tell(store, conversation, 0, &["one", "two", "three", "four"]).await;
    let hit = found(store, search("three")).await.hits.remove(0);
    assert_eq!((hit.conversation, hit.title.as_str(), hit.message), (conversation, "Places", Some(ids[2])));
    assert_eq!((hit.position, hit.on_path, hit.role.as_deref()), (Some(3), true, Some("user")));
    assert_eq!(hit.snippet.highlights, [(0, 5)]);
    let beside =
        |neighbours: &[ContextMessage]| -> Vec<String> { neighbours.iter().map(|one| one.text.clone()).collect() };
    assert_eq!((beside(&hit.before), beside(&hit.after)), (vec!["two".to_owned()], vec!["four".to_owned()]));
    let wide = found(store, Search { neighbours: 3, ..search("three") }).await.hits.remove(0);
    assert_eq!(
        (beside(&wide.before), beside(&wide.after)),
        (vec!["one".to_owned(), "two".to_owned()], vec!["four".to_owned()])
    );
}

pub async fn other_branches_and_the_trash_are_searched_when_asked(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let ids = tell(store, conversation, 0, &["shared", "old word"]).await;
    fork(store, conversation, Some(ids[0]), "new word").await;
    assert_eq!(words(store, "word").await, ["new word"]);
    let everywhere = Include { branches: true, ..Include::default() };
    let all = found(store, Search { include: everywhere, ..search("word") }).await;
    let mut places: Vec<(String, bool)> = all.hits.iter().map(|hit| (hit.snippet.text.clone(), hit.on_path)).collect();
    places.sort();
    assert_eq!(places, [("new word".to_owned(), true), ("old word".to_owned(), false)]);
    let old = all.hits.iter().find(|hit| !hit.on_path).expect("the old one");
    assert_eq!((old.message, old.position), (Some(ids[1]), Some(2)));
    let put = async |status: ConversationStatus| {
        patch(store, conversation, ConversationPatch { status: Some(status), ..Default::default() }).await;
    };
    put(ConversationStatus::Archived).await;
    assert_eq!(words(store, "word").await, ["new word"]);
    put(ConversationStatus::Trashed).await;
    assert_eq!(words(store, "word").await, Vec::<String>::new());
    let trash = Include { trashed: true, ..Include::default() };
    assert_eq!(shown(&found(store, Search { include: trash, ..search("word") }).await), ["new word"]);
}

pub async fn a_message_that_a_fork_took_is_found_there(store: &dyn Store) {
    let first = conversation(store, "first").await;
    let ids = tell(store, first, 0, &["common ground", "first path"]).await;
    let branch = store.branches(first).await.expect("readable")[0].id;
    let (second, own) = (conversation(store, "second").await, id(BranchId::new));
    let open = Change::OpenBranch {
        conversation: second,
        branch: own,
        base: Some(BranchBase { parent: branch, fork: Some(ids[0]) }),
        own: vec![message("user", "second path")],
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(store, open).await;
    commit(store, Change::MoveHead { conversation: second, to: HeadTarget::End(own) }).await;
    let owner = |found: &SearchPage| found.hits.iter().map(|hit| hit.conversation).collect::<Vec<_>>();
    assert_eq!(owner(&found(store, search("common")).await), [first]);
    assert_eq!(owner(&found(store, Search { conversations: Some(second), ..search("common") }).await), [second]);
    assert_eq!(owner(&found(store, Search { conversations: Some(second), ..search("path") }).await), [second]);
    let status = Some(ConversationStatus::Trashed);
    patch(store, first, ConversationPatch { status, ..Default::default() }).await;
    assert_eq!(owner(&found(store, search("common")).await), [second]);
}

pub async fn hits_come_in_pages_in_both_orders(store: &dyn Store) {
    let conversations = [conversation(store, "a").await, conversation(store, "b").await];
    // Times that go back and forth, and several at one moment.
    let times = [50, 10, 40, 40, 40, 20, 90, 80, 70, 5, 100, 100, 30];
    let mut expected = Vec::new();
    for (place, time) in times.iter().enumerate() {
        let text = format!("needle {place}");
        tell(store, conversations[place % 2], *time, &[&text]).await;
        expected.push((*time, place, text));
        if place % 4 == 0 {
            indexed(store).await;
        }
    }
    expected.sort_by_key(|(time, place, _)| std::cmp::Reverse((*time, *place)));
    let expected: Vec<String> = expected.into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(words(store, "needle").await, expected);
    for order in [SearchOrder::Newest, SearchOrder::Relevance] {
        let whole = found(store, Search { order, limit: 100, ..search("needle") }).await;
        assert_eq!((whole.hits.len(), whole.total, whole.next), (13, BoundedCount { n: 13, more: false }, None));
        let mut pages = Vec::new();
        let mut next = Search { order, limit: 3, ..search("needle") };
        loop {
            let page = found(store, next.clone()).await;
            assert!(page.hits.len() <= 3);
            pages.extend(shown(&page));
            match page.next {
                Some(cursor) => next.after = Some(cursor),
                None => break,
            }
        }
        assert_eq!(pages, shown(&whole), "{order:?}");
    }
    let counted = found(store, Search { limit: 2, count: CountMode::Exact, ..search("needle") }).await;
    assert_eq!(counted.total, BoundedCount { n: 13, more: false });
    let uncounted = found(store, Search { limit: 2, ..search("needle") }).await;
    assert_eq!(uncounted.total, BoundedCount { n: 2, more: true });
}

pub async fn hits_are_grouped_by_conversation(store: &dyn Store) {
    let mut conversations = Vec::new();
    for place in 0..5 {
        let conversation = conversation(store, &format!("talk {place}")).await;
        tell(store, conversation, 100 * place, &["needle one", "other", "needle two"]).await;
        conversations.push(conversation);
    }
    conversations.reverse();
    let mut next = Search { grouping: Grouping::Conversations, limit: 2, ..search("needle") };
    let mut groups = Vec::new();
    loop {
        let page = found(store, next.clone()).await;
        for hit in &page.hits {
            assert_eq!(
                (hit.snippet.text.as_str(), hit.in_conversation),
                ("needle two", Some(BoundedCount { n: 2, more: false }))
            );
            groups.push(hit.conversation);
        }
        match page.next {
            Some(cursor) => next.after = Some(cursor),
            None => break,
        }
    }
    assert_eq!(groups, conversations);
}

pub async fn relevance_puts_the_best_first(store: &dyn Store) {
    let conversation = conversation(store, "Nothing").await;
    let long = format!("{} rust {}", "the weather ".repeat(300), "and the sea ".repeat(300));
    tell(store, conversation, 0, &["rust rust rust: ownership in rust", &long, "rust"]).await;
    let best = found(store, Search { order: SearchOrder::Relevance, ..search("rust") }).await;
    assert_eq!(best.hits.len(), 3);
    let order: Vec<&str> = best.hits.iter().map(|hit| &hit.snippet.text[..4]).collect();
    assert_eq!(order[0], "rust");
    assert!(best.hits[2].snippet.text.contains("weather"), "{}", best.hits[2].snippet.text);
    assert!(best.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

pub async fn what_changes_is_found_as_it_is_now(store: &dyn Store) {
    let conversation = conversation(store, "Old name").await;
    assert_eq!(words(store, "old").await, ["[Title] Old name"]);
    let title = |title: &str| ConversationPatch { title: Some(title.to_owned()), ..Default::default() };
    patch(store, conversation, title("New name")).await;
    assert_eq!(words(store, "old").await, Vec::<String>::new());
    assert_eq!(words(store, "new").await, ["[Title] New name"]);
    let position =
        store.undo_target(UndoScope::Conversation(conversation), UndoDirection::Undo).await.expect("readable");
    let position = position.expect("a rename can be undone");
    commit(store, Change::Undo { position }).await;
    assert_eq!(words(store, "old").await, ["[Title] Old name"]);
    assert_eq!(words(store, "new").await, Vec::<String>::new());
    let ids = say(store, conversation, &["first", "second"]).await;
    commit(store, splice(conversation, instead_of(ids[0], ids[0]), &["edited"])).await;
    assert_eq!(words(store, "first").await, Vec::<String>::new());
    assert_eq!(words(store, "edited").await, ["edited"]);
}

pub async fn a_stream_is_found_while_it_runs_and_when_it_ends(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let mut streaming = message("assistant", "");
    streaming.content.status = MessageStatus::Streaming;
    let id = streaming.id;
    commit(store, append(conversation, vec![streaming])).await;
    indexed(store).await;
    commit(store, Change::AppendChunk { message: id, delta: "flowing water".to_owned() }).await;
    assert_eq!(words(store, "water").await, ["flowing water"]);
    indexed(store).await;
    commit(store, Change::AppendChunk { message: id, delta: "falls".to_owned() }).await;
    assert_eq!(words(store, "waterfalls").await, ["flowing waterfalls"]);
    assert_eq!(words(store, "water").await, Vec::<String>::new());
    let body = Body::of(&[Part::text("flowing water")]);
    let finish = Finish { status: MessageStatus::Complete, body: Some(body), tokens: None, usage: None };
    commit(store, Change::FinishMessage { message: id, finish }).await;
    assert_eq!(words(store, "water").await, ["flowing water"]);
}

pub async fn tools_thoughts_and_summaries_are_found_as_such(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let parts = r#"[{"type":"reasoning","text":"secretly pondering","signature":"signedblob"},
        {"type":"tool_call","id":"c1","name":"fs_write","input":{"path":"counter.html","content":"increment"}},
        {"type":"tool_result","call":"c1","content":{"ok":true,"data":"written bytes"}},
        {"type":"opaque_kind","secretword":"opaquetext"}]"#;
    let mut tools = message("assistant", "");
    tools.content.body = Body::parse(parts).expect("parts");
    let id = tools.id;
    commit(store, append(conversation, vec![tools])).await;
    for (query, field) in [
        ("counter", "[ToolCall]"),
        ("fs_write", "[ToolCall]"),
        ("written", "[ToolResult]"),
        ("tool:fs_write", "[ToolCall]"),
    ] {
        let hits = words(store, query).await;
        assert!(hits.len() == 1 && hits[0].starts_with(field), "{query}: {hits:?}");
    }
    for nothing in ["pondering", "signedblob", "opaquetext"] {
        assert_eq!(words(store, nothing).await, Vec::<String>::new(), "{nothing}");
    }
    let thoughts = Include { reasoning: true, ..Include::default() };
    let thought = found(store, Search { include: thoughts, ..search("pondering") }).await;
    assert_eq!(shown(&thought), ["[Reasoning] secretly pondering"]);
    let fold = NewFold {
        id: crate::kit::id(FoldId::new),
        after: id,
        kind: FoldKind::Summary,
        covers: vec![MessageRange { first: id, last: id }],
        summary: Some("a counter page was made".to_owned()),
        parent: None,
        made_by: None,
    };
    commit(store, Change::AddFold { conversation, fold }).await;
    assert_eq!(words(store, "page made").await, ["[Summary] a counter page was made"]);
}

pub async fn what_is_destroyed_is_not_found(store: &dyn Store) {
    let (kept, gone) = (conversation(store, "kept zebra").await, conversation(store, "gone zebra").await);
    tell(store, kept, 0, &["zebra stays", "zebra is erased"]).await;
    let ids = tell(store, gone, 10, &["zebra goes"]).await;
    assert_eq!(found(store, search("zebra")).await.hits.len(), 5);
    let status = Some(ConversationStatus::Trashed);
    patch(store, gone, ConversationPatch { status, ..Default::default() }).await;
    while commit(store, Change::Purge { conversation: gone }).await.results != [ChangeResult::Purged(true)] {}
    let include = Include { trashed: true, branches: true, reasoning: true };
    assert_eq!(found(store, Search { include, ..search("zebra") }).await.hits.len(), 3);
    let window =
        MessagePageQuery { conversation: kept, branch: None, from: None, direction: Direction::Forward, limit: 9 };
    let erased = store.message_page(window).await.expect("readable").messages[1].id;
    commit(store, Change::Erase { target: EraseTarget::Message(erased) }).await;
    assert_eq!(found(store, Search { include, ..search("zebra") }).await.hits.len(), 2);
    assert_eq!(found(store, Search { include, ..search("erased") }).await.hits, []);
    assert!(
        !found(store, Search { include, ..search("zebra") }).await.hits.iter().any(|hit| hit.message == Some(ids[0]))
    );
}

pub async fn an_index_is_made_anew_on_request(store: &dyn Store) {
    let conversation = conversation(store, "named").await;
    for round in 0..50 {
        tell(store, conversation, 1_000 - round * 20, &["common word", "other"]).await;
    }
    indexed(store).await;
    let before = found(store, Search { limit: 100, ..search("common OR named") }).await;
    assert_eq!(before.hits.len(), 51);
    store.reindex().await.expect("there is an index");
    indexed(store).await;
    let after = found(store, Search { limit: 100, ..search("common OR named") }).await;
    assert_eq!(after.hits, before.hits);
}

pub async fn many_messages_that_come_at_once_are_all_found(store: &dyn Store) {
    let mut random = fastrand::Rng::with_seed(7);
    let mut conversations = Vec::new();
    for place in 0..4 {
        conversations.push(conversation(store, &format!("batch {place}")).await);
    }
    let mut times = Vec::new();
    for round in 0..12 {
        let mut messages = Vec::new();
        for place in 0..500 {
            let mut said = message("user", &format!("本批消息 word{} number{}", place % 7, round * 500 + place));
            said.content.time = Time { at: at(random.i64(0..1_000)), source: TimeSource::Exact };
            times.push((said.content.time.at, times.len()));
            messages.push(said);
        }
        commit(store, append(conversations[round % 4], messages)).await;
    }
    assert_eq!(words(store, "number4321").await.len(), 1);
    times.sort_unstable();
    let newest: Vec<Timestamp> = times.iter().rev().take(100).map(|(time, _)| *time).collect();
    let hits = found(store, Search { limit: 100, neighbours: 0, ..search("消息") }).await.hits;
    assert_eq!(hits.iter().map(|hit| hit.time).collect::<Vec<_>>(), newest);
}

pub async fn what_is_not_to_be_there_can_be_all_that_is_asked(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    tell(store, conversation, 0, &["alpha draft", "beta final", "gamma draft", "alpha"]).await;
    for (query, expected) in [
        ("-draft role:user", vec!["alpha", "beta final"]),
        ("-draft after:2020 role:user", vec!["alpha", "beta final"]),
        ("(beta OR -draft) role:user", vec!["alpha", "beta final"]),
        ("-alpha -beta role:user", vec!["gamma draft"]),
        ("-\"alpha draft\" alpha", vec!["alpha"]),
    ] {
        assert_eq!(words(store, query).await, expected, "{query}");
        let inside = found(store, Search { conversations: Some(conversation), ..search(query) }).await;
        assert_eq!(shown(&inside), expected, "{query} in one conversation");
    }
}

pub async fn a_message_of_very_many_words_has_all_that_is_asked(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let many: Vec<String> = (0..120_000).map(|number| format!("w{number:x}")).collect();
    let huge = format!("alpha {} omega", many.join(" "));
    assert!(huge.len() > 512 << 10);
    tell(store, conversation, 0, &[&huge, "alpha beta"]).await;
    for (query, expected) in
        [("alpha omega", 1), ("alpha beta", 1), ("alpha", 2), ("omega -alpha", 0), ("w1f4 w1d4bf omega", 1)]
    {
        assert_eq!(found(store, search(query)).await.hits.len(), expected, "{query}");
        let inside = Search { conversations: Some(conversation), ..search(query) };
        assert_eq!(found(store, inside).await.hits.len(), expected, "{query} in one conversation");
    }
    sound(store).await;
}

pub async fn a_tool_that_is_asked_for_twice_is_indexed_as_once(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let call = |id: &str| Part::ToolCall {
        id: id.to_owned(),
        name: "bash".to_owned(),
        input: json(r#"{"command":"ls"}"#),
        extra: Vec::new(),
    };
    let mut twice = message("assistant", "");
    twice.content.body = Body::of(&[call("a"), call("b")]);
    commit(store, append(conversation, vec![twice])).await;
    indexed(store).await;
    assert_eq!(words(store, "tool:bash").await.len(), 1);
    sound(store).await;
}

pub async fn what_no_reader_sees_is_not_shown_beside_a_hit(store: &dyn Store) {
    let conversation = conversation(store, "").await;
    let mut hidden = message("system", "you are a secret prompt");
    hidden.content.seen = Visibility { by_reader: false, by_model: true };
    commit(store, append(conversation, vec![hidden, message("user", "needle"), message("assistant", "thread")])).await;
    let hit = found(store, search("needle")).await.hits.remove(0);
    assert_eq!((hit.before.len(), hit.after.len()), (0, 1));
    assert_eq!(words(store, "secret").await, Vec::<String>::new());
    let include = Include { branches: true, ..Include::default() };
    let hit = found(store, Search { include, ..search("needle") }).await.hits.remove(0);
    assert_eq!(hit.before.len(), 1);
}

/// All messages that a search finds, page by page.
async fn all_found(store: &dyn Store, text: &str) -> Vec<MessageId> {
    let mut next = Search { limit: HITS_MAX, neighbours: 0, ..search(text) };
    next.timeout = std::time::Duration::from_secs(60);
    let mut ids = Vec::new();
    loop {
        let page = store.search(next.clone()).await.expect("readable");
        assert!(!page.timed_out);
        ids.extend(page.hits.iter().filter_map(|hit| hit.message));
        match page.next {
            Some(cursor) => next.after = Some(cursor),
            None => return ids,
        }
    }
}

pub async fn every_word_of_a_random_message_finds_it(store: &dyn Store) {
    let mut random = fastrand::Rng::with_seed(11);
    let latin: Vec<char> = ('a'..='f').collect();
    let han: Vec<char> = "天地玄黄宇宙洪荒日月".chars().collect();
    let hangul: Vec<char> = "가나다라마바".chars().collect();
    let thai: Vec<char> = "กขคงจฉ".chars().collect();
    let talk = conversation(store, "").await;
    let mut said: Vec<(MessageId, Vec<String>)> = Vec::new();
    for round in 0..30 {
        let mut messages = Vec::new();
        for _ in 0..20 {
            let words: Vec<String> = (0..random.usize(1..8))
                .map(|_| {
                    let script = [&latin, &han, &hangul, &thai][random.usize(..4)];
                    (0..random.usize(1..5)).map(|_| script[random.usize(..script.len())]).collect()
                })
                .collect();
            let message = message("user", &words.join([" ", ", ", "\n", " — "][random.usize(..4)]));
            said.push((message.id, words));
            messages.push(message);
        }
        commit(store, append(talk, messages)).await;
        // Some are found in the index, the last ones where they wait.
        if round == 20 {
            indexed(store).await;
        }
    }
    let holds = |words: &[String], asked: &str| {
        let is_latin = asked.is_ascii();
        words.iter().any(|word| if is_latin { word == asked } else { word.contains(asked) })
    };
    for _ in 0..60 {
        let (id, words) = &said[random.usize(..said.len())];
        let word = &words[random.usize(..words.len())];
        let letters: Vec<char> = word.chars().collect();
        let asked = match letters[0].is_ascii() || letters.len() < 2 {
            true => word.clone(),
            false => {
                let from = random.usize(..letters.len() - 1);
                letters[from..from + 2].iter().collect()
            }
        };
        let mut found = all_found(store, &asked).await;
        assert!(found.contains(id), "{asked} does not find {words:?}");
        let mut expected: Vec<MessageId> =
            said.iter().filter(|(_, words)| holds(words, &asked)).map(|(id, _)| *id).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{asked}");
    }
}

pub async fn every_chinese_word_of_two_characters_is_found_everywhere(store: &dyn Store) {
    let mut random = fastrand::Rng::with_seed(12);
    let characters: Vec<char> = ('\u{4e00}'..='\u{4f2b}').collect();
    let mut texts = Vec::new();
    for part in 0..60 {
        let talk = conversation(store, &format!("part {part}")).await;
        let messages: Vec<NewMessage> = (0..500)
            .map(|_| {
                let text: String = (0..random.usize(10..60)).map(|_| characters[random.usize(..300)]).collect();
                let message = message("user", &text);
                texts.push((message.id, text));
                message
            })
            .collect();
        commit(store, append(talk, messages)).await;
    }
    indexed(store).await;
    let mut asked_for = 0;
    for _ in 0..20 {
        let text: Vec<char> = texts[random.usize(..texts.len())].1.chars().collect();
        let from = random.usize(..text.len() - 1);
        let word: String = text[from..from + 2].iter().collect();
        let mut found = all_found(store, &word).await;
        let mut expected: Vec<MessageId> =
            texts.iter().filter(|(_, text)| text.contains(&word)).map(|(id, _)| *id).collect();
        asked_for += expected.len();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{word}");
    }
    assert!(asked_for > 100, "{asked_for} are too few to say anything");
}
