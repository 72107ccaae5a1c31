//! Conversations for people: Markdown and HTML.

use crate::kit::*;
use expect_test::expect;
use manent::formats::core::redact::Secrets;
use manent::*;
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

async fn written(database: &Database, format: &str) -> (BTreeMap<String, String>, Vec<String>) {
    let plan = ExportPlan::everything(formats::format(format).expect("a known format"));
    let exported = database.export_tree(&plan, Files::new()).await.expect("written");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let losses = exported.losses.iter().map(|lost| format!("{}: {}", lost.what, lost.count)).collect();
    (exported.out.into_iter().map(|(name, bytes)| (name, text(bytes))).collect(), losses)
}

fn said(role: &str, parts: &str) -> MessageDraft {
    let at = "2024-01-01T00:00:00Z".parse().expect("a time");
    MessageDraft::from_json(role, parts).expect("parts").at(Time { at, source: model::TimeSource::Exact })
}

async fn talk(database: &Database, title: &str) -> ConversationId {
    let id = database.create(ConversationDraft { title: title.to_owned(), ..ConversationDraft::default() }).await;
    let id = id.expect("made").id;
    let call = r##"[{"type":"reasoning","text":"think\n**hard**"},{"type":"text","text":"# Hi <b>you</b>\n```rust\nfn a() {}\n```"},
        {"type":"tool_call","id":"c1","name":"search","input":{"q":"``` 天气"}}]"##;
    let result = r#"[{"type":"tool_result","call":"c1","content":"晴"}]"#;
    let media = r#"[{"type":"media","mime":"image/png","url":"https://a.b/c.png"},{"type":"media","mime":"image/png"},
        {"type":"source","title":"[a](b)","url":"javascript:alert(1)"}]"#;
    for draft in [
        said("user", r#"[{"type":"text","text":"你好"}]"#),
        said("assistant", call),
        said("tool", result),
        said("user", media),
    ] {
        database.append(id, draft).await.expect("said");
    }
    id
}

#[tokio::test]
async fn markdown_has_a_file_for_each_conversation() {
    let database = open();
    talk(&database, "计划: a/b").await;
    talk(&database, "计划: a/b").await;
    let (mut files, losses) = written(&database, "markdown").await;
    assert_eq!(files.keys().collect::<Vec<_>>(), ["计划_ a_b.md", "计划_ a_b_2.md"]);
    let text = files.remove("计划_ a_b.md").expect("there");
    let shown: Vec<&str> =
        text.lines().filter(|line| !["id:", "created:", "active:"].iter().any(|name| line.starts_with(name))).collect();
    expect![[r#"
        ---
        title: "计划: a/b"
        kind: chat
        status: active
        ---

        # 计划: a/b

        ## User

        *2024-01-01T00:00:00.000Z*

        你好

        ## Assistant

        *2024-01-01T00:00:00.000Z*

        > **Reasoning**
        >
        > think
        > **hard**

        # Hi <b>you</b>
        ```rust
        fn a() {}
        ```

        **Called search**

        ````
        {
          "q": "``` 天气"
        }
        ````

        ## Tool

        *2024-01-01T00:00:00.000Z*

        **Result**

        ```
        晴
        ```

        ## User

        *2024-01-01T00:00:00.000Z*

        [image/png](<https://a.b/c.png>)

        *Attachment: image/png*

        - \[a\](b)"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!(losses, ["media: 2"]);
}

#[tokio::test]
async fn html_is_one_page_that_runs_nothing() {
    let database = open();
    let id = talk(&database, "<script>alert(1)</script>").await;
    let evil =
        r#"[{"type":"text","text":"<img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](http://e/p.png)"}]"#;
    database.append(id, said("user\" onload=\"x", evil)).await.expect("said");
    let (files, _) = written(&database, "html").await;
    let page = &files["conversations.html"];
    assert!(page.contains("你好") && page.contains("<code class=\"language-rust\">"), "{page}");
    for bad in ["<script", "<img src=x", "javascript:", "onload=\"x", "<b>you"] {
        assert!(!page.contains(bad), "{bad}: {page}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[tokio::test]
async fn a_picture_that_is_held_stands_in_the_page() {
    let database = open();
    let id = database.create(ConversationDraft::default()).await.expect("made").id;
    let blob = database.put_blob(b"\x89PNG").await.expect("put");
    database
        .append(id, said("user", &format!(r#"[{{"type":"media","mime":"image/png","blob":"{blob}"}}]"#)))
        .await
        .expect("said");
    let (files, losses) = written(&database, "html").await;
    assert!(
        files["conversations.html"].contains("src=\"data:image/png;base64,iVBORw==\""),
        "{}",
        files["conversations.html"]
    );
    assert_eq!(losses, Vec::<String>::new());
}

#[tokio::test]
async fn secrets_are_taken_out_of_every_format() {
    let database = open();
    let id = database.create(ConversationDraft { title: "keys".to_owned(), ..ConversationDraft::default() }).await;
    let id = id.expect("made").id;
    database.append(id, MessageDraft::user("my key is sk-proj-AbCd0123456789EfGhIj")).await.expect("said");
    for format in formats::FORMATS {
        let plan = ExportPlan { secrets: Secrets::Remove, ..ExportPlan::everything(format) };
        let exported = database.export_tree(&plan, Files::new()).await.expect("written");
        assert!(exported.redacted > 0, "{}", format.name);
        for (name, bytes) in exported.out {
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("sk-proj"), "{} {name}", format.name);
        }
    }
}
