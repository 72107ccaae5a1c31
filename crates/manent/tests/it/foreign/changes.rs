//! Files that were changed here: they come back with the change, and with nothing else.

use super::*;

async fn check_change(change: impl AsyncFn(&Database, &[ConversationId]), expected: Expect) {
    let files = sessions(SESSIONS);
    let told = on_each_engine(async |database| {
        import(&database, &files).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        change(&database, &ids).await;
        difference(&files, &written(&database, "veloca").await)
    })
    .await;
    expected.assert_eq(&told);
}

#[tokio::test]
async fn a_new_name_changes_one_place() {
    check_change(
        async |database, ids| database.rename(ids[1], "第二").await.expect("renamed"),
        expect![[r#"
        changed: veloca-storage.json
        -      "name": "second",
        +      "name": "第二","#]],
    )
    .await;
}

#[tokio::test]
async fn a_removed_message_is_marked_as_the_program_does() {
    let remove = async |database: &Database, ids: &[ConversationId]| {
        let first = database.last(ids[0], 9).await.expect("readable").messages[0].id;
        database.remove(ids[0], MessageRange { first, last: first }).await.expect("removed");
    };
    check_change(
        remove,
        expect![[r#"
        changed: veloca-storage.json
        -      "status": 0,
        +      "status": 1,"#]],
    )
    .await;
}

#[tokio::test]
async fn an_edited_message_keeps_its_record() {
    let edit = async |database: &Database, ids: &[ConversationId]| {
        let first = database.last(ids[0], 9).await.expect("readable").messages[0].id;
        let with = MessageDraft::user("您好");
        database.edit(ids[0], first, with, FollowUps::Keep).await.expect("edited");
    };
    let files = sessions(SESSIONS);
    on_each_engine(async |database| {
        import(&database, &files).await;
        let ids = database.store().conversation_ids(None, 9).await.expect("readable");
        edit(&database, &ids).await;
        let difference = difference(&files, &written(&database, "veloca").await);
        assert!(difference.contains("+      \"message\": \"您好\""), "{difference}");
        assert!(!difference.contains("entry_id"), "{difference}");
    })
    .await;
}
