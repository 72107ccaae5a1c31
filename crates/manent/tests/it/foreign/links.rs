//! Conversations that go on from others of the same file.

use super::*;

/// Two sessions of a story: the one that comes first in the folder goes on from the one that comes later.
fn story() -> Files {
    let session = |id: &str, from: &str| {
        format!(
            "{{\"type\":\"metadata\",\"instance_id\":\"inst_001\",\"session_id\":\"{id}\",\"created_at\":\"2025-10-16T11:00:00Z\"{from}}}\n\
             {{\"role\":\"user\",\"content\":\"{id}\",\"turn\":1,\"timestamp\":\"2025-10-16T11:00:30Z\"}}\n"
        )
    };
    let instance = r#"{
  "instance_id": "inst_001",
  "character_id": "char",
  "background_id": "bg",
  "current_session_id": "sess_b",
  "created_at": "2025-10-10T10:00:00Z"
}"#;
    let folder = "data/instances/inst_001";
    [
        (format!("{folder}/instance_state.json"), instance.to_owned()),
        (format!("{folder}/sessions/session_001.jsonl"), session("sess_a", ",\"continued_from\":\"sess_b\"")),
        (format!("{folder}/sessions/session_002.jsonl"), session("sess_b", "")),
    ]
    .map(|(name, text)| (name, text.into_bytes()))
    .into()
}

/// What the first conversation goes on from, and the second itself.
async fn ends(database: &Database) -> (Option<ConversationId>, ConversationId) {
    let mut ends = (None, None);
    for id in database.store().conversation_ids(None, 9).await.expect("readable") {
        match texts(database, id).await.first().map(String::as_str) {
            Some("sess_a") => ends.0 = database.conversation(id).await.expect("there").continued_from,
            _ => ends.1 = Some(id),
        }
    }
    (ends.0, ends.1.expect("the second"))
}

#[tokio::test]
async fn what_goes_on_from_a_later_conversation_is_linked_to_it() {
    on_each_engine(async |database| {
        import(&database, &story()).await;
        let (from, later) = ends(&database).await;
        assert_eq!(from, Some(later));
        assert_same(&story(), &written(&database, "personalab").await);
    })
    .await;
}

#[tokio::test]
async fn a_link_to_a_conversation_that_is_here_already_leads_to_it() {
    on_each_engine(async |database| {
        let mut earlier = story();
        earlier.remove("data/instances/inst_001/sessions/session_001.jsonl");
        import(&database, &earlier).await;
        import(&database, &story()).await;
        let (from, later) = ends(&database).await;
        assert_eq!(from, Some(later));
    })
    .await;
}

#[tokio::test]
async fn a_later_conversation_that_was_destroyed_comes_again() {
    on_each_engine(async |database| {
        import(&database, &story()).await;
        let (_, later) = ends(&database).await;
        // Content that another branch shows stays, and with it the id.
        let first = database.last(later, 1).await.expect("readable").messages[0].id;
        database.fork_to_new(later, first, ConversationDraft::default()).await.expect("forked");
        database.trash(later).await.expect("trashed");
        database.purge(later).await.expect("destroyed");
        let report = import(&database, &story()).await;
        assert_eq!(report.skipped(), 0, "{report:#?}");
        assert_eq!(report.conversations.iter().map(|one| one.is_new).collect::<Vec<_>>(), [false, true]);
        assert_sound(&database).await;
    })
    .await;
}
