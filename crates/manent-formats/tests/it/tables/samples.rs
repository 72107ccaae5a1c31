//! Sample files: as designed, and damaged.

use crate::sqlite::file;
use manent_formats::apps::tables::{Dialect, Projects, statements};

/// The eight statements of the design.
pub fn design() -> String {
    statements(Dialect::Sqlite, Projects::Named).concat()
}

/// A conversation in a line, one whose times are mixed, one that is a tree, and one in the trash.
pub fn draft() -> Vec<u8> {
    file(&format!(
        "{}
        insert into conversation values ('line', '小说', 'sequential', 'active', '2026-01-01 08:00:00', '{{\"name\": \"写作\", \"n\": 1.50}}');
        insert into conversation values ('mixed', '小说', 'sequential', 'archived', '2026-01-02 08:00:00', null);
        insert into conversation values ('tree', null, 'tree', 'active', '2026-01-03 08:00:00', '[1]');
        insert into conversation values ('gone', '', 'sequential', 'deleted', '2026-01-04 08:00:00', '{{}}');
        insert into message values ('l2', 'l1', '2026-01-01 08:00:02', 'line', 'bot', '你好！', null);
        insert into message values ('l1', null, '2026-01-01 08:00:01', 'line', 'user', '\"quoted\"', '{{\"k\":[1, 2]}}');
        insert into message values ('m1', null, '2026-01-02T17:00:00.000001', 'mixed', 'user', 'first', null);
        insert into message values ('m2', null, '2026-01-02 09:00:00', 'mixed', 'bot', 'second', null);
        insert into message values ('q1', null, '2026-01-03 08:00:01', 'tree', 'user', '问题', null);
        insert into message values ('a1', 'q1', '2026-01-03 08:00:02', 'tree', 'bot', '回答', null);
        insert into message values ('a1b', 'a1', '2026-01-03 08:00:03', 'tree', 'bot', '再答', null);
        insert into message values ('q2', 'q1', '2026-01-03 08:00:04', 'tree', 'user', '改过的问题', null);
        insert into message values ('a2', 'q2', '2026-01-03 08:00:05', 'tree', 'bot', '新的回答', null);
        insert into message values ('q3', 'a2', '2026-01-03 08:00:06', 'tree', 'user', '还有', null);
        insert into message values ('g1', null, '2026-01-04 08:00:01', 'gone', 'system', '', null);",
        design()
    ))
}

/// Everything that the tables may have beside what they should.
pub fn odd() -> Vec<u8> {
    file(
        "pragma page_size = 1024;
        pragma encoding = 'UTF-16be';
        pragma user_version = 7;
        pragma application_id = -5;
        create table CONVERSATION (Conversation_ID text primary key, project, brand text, sequence text, status text,
            created_at datetime, latest_message_id text, metadata text, \"extra \"\"column\" blob default (1 + 1),
            twice integer generated always as (brand || brand) virtual);
        create table Message (message_id text primary key, conversation_id text, role text, text text,
            parent_message_id text, timestamp datetime, metadata text, score real) ;
        create table settings (id integer primary key autoincrement, value);
        create table pairs (one text primary key, two) without rowid;
        create table project (project_id text primary key, name text, created_at datetime, metadata text);
        create view shown as select * from message;
        create unique index idx_odd on message (message_id, role) where role is not null;
        insert into project values ('p', '小说', null, '{\"k\":1}');
        insert into settings values (3, 'x'), (9, x'00ff'), (10, 1e300), (11, null);
        insert into pairs values ('a', 1), ('b', 2.5);
        insert into conversation (rowid, conversation_id, project, brand, sequence, status, created_at, latest_message_id, metadata)
            values (40, 'c', 'p', 'dify', 'circular', 'frozen', 1767225600, 'm', '{\"title\":\"t\",\"tags\":\"a, b\"}');
        insert into message (rowid, message_id, conversation_id, role, text, parent_message_id, timestamp, metadata, score)
            values (17, 'm', 'c', 'user', x'00ff', '', '2026-01-01T00:00:00.000002', 'no json', 0.1);
        create trigger greedy after insert on message begin delete from conversation; end;",
    )
}
