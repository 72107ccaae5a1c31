-- The index of a store: derived, beside the truth, and made anew whenever it is gone or does not fit.

create table search_cursor (
  -- How far the journal has been taken in.
  name text primary key,
  value blob not null
) strict, without rowid;

create table run (
  -- Rows of doc whose numbers grow with their times; none is older than the newest before it by more than slack.
  first integer primary key,
  last integer not null,
  newest integer not null,
  slack integer not null
) strict;

create table doc (
  -- A row of word: what it stands for, and what it is sorted by.
  no integer primary key,
  key integer not null,
  at integer not null,
  arrival integer not null
) strict;
create index doc_key on doc(key);

create table kept (
  -- Tokens of what changes: a conversation's name. Those of a message are worked out again when it goes.
  key integer primary key,
  tokens text not null
) strict;

create table todo (
  -- Messages that are known, but not indexed yet, in the order of their times.
  at integer not null,
  arrival integer not null,
  key integer not null,
  primary key (at, arrival, key)
) strict, without rowid;

create table unsure (
  -- What was taken out for a deletion that may not have come to pass; that is known when the store has come to position.
  key integer primary key,
  position integer not null
) strict;

create virtual table word using fts5(
  tokens, content = '', detail = none, columnsize = 0,
  tokenize = "ascii tokenchars '!""#$%&''''()*+,-./:;<=>?@[\]^_`{|}~'"
);
insert into word(word, rank) values ('secure-delete', 1);
insert into word(word, rank) values ('hashsize', 8388608);
insert into word(word, rank) values ('pgsz', 4000);
