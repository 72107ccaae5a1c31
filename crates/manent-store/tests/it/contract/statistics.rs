//! Statistics: the sums that the index keeps are the sums of the messages, whatever changed and however far it is
//! behind.

use super::projects::project;
use crate::kit::*;
use manent_model::stats::{Counted, Counter};
use manent_model::*;
use manent_store::*;

/// Counts what a query selects, message by message, through the public reads.
async fn expected(store: &dyn Store, query: &StatsQuery) -> Stats {
    let statuses = vec![ConversationStatus::Active, ConversationStatus::Archived];
    let list = ListQuery { statuses, project: query.project, tag: query.tag.clone(), limit: 100, ..Default::default() };
    let conversations = match query.conversation {
        Some(id) => vec![id],
        None => store.conversations(list).await.expect("listed").conversations.iter().map(|found| found.id).collect(),
    };
    let days = query.since.map_or(i64::MIN, |day| day.0)..query.until.map_or(i64::MAX, |day| day.0);
    let mut stats = Stats::default();
    for id in conversations {
        let (mut counter, before) = (Counter::default(), stats.total.messages);
        for message in path(store, id, None).await {
            let Some(mut counted) = Counted::of(&message.content) else { continue };
            if message.content.status == MessageStatus::Streaming {
                // Words and tokens of a stream count when it ends.
                (counted.words, counted.tokens) = (0, 0);
            }
            match days.contains(&counted.day) {
                true => counter.add(&mut stats, &counted),
                false => counter.add(&mut Stats::default(), &counted),
            }
        }
        let has_days = query.since.is_some() || query.until.is_some();
        let counts = query.conversation.is_some() || !has_days || stats.total.messages > before;
        stats.conversations += i64::from(counts);
    }
    stats
}

struct Queries(Vec<StatsQuery>);

impl Queries {
    fn new(project: ProjectId, conversations: &[ConversationId]) -> Self {
        let all = StatsQuery::default();
        let mut queries = vec![
            all.clone(),
            StatsQuery::project(project),
            StatsQuery { tag: Some("t".to_owned()), ..all.clone() },
            StatsQuery { tag: Some("unknown".to_owned()), ..all.clone() },
            StatsQuery { tag: Some("t".to_owned()), ..StatsQuery::project(project) },
            StatsQuery { since: Some(Day(1)), ..all.clone() },
            StatsQuery { until: Some(Day(1)), ..StatsQuery::project(project) },
            StatsQuery { until: Some(Day(100_000)), ..all.clone() },
            StatsQuery { since: Some(Day(1)), until: Some(Day(2)), ..all },
        ];
        queries.extend(conversations.iter().map(|id| StatsQuery::conversation(*id)));
        Self(queries)
    }

    /// Asks before and after the index has read the journal; the answers are the same.
    async fn hold(&self, store: &dyn Store, step: &str) {
        for query in &self.0 {
            let wanted = expected(store, query).await;
            assert_eq!(store.stats(query.clone()).await.expect("counted"), wanted, "{step}: {query:?}");
        }
        indexed(store).await;
        for query in &self.0 {
            let wanted = expected(store, query).await;
            assert_eq!(store.stats(query.clone()).await.expect("counted"), wanted, "{step}, indexed: {query:?}");
        }
        sound(store).await;
    }
}

impl Queries {
    /// Erases content, which is counted as it was.
    async fn stay(&self, store: &dyn Store, target: EraseTarget) {
        let mut before = Vec::new();
        for query in &self.0 {
            before.push(store.stats(query.clone()).await.expect("counted"));
        }
        commit(store, Change::Erase { target }).await;
        for (query, before) in self.0.iter().zip(&before) {
            assert_eq!(&store.stats(query.clone()).await.expect("counted"), before, "erased: {query:?}");
        }
        indexed(store).await;
        for (query, before) in self.0.iter().zip(&before) {
            assert_eq!(&store.stats(query.clone()).await.expect("counted"), before, "erased, indexed: {query:?}");
        }
        sound(store).await;
    }
}

fn timed(role: &str, text: &str, seconds: i64) -> NewMessage {
    let mut message = message(role, text);
    message.content.time = Time { at: at(seconds), source: TimeSource::Exact };
    message.content.tokens = Some(3);
    message.content.model = (role == "assistant").then(|| "m".to_owned());
    message
}

const DAY: i64 = 86_400;

pub async fn statistics_from_sums_equal_counting_every_message(store: &dyn Store) {
    let (a, b) = (conversation(store, "a").await, conversation(store, "b").await);
    let project = project("p");
    commit(store, Change::CreateProject { project: project.clone() }).await;
    let queries = Queries::new(project.id, &[a, b]);
    queries.hold(store, "empty").await;
    commit(store, append(a, vec![timed("user", "one two", 10), timed("assistant", "three", 12)])).await;
    commit(store, append(b, vec![timed("user", "four", DAY)])).await;
    queries.hold(store, "two conversations").await;
    commit(store, append(b, vec![timed("assistant", "an answer the next second", DAY + 1)])).await;
    queries.hold(store, "a question counted before its answer").await;
    let tagged = ConversationPatch { add_tags: ["t".to_owned()].into(), ..Default::default() };
    patch(store, a, tagged).await;
    patch(store, b, ConversationPatch { project: Some(Some(project.id)), ..Default::default() }).await;
    queries.hold(store, "a tag and a project").await;
    commit(store, append(a, vec![timed("user", "again", 2 * DAY)])).await;
    undo(store, UndoScope::Conversation(a)).await;
    queries.hold(store, "undone").await;
    redo(store, UndoScope::Conversation(a)).await;
    queries.hold(store, "redone").await;
    let first = path(store, a, None).await[0].id;
    commit(store, splice(a, instead_of(first, first), &["one two three four"])).await;
    queries.hold(store, "edited in the middle").await;
    fork(store, a, Some(first), "from the start").await;
    queries.hold(store, "a fork").await;
    let status = |status| ConversationPatch { status: Some(status), ..Default::default() };
    patch(store, b, status(ConversationStatus::Trashed)).await;
    queries.hold(store, "trashed").await;
    patch(store, b, status(ConversationStatus::Archived)).await;
    store.reindex().await.expect("begun");
    queries.hold(store, "archived, and indexed again").await;
    queries.stay(store, EraseTarget::Message(first)).await;
}

pub async fn statistics_follow_open_streams_into_forks(store: &dyn Store) {
    let (a, b) = (conversation(store, "a").await, conversation(store, "b").await);
    let queries = Queries::new(id(ProjectId::new), &[a, b]);
    let queries = Queries(queries.0.into_iter().filter(|query| query.project.is_none()).collect());
    let mut stream = timed("assistant", "", 20);
    (stream.content.status, stream.content.body, stream.content.tokens) =
        (MessageStatus::Streaming, Body::of(&[]), None);
    commit(store, append(a, vec![timed("user", "tell me", 10), stream.clone()])).await;
    queries.hold(store, "open").await;
    let parent = store.branches(a).await.expect("readable")[0].id;
    let branch = id(BranchId::new);
    let base = Some(BranchBase { parent, fork: Some(stream.id) });
    let (own, pieces, origins) = (vec![timed("user", "meanwhile", 30)], Vec::new(), Vec::new());
    commit(store, Change::OpenBranch { conversation: b, branch, base, own, pieces, why: BranchReason::Fork, origins })
        .await;
    commit(store, Change::MoveHead { conversation: b, to: HeadTarget::End(branch) }).await;
    commit(store, append(a, vec![timed("user", "and then", 40)])).await;
    queries.hold(store, "forked behind the stream").await;
    let body = Some(Body::of(&[Part::text("once upon a time")]));
    let finish = Finish { status: MessageStatus::Complete, body, tokens: Some(9), usage: None };
    commit(store, Change::FinishMessage { message: stream.id, finish }).await;
    queries.hold(store, "ended").await;
    queries.stay(store, EraseTarget::Message(stream.id)).await;
}
