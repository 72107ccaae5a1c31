//! Verify: checks every row against its digest or its MAC and against the journal, and reports every difference.
//!
//! Not covered are rows that no export contains: leases, drafts and marks (`scratch`), answers to requests, and the
//! last renewal time of streams. In reading order: the driver (here), the journal and the messages it added
//! ([`journal`]), the rows of all other tables ([`rows`]).

mod journal;
mod rows;

use super::access::access_filter::EVERYTHING;
use super::apply::library::blob_digest;
use super::read::{Reading, annotations, conversation, library};
use super::statistics;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::{VerifyProblem, VerifyReport};
use crate::api::query::{
    AnnotationsQuery, ConversationRef, DocumentsQuery, EventsQuery, MemoriesQuery, PAGE_MAX, ScratchQuery,
};
use crate::api::transaction::Position;
use crate::engine::codec::disk_codes::{Kind, STATUS_PURGED};
use crate::engine::commit::participants;
use crate::engine::commit::row_cache::RowCache;
use crate::engine::commit::tx::covered_from;
use crate::engine::sql::connection::{
    Connection, EngineError, begin_reading, end_reading, next_page_start, query_all as query, query_one, query_optional,
};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::{ConversationId, Digest, DigestKey, MessageId};

/// More problems than this say nothing new.
const PROBLEMS_MAX: usize = 100;

/// The index of the verified store.
#[derive(Clone, Copy)]
pub(crate) enum IndexLocation<'a> {
    /// None.
    None,
    /// The tables of a server.
    Server,
    /// A file that cannot be opened.
    Unreadable,
    /// A file beside the file.
    File(&'a rusqlite::Connection),
}

struct Verifier<'a> {
    connection: Connection<'a>,
    caches: RowCache,
    key: DigestKey,
    /// The first position whose digest covers every column of the journal.
    covered_from: Position,
    report: VerifyReport,
}

/// Verifies the store of a connection: a live store with its index, or a restored backup, which has none.
pub(crate) fn verify(connection: Connection<'_>, index: IndexLocation<'_>) -> Result<VerifyReport> {
    let read_meta = || {
        begin_reading(connection)?;
        let secret = query_one(connection, "select value from meta where name = 'digest_key'", (), |row| row.get(0));
        let covered_from = covered_from(connection);
        end_reading(connection);
        Ok((secret?, covered_from?))
    };
    let (secret, covered_from) = read_meta().map_err(|error: EngineError| error.into_store_error("verifying"))?;
    let key = DigestKey::new(secret);
    let report = VerifyReport::default();
    let mut verifier = Verifier { connection, caches: RowCache::default(), key, covered_from, report };
    verifier.file();
    verifier.conversations()?;
    verifier.workspace_objects()?;
    verifier.orphans()?;
    verifier.row_macs();
    verifier.index(index);
    Ok(verifier.report)
}

impl Verifier<'_> {
    fn problem(&mut self, problem: VerifyProblem) {
        if self.report.problems.len() < PROBLEMS_MAX {
            self.report.problems.push(problem);
        }
    }

    /// Runs a check; damage that keeps it from running is a problem like any other.
    ///
    /// A check reads one snapshot, so that a commit in between is not taken for damage.
    fn check(&mut self, what: &str, check: impl FnOnce(&mut Self) -> TxResult<()>) {
        let outcome = begin_reading(self.connection).map_err(TxError::from).and_then(|()| check(self));
        end_reading(self.connection);
        if let Err(fault) = outcome {
            let problem = match fault.into_store_error("verifying") {
                StoreError::Altered { what, id } => VerifyProblem::Beside { what: format!("{what} {id}") },
                error => VerifyProblem::File { what: format!("{what}: {}", chain_of(&error)) },
            };
            self.problem(problem);
        }
    }

    fn file(&mut self) {
        // A server checks its own files.
        let Connection::Sqlite(_) = self.connection else { return };
        self.check("integrity", |this| {
            let found: Vec<String> = query(this.connection, "pragma integrity_check(20)", (), |row| row.get(0))?;
            for what in found.into_iter().filter(|line| line != "ok") {
                this.problem(VerifyProblem::File { what });
            }
            let broken: Vec<String> = query(this.connection, "pragma foreign_key_check", (), |row| row.get(0))?;
            for table in broken {
                this.problem(VerifyProblem::File { what: format!("a row of {table} refers to nothing") });
            }
            Ok(())
        });
    }

    /// Compares the index, which is checked in pages of its own.
    fn index(&mut self, index: IndexLocation<'_>) {
        let index = match index {
            IndexLocation::None => return,
            IndexLocation::Unreadable => {
                return self.problem(VerifyProblem::Index { what: "it cannot be opened".to_owned() });
            }
            IndexLocation::Server => None,
            IndexLocation::File(index) => Some(index),
        };
        let mut reading =
            Reading { connection: self.connection, caches: &mut self.caches, key: &self.key, index, damaged: None };
        match super::search::check::check(&mut reading) {
            Ok(checked) => {
                self.report.indexed = checked.rows;
                for what in checked.wrong {
                    self.problem(VerifyProblem::Index { what });
                }
            }
            Err(fault) => {
                let what = chain_of(&fault.into_store_error("checking the index"));
                self.problem(VerifyProblem::Index { what });
            }
        }
    }

    fn conversations(&mut self) -> Result<()> {
        let mut after = 0;
        loop {
            let sql = "select no from conversation where no > $1 order by no limit 100";
            let page =
                begin_reading(self.connection).and_then(|()| query(self.connection, sql, [after], |row| row.get(0)));
            end_reading(self.connection);
            let page: Vec<i64> = page.map_err(|error| error.into_store_error("verifying"))?;
            let Some(last) = page.last() else { return Ok(()) };
            let Some(next) = next_page_start(after, Some(*last)) else {
                self.problem(VerifyProblem::File { what: "rows of conversation are out of order".to_owned() });
                return Ok(());
            };
            after = next;
            for no in page {
                self.check("conversation", |this| match this.row(no)? {
                    Some((id, status, last_pos, digest, _)) => {
                        this.report.conversations += 1;
                        this.chain(no, id, status, last_pos, digest)
                    }
                    None => Ok(()),
                });
                self.check("conversation", |this| this.head(no));
                self.check("conversation", |this| this.participants(no));
                self.check("conversation", |this| match this.row(no)? {
                    Some((_, STATUS_PURGED, ..)) | None => Ok(()),
                    Some((id, _, last_pos, _, true)) => this.withdrawn(id, last_pos),
                    Some((id, ..)) => this.shown(id),
                });
            }
        }
    }

    /// Reads the checked columns of a conversation: id, status, last position, digest of its chain, whether it is
    /// withdrawn.
    fn row(&self, no: i64) -> TxResult<Option<(ConversationId, i64, i64, Digest, bool)>> {
        let sql = "select id, status, last_pos, digest, withdrawn from conversation where no = $1";
        Ok(query_optional(self.connection, sql, [no], |row| {
            let id = ConversationId::from_bytes(row.get(0)?);
            Ok((id, row.get(1)?, row.get(2)?, Digest(row.get(3)?), row.get(4)?))
        })?)
    }

    /// Compares the people that a conversation names with those that it is found by.
    fn participants(&mut self, no: i64) -> TxResult<()> {
        let Some((id, ..)) = self.row(no)? else { return Ok(()) };
        match participants::named(self.connection, no)? {
            Some(people) if participants::stored(self.connection, no)? != people => {
                Err(StoreError::altered("the participants of", id).into())
            }
            // The read of the row reports content that cannot be read.
            _ => Ok(()),
        }
    }

    /// Only an undo hides a conversation, and nothing but an erasure can happen to it after that.
    fn withdrawn(&mut self, id: ConversationId, last_pos: i64) -> TxResult<()> {
        let sql = "select kind from journal where pos = $1";
        let kind = query_optional(self.connection, sql, [last_pos], |row| row.get(0))?.and_then(Kind::of);
        if !matches!(kind, Some(Kind::Undone | Kind::Redone | Kind::Erased)) {
            self.problem(VerifyProblem::Chain { conversation: Some(id), position: last_pos });
        }
        Ok(())
    }

    fn reading<T>(&mut self, read: impl FnOnce(&mut Reading<'_>) -> TxResult<T>) -> TxResult<T> {
        let mut reading = Reading {
            connection: self.connection,
            caches: &mut self.caches,
            key: &self.key,
            index: None,
            damaged: None,
        };
        read(&mut reading)
    }

    /// Reads everything that a conversation shows; a broken seal is found by reading.
    fn shown(&mut self, id: ConversationId) -> TxResult<()> {
        self.reading(|reading| conversation::one(reading, &ConversationRef::Id(id)))?;
        let mut query = Some(AnnotationsQuery::from(id));
        while let Some(page) = query {
            let next = self.reading(|reading| annotations::annotations(reading, &page))?.next;
            query = next.map(|next| AnnotationsQuery { after: Some(next), ..page });
        }
        self.reading(|reading| crate::engine::read::path::branches(reading, id))?;
        self.path(id)?;
        let mut after = 0;
        loop {
            let query = EventsQuery { conversation: id, channels: Vec::new(), after, limit: PAGE_MAX };
            let events = self.reading(|reading| annotations::events(reading, &query))?;
            let Some(last) = events.last() else { return Ok(()) };
            after =
                next_page_start(after, Some(last.cursor)).ok_or_else(|| StoreError::altered("event", last.cursor))?;
        }
    }

    /// Walks the shown path and compares its sums with the columns of the conversation.
    fn path(&mut self, id: ConversationId) -> TxResult<()> {
        let shown = self.reading(|reading| conversation::one(reading, &ConversationRef::Id(id)))?;
        let stats = self.reading(|reading| statistics::count_messages(reading, id))?;
        let counted = (stats.total.messages, stats.total.words, stats.total.tokens);
        match shown {
            Some(shown) if (shown.messages, shown.words, shown.tokens) != counted => {
                Err(StoreError::altered("the head of", id).into())
            }
            _ => Ok(()),
        }
    }

    fn workspace_objects(&mut self) -> Result<()> {
        self.check("projects", |this| this.reading(|reading| library::projects(reading, &EVERYTHING)).map(drop));
        self.check("documents", |this| {
            this.reading(|reading| library::documents(reading, &EVERYTHING, &DocumentsQuery::All)).map(drop)
        });
        self.check("memories", |this| {
            let mut query = MemoriesQuery { limit: PAGE_MAX, ..MemoriesQuery::default() };
            loop {
                let page = this.reading(|reading| library::memories(reading, &EVERYTHING, &query))?;
                match page.last() {
                    Some(last) => query.after = Some(last.id),
                    None => return Ok(()),
                }
            }
        });
        self.check("scratch", |this| {
            this.reading(|reading| library::scratch(reading, &EVERYTHING, &ScratchQuery::default())).map(drop)
        });
        self.check("sources", |this| this.reading(library::sources).map(drop));
        self.check("blobs", Self::blobs);
        self.check("journal", Self::workspace_chain);
        Ok(())
    }

    fn blobs(&mut self) -> TxResult<()> {
        let sql = "select no, sha256 from blob where complete = 1 order by no";
        let found: Vec<(i64, [u8; 32])> = query(self.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (no, sha256) in found {
            let sound = match blob_digest(self.connection, no) {
                Ok((found, _)) => found == sha256,
                Err(TxError::Rejected(_)) => false,
                Err(fault) => return Err(fault),
            };
            match sound {
                true => self.report.blobs += 1,
                false => {
                    let what = format!("blob {}", manent_model::hex::encode(&sha256));
                    self.problem(VerifyProblem::Beside { what });
                }
            }
        }
        Ok(())
    }

    /// A message that no journal row added was written by another program, or twice.
    fn orphans(&mut self) -> Result<()> {
        self.check("messages", |this| {
            let sql = "select m.id, c.id
                 from message m
                 left join journal j on j.pos = (select max(k.pos) from journal k where k.pos <= m.arrival)
                 left join branch b on b.no = m.key >> 24
                 left join conversation c on c.no = b.conversation_no
                 where j.pos is null or b.no is null or c.no is null or j.conversation_no <> b.conversation_no
                    or m.key <> j.key + (m.arrival - j.pos) or m.arrival >= j.pos + j.count
                 limit 20";
            let found: Vec<([u8; 16], Option<[u8; 16]>)> =
                query(this.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (message, conversation) in found {
                this.problem(VerifyProblem::Doubled {
                    conversation: conversation.map(ConversationId::from_bytes),
                    message: Some(MessageId::from_bytes(message)),
                });
            }
            Ok(())
        });
        Ok(())
    }
}

fn chain_of(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
