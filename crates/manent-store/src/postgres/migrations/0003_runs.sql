-- Agent runs: tool calls with their trail, events, inputs, leases.

create table tool_call (
  -- Keyed by the part that asked; providers' ids repeat. open: no final state yet.
  tenant bigint not null,
  key bigint not null,
  part bigint not null,
  conversation_no bigint not null,
  call_id text collate "C" not null,
  name text collate "C" not null,
  open bigint not null,
  state bigint not null,
  body bytea not null,
  primary key (tenant, key, part),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade
);
create index tool_call_id on tool_call(tenant, conversation_no, call_id);
create index tool_call_open on tool_call(tenant, conversation_no, key) where open = 1;

create table tool_step (
  -- The audit trail of a tool call.
  tenant bigint not null,
  no bigint not null,
  key bigint not null,
  part bigint not null,
  state bigint not null,
  at bigint not null,
  actor_no bigint,
  withdrawn bigint not null default 0,
  note text collate "C" not null,
  primary key (tenant, no),
  foreign key (tenant, actor_no) references author (tenant, no) on delete set null (actor_no)
);
create index tool_step_call on tool_step(tenant, key, part);
create index tool_step_actor on tool_step(tenant, actor_no) where actor_no is not null;

create table event (
  -- The log of a run. key = conversation_no << 32 | cursor.
  tenant bigint not null,
  key bigint not null,
  at bigint not null,
  channel_no bigint not null,
  withdrawn bigint not null default 0,
  body bytea not null,
  primary key (tenant, key),
  foreign key (tenant, channel_no) references name (tenant, no) on delete restrict
);
create index event_channel on event(tenant, channel_no, key);

create table input (
  -- What waits for a run; taken_pos: the commit that took it.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  conversation_no bigint not null,
  at bigint not null,
  taken_pos bigint,
  withdrawn bigint not null default 0,
  body bytea not null,
  primary key (tenant, no),
  unique (tenant, id),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade
);
create index input_conversation on input(tenant, conversation_no, no);

create table lease (
  -- Who owns a run. token grows with every owner and fences off the one before.
  tenant bigint not null,
  conversation_no bigint not null,
  owner text collate "C" not null,
  token bigint not null,
  until bigint not null,
  primary key (tenant, conversation_no),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade
);
