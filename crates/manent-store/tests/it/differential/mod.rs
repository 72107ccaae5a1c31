//! Differential test: one stream of random operations runs on SQLite, PostgreSQL and a model; all answers must be
//! equal, including the texts of errors.
//!
//! `MANENT_OPERATIONS` says how many (20,000), `MANENT_SEED` which ones. They go in rounds of 20,000, each on stores of
//! its own with the next seed, so a difference in a long run is found again by the seed of its round alone. A single
//! round has the same seed each time: what is red then is red because of a change. Long runs begin anywhere, and find
//! the rest.
//!
//! What the model does not predict, so that there only the engines are compared with each other:
//! - what `verify` counts, and what a purge or an erasure says it removed and in how many steps;
//! - versions after the erasure of an author that took several steps;
//! - numbers of branches inside addresses, digests, and the random word that replaces an erased one: these are left out
//!   of the comparison altogether.
//!
//! The modules, in reading order:

mod chance;
mod question;
mod generate;
mod model;
mod engines;

use crate::kit::indexed;
use engines::{Engines, HANDLES};
use generate::{Generator, Operation};
use manent_store::*;
use manent_text::{Clock, Query};
use model::Model;
use question::{Answer, Said, said};
use std::collections::BTreeMap;

/// How many operations one pair of stores sees; what a store holds stays small enough to be looked at often.
const ROUND: usize = 20_000;
/// The operations of a single round.
const SEED: u64 = 2026;
/// Maximum number of steps that a purge or an erasure of a round needs.
const STEPS_MAX: usize = 500;
/// How many earlier operations on the same conversation are printed.
const SHOWN: usize = 12;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_answer_as_the_model() {
    let Some((server, _own)) = engines::server() else { return };
    let mut left = number("MANENT_OPERATIONS").map_or(ROUND, |operations| operations as usize);
    let any = || if left > ROUND { fastrand::u64(..) } else { SEED };
    let mut seed = number("MANENT_SEED").unwrap_or_else(any);
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rounds = tokio::task::JoinSet::new();
    while left > 0 || !rounds.is_empty() {
        while left > 0 && rounds.len() < at_once {
            let operations = left.min(ROUND);
            println!("MANENT_SEED={seed} MANENT_OPERATIONS={operations}");
            rounds.spawn(Run::new(seed, &server).go(operations));
            left -= operations;
            seed = seed.wrapping_add(1);
        }
        if let Some(Err(failed)) = rounds.join_next().await {
            std::panic::resume_unwind(failed.into_panic());
        }
    }
}

struct Run {
    seed: u64,
    engines: Engines,
    model: Model,
    generator: Generator,
    done: Vec<Operation>,
    /// How often each kind of change alone was done, and how often it was refused.
    tally: BTreeMap<String, (u32, u32)>,
}

impl Run {
    fn new(seed: u64, server: &str) -> Self {
        let (engines, model, generator) = (Engines::open(server), Model::default(), Generator::new(seed));
        Self { seed, engines, model, generator, done: Vec::new(), tally: BTreeMap::new() }
    }

    async fn go(mut self, operations: usize) {
        for _ in 0..operations {
            let operation = self.generator.operation(&self.model);
            self.done.push(operation.clone());
            let handle = self.generator.chance.number(..HANDLES);
            match &operation {
                Operation::Commit(transaction) => self.commit(transaction, handle).await,
                Operation::Destroy(transaction) => self.destroy(transaction, handle).await,
                Operation::Ask(question) => {
                    let (sqlite, postgres) = self.engines.handle(handle);
                    let (first, second) = tokio::join!(question.ask(sqlite), question.ask(postgres));
                    self.same(&first, &second, &self.model.answer(question));
                }
                Operation::Reopen => {
                    self.verify().await;
                    self.engines.reopen(handle).await;
                }
            }
        }
        self.verify().await;
        self.engines.close().await;
        println!("done and refused: {:?}", self.tally);
        let never: Vec<&String> = self.tally.iter().filter(|(_, (done, _))| *done == 0).map(|(kind, _)| kind).collect();
        assert!(operations < ROUND || never.is_empty(), "MANENT_SEED={}: nothing came of {never:?}", self.seed);
    }

    async fn commit(&mut self, transaction: &Transaction, handle: usize) {
        let (sqlite, postgres) = self.engines.handle(handle);
        let (first, second) = tokio::join!(sqlite.commit(transaction.clone()), postgres.commit(transaction.clone()));
        if let (Ok(first), Ok(_)) = (&first, &second) {
            let (one, other) = (*sqlite.watch_position().borrow(), *postgres.watch_position().borrow());
            assert!(first.is_replay || one.min(other) >= first.position, "a tail has not heard of {first:?}");
        }
        let expected = self.model.commit(transaction);
        let [first, second, expected] = [first, second, expected].map(|outcome| said(outcome.map(Answer::Committed)));
        self.same(&first, &second, &expected);
        self.count(transaction, first.is_ok());
    }

    fn count(&mut self, transaction: &Transaction, done: bool) {
        let [change] = &transaction.changes[..] else { return };
        let kind: String = format!("{change:?}").chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let (accepted, refused) = self.tally.entry(kind).or_default();
        *(if done { accepted } else { refused }) += 1;
    }

    /// Sends a purge or an erasure until it is finished, and compares every step.
    async fn destroy(&mut self, transaction: &Transaction, handle: usize) {
        let (sqlite, postgres) = self.engines.handle(handle);
        let mut steps: Vec<Committed> = Vec::new();
        let refused = loop {
            assert!(steps.len() < STEPS_MAX, "{transaction:?} never ends");
            let (first, second) =
                tokio::join!(sqlite.commit(transaction.clone()), postgres.commit(transaction.clone()));
            let [first, second] = [first, second].map(|outcome| said(outcome.map(Answer::Committed)));
            self.same(&first, &second, &first);
            match first {
                Ok(Answer::Committed(step)) => {
                    let finished = match step.results.as_slice() {
                        [ChangeResult::Purged(finished)] => *finished,
                        [ChangeResult::Erased(receipt)] => receipt.finished,
                        done => panic!("{done:?} is no answer to {transaction:?}"),
                    };
                    steps.push(step);
                    if finished {
                        break None;
                    }
                }
                refused => break Some(refused),
            }
        };
        self.count(transaction, refused.is_none());
        let predicted = self.model.destroy(transaction);
        match (refused, predicted) {
            (None, Ok((first, position))) => self.learn(transaction, handle, first, position, &steps).await,
            (refused, predicted) => {
                let found = refused.unwrap_or_else(|| Ok(Answer::Committed(steps[0].clone())));
                let expected = predicted.map(|_| Answer::Committed(steps[0].clone()));
                self.same(&found, &found, &said(expected));
            }
        }
    }

    /// Checks what the model knows of the steps of a destruction, and tells it what it does not.
    async fn learn(
        &mut self,
        transaction: &Transaction,
        handle: usize,
        first: Position,
        position: Position,
        steps: &[Committed],
    ) {
        let last = steps[steps.len() - 1].position;
        assert_eq!((steps[0].first, last), (first, position), "{}", self.told());
        let by_author = matches!(&transaction.changes[..], [Change::Erase { target: EraseTarget::Person(_) }]);
        if !by_author || steps.len() == 1 {
            assert_eq!(steps[0].position, position, "{}", self.told());
            return;
        }
        self.model.learn_steps(steps);
        let (sqlite, _) = self.engines.handle(handle);
        for id in sqlite.conversation_ids(None, PAGE_MAX).await.expect("readable") {
            let shown = sqlite.conversation(ConversationRef::Id(id)).await.expect("readable").expect("it was listed");
            self.model.learn_version(id, shown.version);
        }
    }

    async fn verify(&self) {
        let (sqlite, postgres) = self.engines.handle(0);
        let (first, second) = tokio::join!(sqlite.verify(), postgres.verify());
        let (mut first, second) = (first.expect("verify runs"), second.expect("verify runs"));
        // How much is indexed by now is each engine's own affair.
        first.indexed = second.indexed;
        assert!(first.is_sound() && first == second, "{}\n{first:?}\n{second:?}", self.told());
        self.search().await;
        tokio::join!(indexed(sqlite), indexed(postgres));
        self.search().await;
    }

    /// Both engines find the same, in the same order, whatever is indexed by now.
    async fn search(&self) {
        let (sqlite, postgres) = self.engines.handle(0);
        let clock = Clock { now: crate::kit::at(0), offset_seconds: 0 };
        for text in SEARCHED {
            let query = Query::parse(text, clock).expect("it can be read");
            for (order, grouping, asked) in [
                (SearchOrder::Newest, Grouping::Flat, false),
                (SearchOrder::Newest, Grouping::Conversations, true),
                (SearchOrder::Relevance, Grouping::Flat, true),
            ] {
                let also = Include { trashed: asked, branches: asked, reasoning: asked };
                let patience = std::time::Duration::from_secs(60);
                let search = Search {
                    order,
                    grouping,
                    include: also,
                    limit: 100,
                    timeout: patience,
                    ..Search::new(query.clone(), clock.now)
                };
                let (first, second) = tokio::join!(sqlite.search(search.clone()), postgres.search(search));
                let (first, second) = (first.expect("readable"), second.expect("readable"));
                let (one, other) = ((&first.hits, first.total), (&second.hits, second.total));
                assert!(one == other, "{text} {order:?} {grouping:?}: {}\n{one:?}\n\n{other:?}", self.told());
            }
        }
    }

    /// Stops at the first difference.
    fn same(&self, sqlite: &Said, postgres: &Said, expected: &Said) {
        let failed = |said: &Said| matches!(said, Err(refusal) if FAULTS.contains(&refusal.code));
        if sqlite == expected && postgres == expected && !failed(sqlite) {
            return;
        }
        let show = |said: &Said| format!("{said:?}").chars().take(8_000).collect::<String>();
        let (sqlite, postgres, expected) = (show(sqlite), show(postgres), show(expected));
        panic!("{}\n\nSQLite:     {sqlite}\n\nPostgreSQL: {postgres}\n\nmodel:      {expected}\n", self.told());
    }

    /// Says what was done last, and before that to the same conversation.
    fn told(&self) -> String {
        let show = |(n, operation): (usize, &Operation)| {
            let text: String = format!("{operation:?}").chars().take(3_000).collect();
            format!("operation {n}: {text}\n")
        };
        let last = self.done.len() - 1;
        let conversation = self.done[last].conversation();
        let earlier = self.done[..last].iter().enumerate().rev();
        let related = earlier.filter(|(_, operation)| conversation.is_some_and(|id| operation.names(id)));
        let mut told: Vec<String> = related.take(SHOWN).map(show).collect();
        told.reverse();
        told.push(show((last, &self.done[last])));
        format!("MANENT_SEED={} differs\n{}", self.seed, told.join("\n"))
    }
}

/// What is looked for, again and again.
const SEARCHED: [&str; 8] =
    ["hello", "weather is", "天气", "出", "😀", "ärger OR stop", "\"nul inside\"", "line -hello"];

/// What no answer may be, even if both engines give it.
const FAULTS: [&str; 6] = ["engine", "altered", "outcome_unknown", "busy", "closed", "disk_full"];
