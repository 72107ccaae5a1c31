-- MACs over the columns of a row, so that `verify` finds a row that another program changed. They are filled by code.

alter table name add column mac blob;
alter table author add column mac blob;
alter table project add column mac blob;
-- Covers the columns that edits change, the tags and the bookmarks; head_mac covers the columns that every commit changes.
alter table conversation add column mac blob;
alter table conversation add column head_mac blob;
-- Covers the pieces of the branch as well.
alter table branch add column mac blob;
-- Covers where an imported message came from: source_no, ordinal, external, raw. The digest in facts covers the rest.
alter table message add column mac blob;
alter table note add column mac blob;
alter table state add column mac blob;
alter table fold add column mac blob;
alter table model_call add column mac blob;
alter table tool_call add column mac blob;
alter table tool_step add column mac blob;
alter table event add column mac blob;
alter table input add column mac blob;
alter table document add column mac blob;
alter table memory add column mac blob;
alter table blob add column mac blob;
alter table source add column mac blob;
alter table origin add column mac blob;
alter table quarantine add column mac blob;
