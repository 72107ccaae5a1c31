//! Real files that were touched here: a name, something said, something taken out. Each shows where it was done, and
//! nowhere else.

use super::*;

/// Renames the first conversation, takes its first message out, and says something at its end.
async fn touch(database: &Database) {
    let id = database.store().conversation_ids(None, 1).await.expect("readable")[0];
    database.rename(id, "新名字").await.expect("renamed");
    let first = database.page(id, None, Direction::Forward, 1).await.expect("readable").messages[0].id;
    database.remove(id, MessageRange { first, last: first }).await.expect("removed");
    let at = "2030-01-02T03:04:05.678Z".parse().expect("a time");
    let said = MessageDraft::user("还在吗?")
        .with_id(MessageId::from_bytes([7; 16]))
        .at(Time { at, source: model::TimeSource::Exact });
    database.append(id, said).await.expect("said");
}

/// A line is shown as far as one can see what it is, and without the time at which this was run.
fn cut(told: &str) -> String {
    let line = |line: &str| match line.split_once("\"updatedAt\": ") {
        Some((before, _)) if line.starts_with('+') => format!("{before}\"updatedAt\": (now)"),
        _ => line.chars().take(400).collect(),
    };
    told.lines().map(line).collect::<Vec<_>>().join("\n")
}

async fn check(folder: &str, format: &str, expected: Expect) {
    let Some(files) = real(folder) else { return };
    let told = on_each_engine(async |database| {
        import(&database, &files).await;
        touch(&database).await;
        let plan = ExportPlan::everything(formats::format(format).expect("a known format"));
        let exported = database.export_tree(&plan, Files::new()).await.expect("written");
        let touched = exported.out;
        // What is written is what is here: taken in elsewhere, it comes back to the byte.
        let other = open();
        import(&other, &touched).await;
        assert_same(&touched, &written(&other, format).await);
        assert_sound(&database).await;
        let mut told = cut(&difference(&files, &touched));
        for lost in exported.losses {
            told += &format!("\nlost: {} {}", lost.count, lost.what);
        }
        told
    })
    .await;
    expected.assert_eq(&told);
}

#[tokio::test]
async fn veloca_shows_the_three_places() {
    check(
        "veloca/ts-head-written",
        "veloca",
        expect![[r#"
        changed: veloca-storage.json
        +      "name": "新名字",
        -          "entry_id": "f3173005-a005-4ebc-804b-613c417d047e",
        -          "role": "user",
        -          "content": "北京今天天气怎么样？",
        -          "create_at": "2026-11-15T19:28:20.565Z"
        -        },
        -        {
        +        },
        +        {
        +          "entry_id": "07070707-0707-0707-0707-070707070707",
        +          "role": "user",
        +          "content": "还在吗?",
        +          "create_at": "2030-01-02T03:04:05.678Z""#]],
    )
    .await;
}

/// The first message stands in the window that the summary stands for. The program counts its messages, and where it can
/// take up again; a template has no other name.
#[tokio::test]
async fn kode_shows_the_three_places() {
    check(
        "kode/store-level",
        "kode",
        expect![[r#"
            changed: agt-store-level/history/windows/1760463900000.json
            -  "messages": [
            -    {
            -      "role": "user",
            -      "content": [
            -        {
            -          "type": "text",
            -          "text": "hi"
            -        }
            -      ]
            -    }
            -  ],
            +  "messages": [],
            changed: agt-store-level/meta.json
            -  "messageCount": 5,
            -  "lastSfpIndex": 3,
            +  "messageCount": 7,
            +  "lastSfpIndex": 6,
            changed: agt-store-level/runtime/messages.json
            +        "tool_use_id": "c_pend",
            +        "content": {
            +          "ok": false,
            +          "data": {
            +            "status": "TOOL_RESULT_MISSING",
            +            "toolId": "c_pend",
            +            "note": "Tool result missing; session sealed automatically."
            +          },
            +          "error": "Tool result missing; session sealed automatically."
            +        },
            +        "is_error": true
            +      }
            +    ]
            +  },
            +  {
            +    "role": "user",
            +    "content": [
            +      {
            +        "type": "tool_result",
            +  },
            +  {
            +    "role": "user",
            +    "content": [
            +      {
            +        "type": "text",
            +        "text": "还在吗?"
            +      }
            +    ]
            lost: 1 times of messages
            lost: 1 title"#]],
    )
    .await;
}

/// A session is called by its id, and has no name.
#[tokio::test]
async fn personalab_shows_the_three_places() {
    check(
        "personalab/v1-instance-layout",
        "personalab",
        expect![[r#"
        changed: data/instances/inst_001/sessions/session_001.jsonl
        -{"role":"user","content":"你好","turn":1,"timestamp":"2025-10-16T10:01:00Z"}
        +{"role":"user","content":"还在吗?","turn":3,"timestamp":"2030-01-02T03:04:05.678Z"}
        lost: 1 names of conversations"#]],
    )
    .await;
}

/// The conversation names its newest message, and what hung on the one that went hangs on the one before it: on none.
#[tokio::test]
async fn the_tables_show_the_three_places() {
    check("conversation-tables/d1-v0.0.4.sqlite", "conversation-tables", expect![[r#"
        changed: d1-v0.0.4.sqlite
        -Conversation 1 conversation_id="conv-1" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:47.957678" latest_message_id="c7bc803f-c141-4cfe-b279-ec15f182eb55" metadata=NULL
        +Conversation 1 conversation_id="conv-1" project=NULL brand=NULL sequence="sequential" status="active" created_at="2026-11-15T19:31:47.957678" latest_message_id="07070707-0707-0707-0707-070707070707" metadata="{\"title\":\"新名字\"}"
        -Message 1 message_id="2763fd50-a955-4fbd-b87c-8fc09c7de9c4" conversation_id="conv-1" role="user" text="Hello 你好" parent_message_id=NULL timestamp="2026-11-15T19:31:48.004807" metadata=NULL
        -Message 2 message_id="a7808c1d-c6dc-4e76-b677-c8ec8e5a51c5" conversation_id="conv-1" role="assistant" text="Hi! How can I help?" parent_message_id="2763fd50-a955-4fbd-b87c-8fc09c7de9c4" timestamp="2026-11-15T19:31:48.045622" metadata="{\"tokens\": 12, \"tags\": \"a, b\"}"
        +Message 2 message_id="a7808c1d-c6dc-4e76-b677-c8ec8e5a51c5" conversation_id="conv-1" role="assistant" text="Hi! How can I help?" parent_message_id=NULL timestamp="2026-11-15T19:31:48.045622" metadata="{\"tokens\": 12, \"tags\": \"a, b\"}"
        +Message 9 message_id="07070707-0707-0707-0707-070707070707" conversation_id="conv-1" role="user" text="还在吗?" parent_message_id=NULL timestamp="2030-01-02T03:04:05.678000" metadata=NULL"#]]).await;
}

/// The name stands in the index too, and both say when something was last done.
#[tokio::test]
async fn the_vault_shows_the_three_places() {
    check(
        "obsidian-rag/migrated",
        "obsidian-rag",
        expect![[r#"
        changed: Assets/History/sessions/migrated_1794771048025.json
        -  "sessionName": "历史会话 11-15 19:30",
        +  "sessionName": "新名字",
        -  "updatedAt": 1794771048026,
        +  "updatedAt": (now)
        -      "role": "user",
        -      "content": "什么是 RAG？"
        -    },
        -    {
        +    },
        +    {
        +      "role": "user",
        +      "content": "还在吗?"
        changed: Assets/History/sessions_index.json
        -      "sessionName": "历史会话 11-15 19:30",
        +      "sessionName": "新名字",
        -      "updatedAt": 1794771048025,
        +      "updatedAt": (now)
        lost: 1 times of messages"#]],
    )
    .await;
}
