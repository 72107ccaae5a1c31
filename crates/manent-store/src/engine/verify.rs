//! Verify: walks digests and chains and says what is not as it was written.

use super::apply::library::blob_digest;
use super::cache::Caches;
use super::codes::{Kind, STATUS_PURGED};
use super::connection::{Connection, begin_reading, end_reading, further, maybe, one, rows};
use super::facts::MessageFacts;
use super::fault::{Fault, Outcome};
use super::participant;
use super::prepare::streaming_digest;
use super::read::message::{MessageRow, in_ranges, message_of};
use super::read::{Reading, attached, conversation, library};
use super::store::EVERYTHING;
use super::tx::{beside, chain_next};
use crate::error::{Result, StoreError};
use crate::image;
use crate::maintenance::{VerifyProblem, VerifyReport};
use crate::query::{ConversationRef, DocumentsQuery, EventsQuery, MemoriesQuery, PAGE_MAX, ScratchQuery};
use manent_model::{Address, ConversationId, Digest, DigestKey, MessageId, Range, Stats};

/// More problems than this say nothing new.
const PROBLEMS_MAX: usize = 100;

/// Which index belongs to what is verified.
#[derive(Clone, Copy)]
pub(crate) enum Indexes<'a> {
    /// None.
    No,
    /// The tables of a server.
    OfServer,
    /// A file that cannot be opened.
    Unreadable,
    /// A file beside the file.
    Beside(&'a rusqlite::Connection),
}

struct Verifier<'a> {
    connection: Connection<'a>,
    caches: Caches,
    key: DigestKey,
    report: VerifyReport,
}

/// Verifies whatever a connection shows: a live store with its index, or a restored backup, which has none.
pub(crate) fn verify(connection: Connection<'_>, index: Indexes<'_>) -> Result<VerifyReport> {
    let secret = || {
        begin_reading(connection)?;
        let secret = one(connection, "select value from meta where name = 'digest_key'", (), |row| row.get(0));
        end_reading(connection);
        secret
    };
    let key = DigestKey::new(secret().map_err(|error| error.said("verifying"))?);
    let mut verifier = Verifier { connection, caches: Caches::default(), key, report: VerifyReport::default() };
    verifier.file();
    verifier.conversations()?;
    verifier.beside()?;
    verifier.strays()?;
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
    /// Everything that one check sees is of one moment, so that a commit in between is not taken for damage.
    fn check(&mut self, what: &str, check: impl FnOnce(&mut Self) -> Outcome<()>) {
        let outcome = begin_reading(self.connection).map_err(Fault::from).and_then(|()| check(self));
        end_reading(self.connection);
        if let Err(fault) = outcome {
            let problem = match fault.said("verifying") {
                StoreError::Altered { what, id } => VerifyProblem::Beside { what: format!("{what} {id}") },
                error => VerifyProblem::File { what: format!("{what}: {}", chain_of(&error)) },
            };
            self.problem(problem);
        }
    }

    fn file(&mut self) {
        // A server looks after its own files.
        let Connection::Sqlite(_) = self.connection else { return };
        self.check("integrity", |this| {
            let found: Vec<String> = rows(this.connection, "pragma integrity_check(20)", (), |row| row.get(0))?;
            for what in found.into_iter().filter(|line| line != "ok") {
                this.problem(VerifyProblem::File { what });
            }
            let broken: Vec<String> = rows(this.connection, "pragma foreign_key_check", (), |row| row.get(0))?;
            for table in broken {
                this.problem(VerifyProblem::File { what: format!("a row of {table} refers to nothing") });
            }
            Ok(())
        });
    }

    /// Compares the index, which is checked in pages of its own.
    fn index(&mut self, index: Indexes<'_>) {
        let index = match index {
            Indexes::No => return,
            Indexes::Unreadable => {
                return self.problem(VerifyProblem::Index { what: "it cannot be opened".to_owned() });
            }
            Indexes::OfServer => None,
            Indexes::Beside(index) => Some(index),
        };
        let mut reading = Reading { connection: self.connection, caches: &mut self.caches, key: &self.key, index };
        match super::search::check::check(&mut reading) {
            Ok(checked) => {
                self.report.indexed = checked.rows;
                for what in checked.wrong {
                    self.problem(VerifyProblem::Index { what });
                }
            }
            Err(fault) => {
                let what = chain_of(&fault.said("checking the index"));
                self.problem(VerifyProblem::Index { what });
            }
        }
    }

    fn conversations(&mut self) -> Result<()> {
        let mut after = 0;
        loop {
            let sql = "select no from conversation where no > $1 order by no limit 100";
            let page =
                begin_reading(self.connection).and_then(|()| rows(self.connection, sql, [after], |row| row.get(0)));
            end_reading(self.connection);
            let page: Vec<i64> = page.map_err(|error| error.said("verifying"))?;
            let Some(last) = page.last() else { return Ok(()) };
            let Some(next) = further(after, Some(*last)) else {
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
                self.check("conversation", |this| this.participants(no));
                self.check("conversation", |this| match this.row(no)? {
                    Some((_, STATUS_PURGED, ..)) | None => Ok(()),
                    Some((id, _, last_pos, _, true)) => this.withdrawn(id, last_pos),
                    Some((id, ..)) => this.shown(id),
                });
            }
        }
    }

    /// Reads what is checked of a conversation: id, status, last position, digest of its chain, whether it is withdrawn.
    fn row(&self, no: i64) -> Outcome<Option<(ConversationId, i64, i64, Digest, bool)>> {
        let sql = "select id, status, last_pos, digest, withdrawn from conversation where no = $1";
        Ok(maybe(self.connection, sql, [no], |row| {
            let id = ConversationId::from_bytes(row.get(0)?);
            Ok((id, row.get(1)?, row.get(2)?, Digest(row.get(3)?), row.get(4)?))
        })?)
    }

    /// Compares the people that a conversation names with those that it is found by.
    fn participants(&mut self, no: i64) -> Outcome<()> {
        let Some((id, ..)) = self.row(no)? else { return Ok(()) };
        match participant::named(self.connection, no)? {
            Some(people) if participant::stored(self.connection, no)? != people => {
                Err(StoreError::altered("the participants of", id).into())
            }
            // What cannot be read is told by whoever reads it.
            _ => Ok(()),
        }
    }

    /// Walks the journal of a conversation from its start and recomputes what each row says was added.
    fn chain(&mut self, no: i64, id: ConversationId, status: i64, last_pos: i64, expected: Digest) -> Outcome<()> {
        let mut positions = Vec::new();
        let mut at = last_pos;
        while at > 0 {
            positions.push(at);
            let prev = maybe(self.connection, "select prev from journal where pos = $1", [at], |row| row.get(0))?;
            match prev {
                Some(prev) if prev < at => at = prev,
                _ => {
                    self.problem(VerifyProblem::Chain { conversation: Some(id), position: at });
                    return Ok(());
                }
            }
        }
        let mut chain = Digest::default();
        for position in positions.into_iter().rev() {
            let broken = VerifyProblem::Chain { conversation: Some(id), position };
            let sql = "select kind, key, count, before, digest, conversation_no from journal where pos = $1";
            type Row = (i64, Option<i64>, i64, Option<Vec<u8>>, [u8; 16], Option<i64>);
            let (kind, key, count, before, stored, owner): Row = one(self.connection, sql, [position], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            })?;
            let Some(kind) = Kind::of(kind).filter(|_| owner == Some(no)) else {
                self.problem(broken);
                return Ok(());
            };
            let payload = match key {
                Some(key) if kind.adds_messages() => self.added(id, status, position, Address(key), count)?,
                Some(key) if kind == Kind::MessageFinished => self.finished(id, status, Address(key), position)?,
                _ => Some(image::digest(&self.key, before.as_deref())),
            };
            // The messages of a purged conversation are gone; the chain is then taken as it is written.
            let next = payload.map_or(Digest(stored), |payload| chain_next(&self.key, chain, position, kind, payload));
            if next.0 != stored {
                self.problem(broken);
            }
            // Going on from what is stored names the next broken place as well.
            chain = Digest(stored);
            self.report.journal += 1;
        }
        if chain != expected {
            self.problem(VerifyProblem::Chain { conversation: Some(id), position: last_pos });
        }
        Ok(())
    }

    /// Only an undo hides a conversation, and nothing but an erasure can happen to it after that.
    fn withdrawn(&mut self, id: ConversationId, last_pos: i64) -> Outcome<()> {
        let sql = "select kind from journal where pos = $1";
        let kind = maybe(self.connection, sql, [last_pos], |row| row.get(0))?.and_then(Kind::of);
        if !matches!(kind, Some(Kind::Undone | Kind::Redone | Kind::Erased)) {
            self.problem(VerifyProblem::Chain { conversation: Some(id), position: last_pos });
        }
        Ok(())
    }

    /// Recomputes what stands for appended messages in the chain; `None` if they were purged or already complained of.
    fn added(
        &mut self,
        id: ConversationId,
        status: i64,
        position: i64,
        first: Address,
        count: i64,
    ) -> Outcome<Option<Digest>> {
        let range = Range { from: first, to: Address(first.0 + count - 1) };
        let found = in_ranges(self.connection, &[range], count as usize)?;
        let mut digests = Vec::new();
        let mut sound = true;
        let mut expected_key = first.0;
        for row in &found {
            if row.key != expected_key || row.arrival != position + (row.key - first.0) {
                break;
            }
            expected_key += 1;
        }
        if expected_key != range.to.0 + 1 {
            if status != STATUS_PURGED {
                let lost = position + (expected_key - first.0);
                self.problem(VerifyProblem::Lost { conversation: Some(id), position: lost });
            }
            // What other paths still reach was kept, and is looked at like any other message.
            for row in found {
                self.content(id, row)?;
            }
            return Ok(None);
        }
        for row in found {
            let standing = match MessageFacts::decode(&row.facts) {
                Some(facts) if facts.flags.streamed => Some(streaming_digest(&self.key, MessageId::from_bytes(row.id))),
                facts => facts.and_then(|facts| facts.digest),
            };
            match standing {
                Some(digest) => digests.extend_from_slice(&digest.0),
                None => sound = false,
            }
            sound &= self.content(id, row)?;
        }
        Ok(sound.then(|| self.key.digest(&[b"added", &digests])))
    }

    fn finished(
        &mut self,
        id: ConversationId,
        status: i64,
        address: Address,
        position: i64,
    ) -> Outcome<Option<Digest>> {
        let sql = "select facts from message where key = $1";
        let found: Option<Vec<u8>> = maybe(self.connection, sql, [address.0], |row| row.get(0))?;
        match found.as_deref().map(MessageFacts::decode) {
            Some(Some(MessageFacts { digest: Some(digest), .. })) => Ok(Some(self.key.digest(&[b"added", &digest.0]))),
            // Reading its content will say what is wrong with it.
            Some(None) => Ok(None),
            None if status == STATUS_PURGED => Ok(None),
            _ => {
                self.problem(VerifyProblem::Lost { conversation: Some(id), position });
                Ok(None)
            }
        }
    }

    /// Compares one message with its digest.
    fn content(&mut self, conversation: ConversationId, row: MessageRow) -> Outcome<bool> {
        let (id, arrival) = (MessageId::from_bytes(row.id), row.arrival);
        match message_of(self.connection, &mut self.caches, &self.key, row) {
            Ok(message) if message.erased => self.report.erased += 1,
            Ok(_) => self.report.messages += 1,
            Err(Fault::Refused(_)) => {
                self.problem(VerifyProblem::Altered {
                    conversation: Some(conversation),
                    message: Some(id),
                    position: arrival,
                });
                return Ok(false);
            }
            Err(fault) => return Err(fault),
        }
        Ok(true)
    }

    fn reading<T>(&mut self, read: impl FnOnce(&mut Reading<'_>) -> Outcome<T>) -> Outcome<T> {
        let mut reading =
            Reading { connection: self.connection, caches: &mut self.caches, key: &self.key, index: None };
        read(&mut reading)
    }

    /// Reads everything that a conversation shows; a broken seal is found by reading.
    fn shown(&mut self, id: ConversationId) -> Outcome<()> {
        self.reading(|reading| conversation::one(reading, &ConversationRef::Id(id)))?;
        self.reading(|reading| attached::attached(reading, id))?;
        self.reading(|reading| crate::engine::read::path::branches(reading, id))?;
        self.path(id)?;
        let mut after = 0;
        loop {
            let query = EventsQuery { conversation: id, channels: Vec::new(), after, limit: PAGE_MAX };
            let events = self.reading(|reading| attached::events(reading, &query))?;
            let Some(last) = events.last() else { return Ok(()) };
            after = further(after, Some(last.cursor)).ok_or_else(|| StoreError::altered("event", last.cursor))?;
        }
    }

    /// Walks the shown path and compares what it holds with what the conversation says it does.
    fn path(&mut self, id: ConversationId) -> Outcome<()> {
        let shown = self.reading(|reading| conversation::one(reading, &ConversationRef::Id(id)))?;
        let mut stats = Stats::default();
        self.reading(|reading| crate::engine::read::stats::add_conversation(reading, id, &mut stats))?;
        let counted = (stats.total.messages, stats.total.words, stats.total.tokens);
        match shown {
            Some(shown) if (shown.messages, shown.words, shown.tokens) != counted => {
                Err(StoreError::altered("the head of", id).into())
            }
            _ => Ok(()),
        }
    }

    fn beside(&mut self) -> Result<()> {
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
        self.check("journal", Self::beside_chain);
        Ok(())
    }

    fn blobs(&mut self) -> Outcome<()> {
        let sql = "select no, sha256 from blob where complete = 1 order by no";
        let found: Vec<(i64, [u8; 32])> = rows(self.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (no, sha256) in found {
            let sound = match blob_digest(self.connection, no) {
                Ok((found, _)) => found == sha256,
                Err(Fault::Refused(_)) => false,
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

    /// Walks the chain of what belongs to no conversation, newest first; each row knows the one before it.
    fn beside_chain(&mut self) -> Outcome<()> {
        let (mut at, mut expected) = beside(self.connection)?;
        while at > 0 {
            let sql = "select kind, before, digest, prev from journal where pos = $1 and conversation_no is null";
            type Row = (i64, Option<Vec<u8>>, [u8; 16], i64);
            let found: Option<Row> =
                maybe(self.connection, sql, [at], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
            let broken = VerifyProblem::Chain { conversation: None, position: at };
            let Some((kind, before, digest, prev)) = found.filter(|(_, _, _, prev)| *prev < at) else {
                self.problem(broken);
                return Ok(());
            };
            let sql = "select digest from journal where pos = $1";
            let earlier: Option<[u8; 16]> = match prev {
                0 => Some([0; 16]),
                prev => maybe(self.connection, sql, [prev], |row| row.get(0))?,
            };
            let sound = match (Kind::of(kind), earlier) {
                (Some(kind), Some(earlier)) => {
                    let payload = image::digest(&self.key, before.as_deref());
                    chain_next(&self.key, Digest(earlier), at, kind, payload).0 == digest && digest == expected.0
                }
                _ => false,
            };
            if !sound {
                self.problem(broken);
                return Ok(());
            }
            self.report.journal += 1;
            at = prev;
            expected = Digest(earlier.unwrap_or_default());
        }
        Ok(())
    }

    /// A message that no journal row added was written by somebody else, or twice.
    fn strays(&mut self) -> Result<()> {
        self.check("messages", |this| {
            let sql = "select m.id, c.id
                 from message m
                 left join journal j on j.pos = (select max(k.pos) from journal k where k.pos <= m.arrival)
                 left join branch b on b.no = m.key >> 24
                 left join conversation c on c.no = b.conversation_no
                 where j.pos is null or b.no is null or j.conversation_no <> b.conversation_no
                    or m.key <> j.key + (m.arrival - j.pos) or m.arrival >= j.pos + j.count
                 limit 20";
            let found: Vec<([u8; 16], Option<[u8; 16]>)> =
                rows(this.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
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
