-- Sums of statistics: part of the index, made again from the rest, and in no backup.

create table stat_conversation (
  -- How far the shown path of a conversation is counted, and the time of a question whose answer is not counted yet.
  tenant bigint not null,
  conversation_no bigint not null,
  branch_no bigint not null,
  key bigint not null,
  asked_at bigint,
  primary key (tenant, conversation_no)
);

create table stat_member (
  -- The scopes that include a conversation: the store (kind 0), its project (1), its tags (2).
  tenant bigint not null,
  kind bigint not null,
  no bigint not null,
  conversation_no bigint not null,
  primary key (tenant, kind, no, conversation_no)
);
create index stat_member_conversation on stat_member(tenant, conversation_no);

create table stat_cell (
  -- Tallies of the counted messages of a conversation by day, role and model (0: unknown).
  tenant bigint not null,
  conversation_no bigint not null,
  day bigint not null,
  role_no bigint not null,
  model_no bigint not null,
  messages bigint not null,
  words bigint not null,
  tokens bigint not null,
  timed bigint not null,
  response_micros bigint not null,
  primary key (tenant, conversation_no, day, role_no, model_no)
);
create index stat_cell_day on stat_cell(tenant, day, conversation_no);

create table stat_total (
  -- The sums of the cells of all conversations of a scope.
  tenant bigint not null,
  kind bigint not null,
  no bigint not null,
  day bigint not null,
  role_no bigint not null,
  model_no bigint not null,
  messages bigint not null,
  words bigint not null,
  tokens bigint not null,
  timed bigint not null,
  response_micros bigint not null,
  primary key (tenant, kind, no, day, role_no, model_no)
);
