//! Participant rows, on a server whose tenants an older version has filled.

use super::{owner, server};
use crate::durable::participants::{DAMAGE, as_before, found_wrong, people, to_be_damaged};
use crate::durable::writers::WITHOUT_WRITERS;
use crate::kit::*;
use manent_store::Store;
use manent_store::postgres::{PostgresOptions, PostgresStore};
use std::sync::Arc;

fn opened(url: &str, tenant: i64) -> Arc<dyn Store> {
    let options = PostgresOptions { tenant, readers: 1, ..PostgresOptions::new(url.to_owned()) };
    Arc::new(PostgresStore::open(options).expect("the store opens"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tenant_of_an_older_schema_knows_who_takes_part() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    let mut before = Vec::new();
    for tenant in [1, 2] {
        let store = opened(&url, tenant);
        before.push((tenant, people(&store).await));
        store.close().await.expect("closes");
    }
    // As a program wrote it that did not keep these rows.
    let raw = owner(&url).await;
    let older = "delete from search_cursor; drop table participant; delete from meta where name = 'participants'; update migration set done = 6";
    raw.batch_execute(WITHOUT_WRITERS).await.expect("an older schema");
    raw.batch_execute(older).await.expect("an older schema");
    for (tenant, before) in &before {
        // Several open it at once, as the servers of an installation do.
        let openings = (0..3).map(|_| {
            let (url, tenant) = (url.clone(), *tenant);
            tokio::task::spawn_blocking(move || opened(&url, tenant))
        });
        for store in together(openings).await {
            let store = store.expect("it opens");
            as_before(&store, before).await;
            sound(&*store).await;
            store.close().await.expect("closes");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_or_surplus_participant_is_found_on_a_server() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    let raw = owner(&url).await;
    let damage = DAMAGE.into_iter().chain([(
        "one too many",
        "insert into participant (tenant, person, conversation_no, made, takes_part)
         select max(tenant), 'zoe', 1, 0, 1 from conversation",
    )]);
    for (tenant, (what, sql)) in (1..).zip(damage) {
        let store = opened(&url, tenant);
        let conversation = to_be_damaged(&*store).await;
        sound(&*store).await;
        let sql = match sql.contains(" where ") {
            true => format!("{sql} and tenant = {tenant}"),
            false => sql.to_owned(),
        };
        assert_eq!(raw.execute(&sql, &[]).await.expect("damaged"), 1, "{what}");
        found_wrong(&*store, conversation, what).await;
        store.close().await.expect("closes");
    }
}
