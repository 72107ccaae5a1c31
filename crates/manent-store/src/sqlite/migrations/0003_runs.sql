-- Agent runs: tool calls with their trail, events, inputs, leases.

create table tool_call (
  -- Keyed by the part that asked; providers' ids repeat. open: no final state yet.
  key integer not null,
  part integer not null,
  conversation_no integer not null references conversation(no) on delete cascade,
  call_id text not null,
  name text not null,
  open integer not null,
  state integer not null,
  body blob not null,
  primary key (key, part)
) strict, without rowid;
create index tool_call_id on tool_call(conversation_no, call_id);
create index tool_call_open on tool_call(conversation_no, key) where open = 1;

create table tool_step (
  -- The audit trail of a tool call.
  no integer primary key,
  key integer not null,
  part integer not null,
  state integer not null,
  at integer not null,
  actor_no integer references author(no) on delete set null,
  withdrawn integer not null default 0,
  note text not null
) strict;
create index tool_step_call on tool_step(key, part);
create index tool_step_actor on tool_step(actor_no) where actor_no is not null;

create table event (
  -- The log of a run. key = conversation_no << 32 | cursor.
  key integer primary key,
  at integer not null,
  channel_no integer not null references name(no) on delete restrict,
  withdrawn integer not null default 0,
  body blob not null
) strict;
create index event_channel on event(channel_no, key);

create table input (
  -- What waits for a run; taken_pos: the commit that took it.
  no integer primary key,
  id blob not null unique,
  conversation_no integer not null references conversation(no) on delete cascade,
  at integer not null,
  taken_pos integer,
  withdrawn integer not null default 0,
  body blob not null
) strict;
create index input_conversation on input(conversation_no, no);

create table lease (
  -- Who owns a run. token grows with every owner and fences off the one before.
  conversation_no integer primary key references conversation(no) on delete cascade,
  owner text not null,
  token integer not null,
  until integer not null
) strict;
