//! Authors of rows other than messages: who set a state, queued an input or wrote a memory. Erasing a person finds
//! those rows by it.

use crate::engine::codec::before_image;
use crate::engine::codec::before_image::{BeforeImage, SoftDeletable};
use crate::engine::codec::disk_codes::Kind;
use crate::engine::sql::connection::{Connection, DbResult, execute, next_page_start, query_all};

/// How many rows of the journal are read at a time.
const PAGE: i64 = 500;

/// Back-fill of the authors of rows from before they were recorded: the journal knows them, unless an erasure emptied
/// it.
pub(crate) fn fill(connection: Connection<'_>) -> DbResult<()> {
    let sql = "select pos, actor_no, before
         from journal
         where pos > $1 and actor_no is not null and before is not null and kind in ($2, $3, $4)
         order by pos
         limit $5";
    let (state, input, memory) = (Kind::StateSet as i64, Kind::InputPut as i64, Kind::MemoryPut as i64);
    let mut after = 0;
    loop {
        let parameters = (after, state, input, memory, PAGE);
        let page: Vec<(i64, i64, Vec<u8>)> =
            query_all(connection, sql, parameters, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let Some(last) = next_page_start(after, page.last().map(|(last, ..)| *last)) else { return Ok(()) };
        after = last;
        for (_, actor_no, before) in page {
            for image in before_image::decode(&before).unwrap_or_default() {
                if let BeforeImage::Flag { table, key, .. } = image
                    && let Some(sql) = written_sql(table)
                {
                    execute(connection, sql, (actor_no, key))?;
                }
            }
        }
    }
}

fn written_sql(table: SoftDeletable) -> Option<&'static str> {
    match table {
        SoftDeletable::State => Some("update state set actor_no = $1 where no = $2"),
        SoftDeletable::Input => Some("update input set actor_no = $1 where no = $2"),
        SoftDeletable::Memory => Some("update memory set actor_no = $1 where no = $2"),
        _ => None,
    }
}
