//! What the catalogue must say, so that a new table cannot forget its tenant.

use super::{open, owner, server};
use std::time::Duration;

/// What there must be none of, and how to find it.
type Rule = (&'static str, &'static str);

const ROLE: [Rule; 5] = [
    (
        "powers of the role",
        "select rolname::text
         from pg_roles
         where rolname = 'manent_app'
           and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication or rolcanlogin)",
    ),
    (
        "things it owns",
        "select classid::regclass || ' ' || objid
         from pg_shdepend
         where refclassid = 'pg_authid'::regclass and refobjid = 'manent_app'::regrole and deptype = 'o'",
    ),
    (
        "roles it may become",
        "select roleid::regrole::text
         from pg_auth_members
         where member = 'manent_app'::regrole",
    ),
    (
        // To empty a table asks no policy.
        "tables it may empty, refer to or hang triggers on",
        "select relname::text
         from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
           and has_table_privilege('manent_app', oid, 'truncate, references, trigger')",
    ),
    (
        "rights to change the migrations",
        "select 'some'
         where has_table_privilege('manent_app', 'migration', 'insert, update, delete')",
    ),
];

const TABLES: [Rule; 7] = [
    (
        "tables without row-level security, or whose owner goes around it",
        "select relname::text
         from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
           -- Tokens cannot be compared behind a policy; what is found is shown by way of tables that have one.
           and relname not in ('migration', 'search_doc')
           and not (relrowsecurity and relforcerowsecurity)",
    ),
    (
        // Several policies are joined by `or`: a second one could only let more through.
        "tables that have not one policy for everything",
        "select relname::text
         from pg_class c
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
           and relname not in ('migration', 'search_doc')
           and (select array_agg(polcmd = '*' and polqual is not null and polwithcheck is not null)
                from pg_policy p
                where p.polrelid = c.oid) is distinct from array[true]",
    ),
    (
        "tables without a primary key",
        "select relname::text
         from pg_class c
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
           and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)",
    ),
    (
        "ordered indexes that do not begin with the tenant",
        "select i.indexrelid::regclass::text
         from pg_index i
         join pg_class c on c.oid = i.indrelid
         join pg_class x on x.oid = i.indexrelid
         join pg_am m on m.oid = x.relam and m.amname = 'btree'
         where c.relnamespace = 'public'::regnamespace and c.relname <> 'migration'
           and not exists (select from pg_attribute a
                           where a.attrelid = c.oid and a.attname = 'tenant' and a.attnum = i.indkey[0])",
    ),
    (
        "triggers",
        "select tgname::text
         from pg_trigger t
         join pg_class c on c.oid = t.tgrelid
         where c.relnamespace = 'public'::regnamespace and not tgisinternal",
    ),
    (
        "sequences, views and functions",
        "select relname::text
         from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('S', 'v', 'm', 'f')
         union all
         select proname::text
         from pg_proc
         where pronamespace = 'public'::regnamespace",
    ),
    (
        "columns that number themselves",
        "select attrelid::regclass || '.' || attname
         from pg_attribute a
         join pg_class c on c.oid = a.attrelid
         where c.relnamespace = 'public'::regnamespace and attidentity <> ''",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_role_of_the_store_owns_nothing_and_goes_around_nothing() {
    holds(&ROLE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_table_begins_with_its_tenant_and_guards_it() {
    holds(&TABLES).await;
}

async fn holds(rules: &[Rule]) {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    drop(open(url.clone(), 1, Duration::from_secs(10)));
    let client = owner(&url).await;
    for (what, sql) in rules {
        let rows = client.query(*sql, &[]).await.expect("the catalogue can be read");
        let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}
