-- What is said about messages and kept along paths: notes, bookmarks, state, folds, model calls. Bodies are sealed.

create table note (
  -- Something said about a message: a rating, a pin, a label.
  no integer primary key,
  id blob not null unique,
  conversation_no integer not null references conversation(no) on delete cascade,
  key integer not null,
  kind text not null,
  actor_no integer references author(no) on delete set null,
  at integer not null,
  withdrawn integer not null default 0,
  body blob not null
) strict;
create index note_key on note(key);
create index note_conversation on note(conversation_no);
create index note_actor on note(actor_no) where actor_no is not null;

create table bookmark (
  -- A named place in a conversation.
  conversation_no integer not null references conversation(no) on delete cascade,
  name text not null,
  branch_no integer not null,
  key integer not null,
  at integer not null,
  body blob,
  primary key (conversation_no, name)
) strict, without rowid;

create table state (
  -- A named value set at a place; body null: unset there. The newest on a path holds.
  no integer primary key,
  conversation_no integer not null references conversation(no) on delete cascade,
  name_no integer not null references name(no) on delete restrict,
  key integer not null,
  at integer not null,
  withdrawn integer not null default 0,
  body blob
) strict;
create index state_at on state(key, name_no, no);
create index state_name on state(name_no);
create index state_conversation on state(conversation_no);

create table fold (
  -- A compaction that holds after key; ranges: the messages it covers.
  no integer primary key,
  id blob not null unique,
  conversation_no integer not null references conversation(no) on delete cascade,
  branch_no integer not null,
  key integer not null,
  kind integer not null,
  active integer not null,
  withdrawn integer not null default 0,
  parent blob,
  at integer not null,
  ranges blob not null,
  body blob not null
) strict;
create index fold_key on fold(key);
create index fold_conversation on fold(conversation_no);

create table model_call (
  -- One request to a model.
  no integer primary key,
  id blob not null unique,
  conversation_no integer not null references conversation(no) on delete cascade,
  branch_no integer not null,
  key integer not null,
  model_no integer references name(no) on delete set null,
  outcome integer not null,
  tokens_in integer,
  tokens_out integer,
  cost_micros integer,
  at integer not null,
  withdrawn integer not null default 0,
  ranges blob not null,
  body blob not null
) strict;
create index model_call_conversation on model_call(conversation_no, no);
create index model_call_model on model_call(model_no) where model_no is not null;
