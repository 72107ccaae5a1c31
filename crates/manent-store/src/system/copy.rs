//! Copies the rows of a system store to another one: into a backup and back, between any two engines.

use super::LINES_PAGE;
use crate::engine::sql::connection::{Connection, DbResult, Row, execute, for_each_row, next_page_start, query_one};
use crate::engine::sql::value::OwnedSqlValue;

/// A table with the statements that read and write it.
struct Table {
    read: &'static str,
    columns: usize,
    write: &'static str,
}

/// Tables in the order of their references. The audit log has no bound, so it is copied in batches of lines.
const TABLES: [Table; 4] = [
    Table {
        read: "select one, tenant_no, change, audit_no, audit_digest from system_head",
        columns: 5,
        write: "insert into system_head (one, tenant_no, change, audit_no, audit_digest) values ($1, $2, $3, $4, $5)",
    },
    Table {
        read: "select no, id, name, status, created_at, receipt from system_tenant order by no",
        columns: 6,
        write: "insert into system_tenant (no, id, name, status, created_at, receipt) values ($1, $2, $3, $4, $5, $6)",
    },
    Table {
        read: "select tenant_no, id, name, created_at from system_user order by tenant_no, id",
        columns: 4,
        write: "insert into system_user (tenant_no, id, name, created_at) values ($1, $2, $3, $4)",
    },
    Table {
        read: "select id, tenant_no, name, digest, scopes, user_id, projects, rate, created_at, expires_at, revoked_at,
               used_at, change
             from system_key
             order by id",
        columns: 13,
        write: "insert into system_key
               (id, tenant_no, name, digest, scopes, user_id, projects, rate, created_at, expires_at, revoked_at,
                used_at, change)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    },
];

const LINES: Table = Table {
    read: "select no, at, action, tenant_id, actor, key_id, by_user, about_user, salt, payload, sealed, digest
         from system_audit
         where no > $1
         order by no
         limit $2",
    columns: 12,
    write: "insert into system_audit
           (no, at, action, tenant_id, actor, key_id, by_user, about_user, salt, payload, sealed, digest)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
};

/// Says whether a store holds nothing but its initial rows.
pub(super) fn is_new(connection: Connection<'_>) -> DbResult<bool> {
    let sql = "select (select count(*) from system_tenant) + (select count(*) from system_user)
                + (select count(*) from system_key) + (select count(*) from system_audit)";
    query_one(connection, sql, (), |row| row.get::<i64>(0)).map(|rows| rows <= 1)
}

/// Copies all rows into a store that is new.
pub(super) fn copy(from: Connection<'_>, to: Connection<'_>) -> DbResult<()> {
    execute(to, "delete from system_tenant", ())?;
    execute(to, "delete from system_head", ())?;
    for table in &TABLES {
        for_each_row(from, table.read, (), |row| table.put(row, to).map(|()| true))?;
    }
    let mut after = 0i64;
    loop {
        let (first, mut last) = (after, after);
        for_each_row(from, LINES.read, (first, LINES_PAGE), |row| {
            last = row.get(0)?;
            LINES.put(row, to).map(|()| true)
        })?;
        // A read also reports failures of the pipelined writes before it.
        super::current_change(to)?;
        let Some(last) = next_page_start(first, Some(last)) else { return Ok(()) };
        after = last;
    }
}

impl Table {
    fn put(&self, row: &Row<'_>, to: Connection<'_>) -> DbResult<()> {
        let cells: DbResult<Vec<OwnedSqlValue>> = (0..self.columns).map(|place| row.get(place)).collect();
        execute(to, self.write, cells?)
    }
}
