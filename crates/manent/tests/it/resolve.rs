//! What people type instead of an id.

use crate::kit::*;
use manent::model::{IdProblem, Project};
use manent::*;

async fn code(outcome: Result<impl std::fmt::Debug>) -> &'static str {
    outcome.expect_err("it names nothing").code()
}

/// Makes a conversation whose id is known.
async fn with_id(database: &Database, id: &str) -> Result<ConversationId, IdProblem> {
    let id = id.parse()?;
    let branch = database.new_id(BranchId::new);
    let draft = ConversationDraft::default();
    let change = Change::CreateConversation { id, branch, draft, importing: false };
    database.change(change).await.expect("made");
    Ok(id)
}

#[tokio::test]
async fn an_id_or_a_beginning_that_no_other_has_is_enough() {
    let database = open();
    let first = with_id(&database, "conv_01K7H1RY3BNE1D3YX3C01SM0R1").await.expect("an id");
    let second = with_id(&database, "conv_01K7H1RY3BNE1D3YX3C01SM0R2").await.expect("an id");
    let other = with_id(&database, "conv_01K8H1RY3BNE1D3YX3C01SM0R1").await.expect("an id");
    for text in [first.to_string(), first.to_string().to_lowercase(), first.to_string()[5..].to_owned()] {
        assert_eq!(database.resolve_conversation(&text).await.expect("found"), first, "{text}");
    }
    assert_eq!(database.resolve_conversation(" conv_01K8 ").await.expect("found"), other);
    assert_eq!(database.resolve_conversation("01k8").await.expect("found"), other);
    match database.resolve_conversation("CONV_01K7").await {
        Err(Error::Ambiguous { text, candidates }) => {
            assert_eq!((text.as_str(), candidates), ("CONV_01K7", vec![first.to_string(), second.to_string()]));
        }
        outcome => panic!("{outcome:?}"),
    }
    for text in ["01K", "conv_01K", "", "conv_", "01K9", "conv_01K7H1RY3BNE1D3YX3C01SM0R3", "proj_01K8", "天气"] {
        assert_eq!(code(database.resolve_conversation(text).await).await, "not_found", "{text}");
    }
}

#[tokio::test]
async fn only_five_candidates_are_shown() {
    let database = open();
    for last in "3456789".chars() {
        with_id(&database, &format!("conv_01K7H1RY3BNE1D3YX3C01SM0R{last}")).await.expect("an id");
    }
    let error = database.resolve_conversation("01K7").await.expect_err("several");
    assert_eq!((error.code(), error.to_string().matches("conv_").count()), ("ambiguous", 5));
}

#[tokio::test]
async fn an_external_id_counts_before_a_beginning() {
    let database = open();
    with_id(&database, "conv_01K7H1RY3BNE1D3YX3C01SM0R1").await.expect("an id");
    let draft = ConversationDraft { external_id: Some("01K7".to_owned()), ..ConversationDraft::default() };
    let named = database.create(draft).await.expect("made").id;
    assert_eq!(database.resolve_conversation("01K7").await.expect("found"), named);
}

#[tokio::test]
async fn the_last_one_is_the_one_that_was_active_last_pinned_or_not() {
    let database = open();
    assert_eq!(code(database.resolve_conversation("@last").await).await, "not_found");
    assert_eq!(code(database.resolve_message("@last").await).await, "not_found");
    let (pinned, other) = (conversation(&database, "pinned").await, conversation(&database, "other").await);
    database.pin(pinned).await.expect("pinned");
    let last = say(&database, other, &["one", "two"]).await[1];
    assert_eq!(database.resolve_conversation("@last").await.expect("found"), other);
    assert_eq!(database.resolve_message("@last").await.expect("found"), last);
    let last = say(&database, pinned, &["three"]).await[0];
    assert_eq!(database.resolve_conversation("@last").await.expect("found"), pinned);
    assert_eq!(database.resolve_message("@last").await.expect("found"), last);
}

#[tokio::test]
async fn messages_and_projects_are_named_alike() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let ids = say(&database, chat, &["one", "two"]).await;
    let project: Project = database.create_project("p", "").await.expect("made");
    assert_eq!(database.resolve_message(&ids[1].to_string()[4..]).await.expect("found"), ids[1]);
    assert_eq!(code(database.resolve_message(&ids[1].to_string()[..10]).await).await, "ambiguous");
    assert_eq!(code(database.resolve_message(&chat.to_string()).await).await, "not_found");
    assert_eq!(database.resolve_project(&project.id.to_string()[..12]).await.expect("found"), project.id);
    assert_eq!(code(database.resolve_project("proj_7777").await).await, "not_found");
}
