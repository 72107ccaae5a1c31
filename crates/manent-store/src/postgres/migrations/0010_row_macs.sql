-- MACs over the columns of a row, so that `verify` finds a row that another program changed. They are filled by code.

alter table name add column mac bytea;
alter table author add column mac bytea;
alter table project add column mac bytea;
-- Covers the columns that edits change, the tags and the bookmarks; head_mac covers the columns that every commit changes.
alter table conversation add column mac bytea;
alter table conversation add column head_mac bytea;
-- Covers the pieces of the branch as well.
alter table branch add column mac bytea;
-- Covers where an imported message came from: source_no, ordinal, external, raw. The digest in facts covers the rest.
alter table message add column mac bytea;
alter table note add column mac bytea;
alter table state add column mac bytea;
alter table fold add column mac bytea;
alter table model_call add column mac bytea;
alter table tool_call add column mac bytea;
alter table tool_step add column mac bytea;
alter table event add column mac bytea;
alter table input add column mac bytea;
alter table document add column mac bytea;
alter table memory add column mac bytea;
alter table blob add column mac bytea;
alter table source add column mac bytea;
alter table origin add column mac bytea;
alter table quarantine add column mac bytea;
