-- The index of a store: derived, beside the truth, and made anew whenever it is gone or does not fit.

create table search_cursor (
  -- How far the journal has been taken in.
  name text primary key,
  value blob not null
) strict, without rowid;

create table run (
  -- A table of words whose rows are numbered in the order of their times.
  slot integer primary key,
  -- The number of its last row.
  last integer not null,
  newest integer not null,
  -- No row is older than the newest before it by more than this.
  slack integer not null,
  -- The part of the list out of which it is being made.
  lot integer,
  -- It is made out of others, and not looked at before it is done.
  hidden integer not null,
  -- Another one is being made out of it.
  going integer not null
) strict;

create table doc (
  -- A row of words, by slot and number: what it stands for, and what it is sorted by.
  place integer primary key,
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

create table listed (
  -- What is to be put into a run of its own, in the order of its times.
  lot integer not null,
  at integer not null,
  arrival integer not null,
  key integer not null,
  primary key (lot, at, arrival, key)
) strict, without rowid;

-- What is known, but in no run that is looked at.
create view todo as
select at, arrival, key from listed where not exists (select 1 from run where run.lot = listed.lot and run.hidden = 1);

create table unsure (
  -- What was taken out for a deletion that may not have come to pass; that is known when the store has come to position.
  key integer primary key,
  position integer not null
) strict;

create table stat_conversation (
  -- How far the shown path of a conversation is counted, and the time of a question whose answer is not counted yet.
  conversation_no integer primary key,
  branch_no integer not null,
  key integer not null,
  asked_at integer
) strict;

create table stat_member (
  -- The scopes that include a conversation: the store (kind 0), its project (1), its tags (2).
  kind integer not null,
  no integer not null,
  conversation_no integer not null,
  primary key (kind, no, conversation_no)
) strict, without rowid;
create index stat_member_conversation on stat_member(conversation_no);

create table stat_cell (
  -- Tallies of the counted messages of a conversation by day, role and model (0: unknown).
  conversation_no integer not null,
  day integer not null,
  role_no integer not null,
  model_no integer not null,
  messages integer not null,
  words integer not null,
  tokens integer not null,
  timed integer not null,
  response_micros integer not null,
  primary key (conversation_no, day, role_no, model_no)
) strict, without rowid;

create table stat_total (
  -- The sums of the cells of all conversations of a scope.
  kind integer not null,
  no integer not null,
  day integer not null,
  role_no integer not null,
  model_no integer not null,
  messages integer not null,
  words integer not null,
  tokens integer not null,
  timed integer not null,
  response_micros integer not null,
  primary key (kind, no, day, role_no, model_no)
) strict, without rowid;

create table stat_active (
  -- How many conversations of a scope have messages on a day, and on no day between it and the previous one.
  kind integer not null,
  no integer not null,
  day integer not null,
  previous integer not null,
  conversations integer not null,
  primary key (kind, no, day, previous)
) strict, without rowid;
