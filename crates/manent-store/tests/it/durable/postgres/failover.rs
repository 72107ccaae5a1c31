//! The server that leads is gone, and another leads.

use super::client::check;
use super::load::Load;
use super::{open, owner};
use crate::durable::{number, runtime};
use crate::kit::{append, at, conversation, message, sound, texts};
use manent_store::{Store, Transaction};
use manent_testing::not_run;
use manent_testing::patroni::{Cluster, NODES};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_postgres::Client;

/// Longer than another may take to lead, so that a program waits instead of being told.
const PATIENCE: Duration = Duration::from_secs(30);
/// When the stores must commit again.
const BACK: Duration = Duration::from_secs(90);
/// An answer that was on its way when the leader died may come so much later.
const ON_ITS_WAY: Duration = Duration::from_millis(300);

#[test]
fn a_leader_that_is_killed_loses_and_doubles_nothing() {
    let failovers = number("MANENT_FAILOVERS", 10);
    let Some((_folder, mut cluster)) = cluster() else { return };
    let runtime = runtime();
    let _inside = runtime.enter();
    let load = Load::start(&runtime, &[cluster.url(), cluster.url()], PATIENCE);
    for failover in 1..=failovers {
        let leader = cluster.leader().expect("one leads");
        let killed = Instant::now();
        cluster.kill(leader).expect("it can be killed");
        load.each_store_commits(killed + ON_ITS_WAY, BACK);
        let gap = load.longest_gap(killed);
        let next = cluster.leader();
        cluster.start_again(leader).expect("it starts again");
        cluster.wait_until_whole().expect("it follows");
        let whole = killed.elapsed();
        println!("kill {failover}: node {leader}, then {next:?}: no commit for {gap:.1?}, whole after {whole:.1?}");
    }
    let ledger = load.end(&runtime);
    println!("{} stored, answers {:?}", ledger.stored(), ledger.answers);
    runtime.block_on(check(&*open(cluster.url(), 1, PATIENCE), &ledger));
}

#[test]
fn a_leader_that_is_frozen_and_comes_back_loses_and_doubles_nothing() {
    let Some((_folder, cluster)) = cluster() else { return };
    let runtime = runtime();
    let _inside = runtime.enter();
    let leader = cluster.leader().expect("one leads");
    let old = runtime.block_on(owner(&cluster.url_of(leader)));
    let table = "create schema apart; create table apart.written (n bigint primary key)";
    runtime.block_on(old.batch_execute(table)).expect("a table");
    let load = Load::start(&runtime, &[cluster.url(), cluster.url()], PATIENCE);
    let frozen = Instant::now();
    cluster.freeze(leader).expect("it can be stopped");
    load.each_store_commits(frozen + ON_ITS_WAY, BACK);
    let next = cluster.leader();
    println!("frozen: node {leader}, then {next:?}: no commit for {:.1?}", load.longest_gap(frozen));
    assert!(next.is_some_and(|next| next != leader), "another leads");
    cluster.thaw(leader).expect("it goes on");
    let written = runtime.block_on(written_to(&old));
    cluster.wait_until_whole().expect("it follows");
    let ledger = load.end(&runtime);
    println!("{} stored, answers {:?}, {} by the old leader", ledger.stored(), ledger.answers, written.len());
    println!("in the end {:?} leads", cluster.leader());
    runtime.block_on(async {
        check(&*open(cluster.url(), 1, PATIENCE), &ledger).await;
        let rows = owner(&cluster.url()).await.query("select n from apart.written", &[]).await.expect("readable");
        let kept: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert!(written.iter().all(|n| kept.contains(n)), "the old leader acknowledged {written:?}, kept is {kept:?}");
    });
}

#[test]
fn nothing_is_acknowledged_that_only_the_leader_has() {
    let Some((_folder, cluster)) = cluster() else { return };
    let leader = cluster.leader().expect("one leads");
    let followers = (0..NODES).filter(|node| *node != leader);
    let runtime = runtime();
    let _inside = runtime.enter();
    runtime.block_on(async {
        let store = open(cluster.url(), 1, PATIENCE);
        let talk = conversation(&*store, "talk").await;
        let watching = owner(&cluster.url_of(leader)).await;
        followers.clone().for_each(|node| cluster.freeze(node).expect("it can be stopped"));
        let said = Transaction::of(at(1), append(talk, vec![message("user", "one")]));
        let (sending, sent) = (store.clone(), said.clone());
        let mut answer = tokio::spawn(async move { sending.commit(sent).await });
        // The commit is on the primary's disk and waits for a standby; the waiting backend is terminated.
        let throw_out = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
        while watching.query(throw_out, &[]).await.expect("it can be asked").is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let early = timeout(Duration::from_secs(8), &mut answer).await;
        assert!(!matches!(early, Ok(Ok(Ok(_)))), "acknowledged, and no follower has it: {early:?}");
        followers.for_each(|node| cluster.thaw(node).expect("it goes on"));
        cluster.wait_until_whole().expect("they follow");
        // Sent again until it is answered, as a program would.
        while let Err(error) = store.commit(said.clone()).await {
            println!("{error:?}");
        }
        assert_eq!(texts(&*store, talk).await, ["one"]);
        sound(&*store).await;
    });
}

/// Starts a cluster. Its folder comes first, so that it is dropped last: stopping the servers needs it.
fn cluster() -> Option<(TempDir, Cluster)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    match Cluster::start(folder.path()) {
        Ok(cluster) => Some((folder, cluster)),
        Err(error) => {
            not_run(&format!("failover: {error}"));
            None
        }
    }
}

/// Writes to a leader that has been gone for a while, for as long as it lets us; returns what it acknowledged.
async fn written_to(old: &Client) -> Vec<i64> {
    let mut written = Vec::new();
    for n in 0..1_000 {
        let insert = format!("insert into apart.written (n) values ({n})");
        match timeout(Duration::from_secs(30), old.execute(&insert, &[])).await {
            Ok(Ok(_)) => written.push(n),
            _ => break,
        }
    }
    written
}
