//! Authors of rows other than messages, on a server whose tenants an older version has filled.

use super::{owner, server};
use crate::durable::writers::{WITHOUT_WRITERS, only_one_is_left, written};
use manent_store::Store;
use manent_store::postgres::{PostgresOptions, PostgresStore};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tenant_of_an_older_schema_knows_who_wrote_what() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    let opened = |tenant| {
        let options = PostgresOptions { tenant, readers: 1, ..PostgresOptions::new(url.clone()) };
        PostgresStore::open(options).expect("the store opens")
    };
    let mut before = Vec::new();
    for tenant in [1, 2] {
        let store = opened(tenant);
        before.push((tenant, written(&store).await));
        store.close().await.expect("closes");
    }
    let raw = owner(&url).await;
    raw.batch_execute(WITHOUT_WRITERS).await.expect("an older schema");
    let older = "delete from search_cursor; update meta set value = '\\x01' where name = 'participants'; update migration set done = 7";
    raw.batch_execute(older).await.expect("an older schema");
    for (tenant, shared) in before {
        only_one_is_left(&opened(tenant), shared).await;
    }
}
