//! Search over HTTP: pages, places, and whatever people and programs send.

use crate::kit::{Running, ask, good, text};
use manent_testing::http::Client;
use serde_json::{Value, json};

/// Writes a text as it stands in an address.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

async fn conversation(client: &mut Client, title: &str, texts: &[&str]) -> String {
    let chat = text(&good(client, "POST", "/conversations", json!({ "title": title })).await, "/id");
    let messages: Vec<Value> = texts.iter().map(|text| json!({ "role": "user", "text": text })).collect();
    let path = format!("/conversations/{chat}/messages");
    good(client, "POST", &path, json!({ "messages": messages })).await;
    chat
}

async fn find(client: &mut Client, words: &str, more: &str) -> Value {
    good(client, "GET", &format!("/search?q={}{more}", escaped(words)), Value::Null).await
}

/// Returns the pieces of text that were found, in their order.
fn snippets(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().into_iter().flatten();
    hits.filter_map(|hit| hit["snippet"]["text"].as_str()).collect()
}

#[tokio::test]
async fn what_was_just_said_is_found_in_any_script() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let chat = conversation(&mut client, "旅行", &["从北京到西安坐高铁要多久？", "About four hours", "谢谢"]).await;
    let found = find(&mut client, "高铁 北京", "").await;
    assert_eq!(snippets(&found), ["从北京到西安坐高铁要多久？"]);
    let hit = &found["hits"][0];
    assert_eq!((text(hit, "/conversation"), text(hit, "/title")), (chat.clone(), "旅行".to_owned()));
    assert_eq!((&hit["position"], &hit["on_path"]), (&json!(1), &json!(true)));
    assert_eq!(hit["snippet"]["highlights"], json!([[1, 3], [7, 9]]));
    assert_eq!(hit["after"][0]["text"], "About four hours");
    assert_eq!(find(&mut client, "hours", "&neighbours=0").await["hits"][0]["before"], json!([]));
    let title = find(&mut client, "in:title 旅", "").await;
    assert_eq!((&title["hits"][0]["field"], &title["hits"][0]["message"]), (&json!("title"), &Value::Null));
    assert_eq!(snippets(&find(&mut client, "fou", "&typing=true").await), ["About four hours"]);
    assert_eq!(snippets(&find(&mut client, "fou", "").await), [""; 0]);
    server.stop().await;
}

#[tokio::test]
async fn pages_follow_each_other_and_miss_nothing() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let words: Vec<String> = (0..25).map(|number| format!("needle {number}")).collect();
    conversation(&mut client, "many", &words.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for order in ["newest", "relevance"] {
        let (mut seen, mut after) = (Vec::new(), String::new());
        for page in 0..3 {
            let found = find(&mut client, "needle", &format!("&limit=10&order={order}{after}")).await;
            seen.extend(snippets(&found).into_iter().map(str::to_owned));
            assert_eq!(found["next"].is_null(), page == 2, "{order} {page}");
            after = format!("&after={}", found["next"].as_str().unwrap_or_default());
            // What comes meanwhile does not move the others.
            conversation(&mut client, "late", &["needle late"]).await;
        }
        let mut all: Vec<String> = seen.iter().filter(|text| !text.contains("late")).cloned().collect();
        all.sort();
        all.dedup();
        assert_eq!((all.len(), seen.len() - all.len() < 4), (25, true), "{order}: {seen:?}");
    }
    let counted = find(&mut client, "needle", "&limit=1&count=exact").await;
    assert_eq!(counted["total"], json!({ "n": 31, "more": false }));
    assert_eq!(find(&mut client, "needle", "&limit=1").await["total"], json!({ "n": 1, "more": true }));
    server.stop().await;
}

#[tokio::test]
async fn a_search_stays_where_it_is_sent() {
    let server = Running::start().await;
    let mut client = server.client().await;
    let one = conversation(&mut client, "one", &["needle in one", "needle again"]).await;
    let other = conversation(&mut client, "other", &["needle in other"]).await;
    let within = format!("&in={other}");
    assert_eq!(snippets(&find(&mut client, "needle", &within).await), ["needle in other"]);
    let grouped = find(&mut client, "needle", "&group=conversations").await;
    let counts: Vec<&Value> =
        grouped["hits"].as_array().into_iter().flatten().map(|hit| &hit["in_conversation"]["n"]).collect();
    assert_eq!(counts, [1, 2]);
    good(&mut client, "DELETE", &format!("/conversations/{one}"), Value::Null).await;
    assert_eq!(snippets(&find(&mut client, "needle", "").await), ["needle in other"]);
    assert_eq!(snippets(&find(&mut client, "needle", "&include=trashed,branches").await).len(), 3);
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_its_place() {
    let server = Running::start().await;
    let mut client = server.client().await;
    for (words, at) in [
        ("", json!(0)),
        ("   ", json!(0)),
        ("天气 \"北京", json!(3)),
        ("(a", json!(0)),
        ("a )", json!(2)),
        ("OR", json!(0)),
        ("a role:", json!(7)),
        ("你好 before:soon", json!(10)),
        ("has:nothing", json!(4)),
        (&"x".repeat(10_000), json!(1_000)),
    ] {
        let (status, problem) = ask(&mut client, "GET", &format!("/search?q={}", escaped(words)), Value::Null).await;
        assert_eq!((status, &problem["code"], &problem["at"]), (400, &json!("query"), &at), "{words}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.len() > 10), "{problem}");
    }
    for wrong in [
        "",
        "q",
        "q=a&limit=0",
        "q=a&limit=101",
        "q=a&limit=-1",
        "q=a&order=best",
        "q=a&group=hits",
        "q=a&include=everything",
        "q=a&include=",
        "q=a&in=msg_01K7H1RY3BNE1D3YX3C01SM0R1",
        "q=a&after=x",
        "q=a&after=00",
        "q=a&count=some",
        "q=a&typing=perhaps",
        "q=a&offset=2147483647",
        "q=a&offset=x",
        "q=a&neighbours=6",
        "q=a&q=b",
        "q=a&query=b",
    ] {
        let (status, problem) = ask(&mut client, "GET", &format!("/search?{wrong}"), Value::Null).await;
        assert_eq!(status, 400, "{wrong}: {problem}");
    }
    let gone = "q=a&in=conv_01K7H1RY3BNE1D3YX3C01SM0R1";
    assert_eq!(ask(&mut client, "GET", &format!("/search?{gone}"), Value::Null).await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn rubbish_is_answered_and_breaks_nothing() {
    let server = Running::start().await;
    let mut client = server.client().await;
    conversation(&mut client, "'; drop table message; --", &["'; drop table message; --", "a\u{0}b \u{202e}", "*"])
        .await;
    let cursors = ["00", "80", "7f", "ff"].map(|byte| byte.repeat(48));
    let rubbish = [
        "'; drop table message; --",
        "\" OR 1=1",
        "a\" NEAR/3 \"b",
        "*",
        "a*b*",
        "^a",
        "{a b}: c",
        "-",
        "--",
        "-a",
        "- -a -\"",
        "NOT AND OR",
        "a AND b OR c",
        "()",
        "((((((((((((((((((((((((a",
        "\u{0}",
        "a\u{0}b",
        "\u{202e}\u{feff}",
        "\u{1F468}\u{200D}\u{1F469}",
        "e\u{301}\u{301}\u{301}",
        "%",
        "%25%00",
        "<script>",
        "role:user*",
        "meta.a.b.c:*",
        "meta.:x",
        "after:9999-12-31",
        "before:0000",
        "after:99999999y",
        "tag:\"",
        "project:proj_x",
        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﷽",
        "\\",
        "a | | b",
        "：：：",
    ];
    for words in rubbish.iter().map(|words| (*words).to_owned()).chain([
        "a ".repeat(64),
        "a ".repeat(65),
        "(".repeat(500),
        "\"".repeat(999),
        "长".repeat(1_000),
        "- ".repeat(400),
    ]) {
        for more in ["", "&typing=true", "&order=relevance&count=exact&include=trashed,branches,reasoning"] {
            let path = format!("/search?q={}{more}", escaped(&words));
            let (status, answer) = ask(&mut client, "GET", &path, Value::Null).await;
            assert!(status == 200 || (status == 400 && answer["code"] == "query"), "{words:?}: {status} {answer}");
        }
    }
    for cursor in &cursors {
        for order in ["newest", "relevance"] {
            let path = format!("/search?q=table&order={order}&after={cursor}");
            let (status, answer) = ask(&mut client, "GET", &path, Value::Null).await;
            assert_eq!(status, 200, "{cursor}: {answer}");
        }
    }
    // Not even text.
    for raw in ["q=%FF%FE", "q=%", "q=%E5%8C", "q=a+b", "%00=1&q=a"] {
        let (status, answer) = ask(&mut client, "GET", &format!("/search?{raw}"), Value::Null).await;
        assert!(status < 500, "{raw}: {answer}");
    }
    assert_eq!(snippets(&find(&mut client, "drop table", "").await).len(), 2, "everything is still there");
    server.stop().await;
}

#[tokio::test]
async fn the_index_is_made_anew_and_says_how_far_it_is() {
    let server = Running::start().await;
    let mut client = server.client().await;
    conversation(&mut client, "one", &["needle"]).await;
    let index = good(&mut client, "GET", "/search/index?wait=true", Value::Null).await;
    assert_eq!((&index["waiting"], &index["idle"], &index["is_failing"]), (&json!(0), &json!(true), &json!(false)));
    let (status, begun) = ask(&mut client, "POST", "/reindex", json!({})).await;
    assert_eq!((status, begun["is_failing"].clone()), (202, json!(false)), "{begun}");
    let accept = [("accept", "text/event-stream")];
    let said = client.send("POST", "/api/v1/reindex", &accept, "{}").await.expect("an answer");
    assert_eq!((said.status.as_u16(), said.header("content-type")), (202, "text/event-stream"));
    let said = said.text();
    let events: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(events.last(), Some(&"report"), "{said}");
    assert!(events[..events.len() - 1].iter().all(|event| *event == "progress"), "{said}");
    let last = said.lines().rfind(|line| line.starts_with("data: ")).expect("data");
    assert!(last.contains("\"idle\":true"), "{said}");
    let found = find(&mut client, "needle", "").await;
    assert_eq!((snippets(&found), &found["coverage"]["complete"]), (vec!["needle"], &json!(true)));
    assert_eq!(ask(&mut client, "POST", "/reindex", json!({ "x": 1 })).await.0, 422);
    server.stop().await;
}
