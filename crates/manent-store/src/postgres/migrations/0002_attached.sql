-- What is said about messages and kept along paths: notes, bookmarks, state, folds, model calls. Bodies are sealed.

create table note (
  -- Something said about a message: a rating, a pin, a label.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  conversation_no bigint not null,
  key bigint not null,
  kind text collate "C" not null,
  actor_no bigint,
  at bigint not null,
  withdrawn bigint not null default 0,
  body bytea not null,
  primary key (tenant, no),
  unique (tenant, id),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade,
  foreign key (tenant, actor_no) references author (tenant, no) on delete set null (actor_no)
);
create index note_key on note(tenant, key);
create index note_conversation on note(tenant, conversation_no);
create index note_actor on note(tenant, actor_no) where actor_no is not null;

create table bookmark (
  -- A named place in a conversation.
  tenant bigint not null,
  conversation_no bigint not null,
  name text collate "C" not null,
  branch_no bigint not null,
  key bigint not null,
  at bigint not null,
  body bytea,
  primary key (tenant, conversation_no, name),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade
);

create table state (
  -- A named value set at a place; body null: unset there. The newest on a path holds.
  tenant bigint not null,
  no bigint not null,
  conversation_no bigint not null,
  name_no bigint not null,
  key bigint not null,
  at bigint not null,
  withdrawn bigint not null default 0,
  body bytea,
  primary key (tenant, no),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade,
  foreign key (tenant, name_no) references name (tenant, no) on delete restrict
);
create index state_at on state(tenant, key, name_no, no);
create index state_name on state(tenant, name_no);
create index state_conversation on state(tenant, conversation_no);

create table fold (
  -- A compaction that holds after key; ranges: the messages it covers.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  conversation_no bigint not null,
  branch_no bigint not null,
  key bigint not null,
  kind bigint not null,
  active bigint not null,
  withdrawn bigint not null default 0,
  parent bytea,
  at bigint not null,
  ranges bytea not null,
  body bytea not null,
  primary key (tenant, no),
  unique (tenant, id),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade
);
create index fold_key on fold(tenant, key);
create index fold_conversation on fold(tenant, conversation_no);

create table model_call (
  -- One request to a model.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  conversation_no bigint not null,
  branch_no bigint not null,
  key bigint not null,
  model_no bigint,
  outcome bigint not null,
  tokens_in bigint,
  tokens_out bigint,
  cost_micros bigint,
  at bigint not null,
  withdrawn bigint not null default 0,
  ranges bytea not null,
  body bytea not null,
  primary key (tenant, no),
  unique (tenant, id),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade,
  foreign key (tenant, model_no) references name (tenant, no) on delete set null (model_no)
);
create index model_call_conversation on model_call(tenant, conversation_no, no);
create index model_call_model on model_call(tenant, model_no) where model_no is not null;
