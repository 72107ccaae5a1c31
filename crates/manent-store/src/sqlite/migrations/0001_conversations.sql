-- The ground: conversations, their branches, their messages, and the journal that orders every change.
-- key = branch_no << 24 | slot; no = local number, never used twice; id = 16 bytes, public. Times are microseconds since 1970 in UTC.

create table meta (
  -- What this file is: the digest key, when it was made.
  name text primary key,
  value blob not null
) strict, without rowid;

create table journal (
  -- The append-only order of all changes. A row owns the positions pos .. pos + count - 1; a commit is the rows with the same first.
  -- before: the old values, for undo (empty where erased); digest: the chain of the conversation up to this row.
  pos integer primary key,
  first integer not null,
  prev integer not null,
  count integer not null,
  at integer not null,
  kind integer not null,
  conversation_no integer,
  key integer,
  actor_no integer,
  undoes integer,
  before blob,
  digest blob not null
) strict;

create table request (
  -- Idempotency: what a key asked for and what was answered.
  key blob primary key,
  digest blob not null,
  answer blob not null,
  at integer not null
) strict, without rowid;
create index request_at on request(at);

create table name (
  -- Words that repeat: roles, models, tags, state names, channels, collections.
  no integer primary key,
  kind integer not null,
  value text not null,
  unique (kind, value)
) strict;

create table author (
  -- Who speaks. The same external id with another name is another row; erase empties both.
  no integer primary key,
  external_id text not null,
  name text not null,
  unique (external_id, name)
) strict;

create table project (
  no integer primary key autoincrement,
  id blob not null unique,
  kind text not null,
  name text not null,
  version integer not null,
  withdrawn integer not null default 0,
  body blob not null
) strict;

create table conversation (
  -- seal covers title, external_id and body; messages, words and tokens are of the path that ends at the head.
  -- listed_at: active_at without its seconds. The list is indexed by it, so that an append seldom moves an entry.
  no integer primary key autoincrement,
  id blob not null unique,
  external_id text,
  project_no integer references project(no) on delete set null,
  kind integer not null,
  status integer not null,
  withdrawn integer not null default 0,
  title text not null,
  pinned integer not null default 0,
  creator_no integer references author(no) on delete set null,
  created_at integer not null,
  active_at integer not null,
  listed_at integer not null,
  trashed_at integer,
  version integer not null,
  head_branch_no integer not null,
  head_key integer not null,
  messages integer not null default 0,
  words integer not null default 0,
  tokens integer not null default 0,
  event_cursor integer not null default 0,
  last_pos integer not null,
  digest blob not null,
  continued_from blob,
  forked_from blob,
  seal blob not null,
  body blob
) strict;
create unique index conversation_external on conversation(external_id) where external_id is not null;
create index conversation_list on conversation(pinned desc, listed_at desc);
create index conversation_project on conversation(project_no, active_at desc) where project_no is not null;
create index conversation_creator on conversation(creator_no) where creator_no is not null;

create table tag (
  name_no integer not null references name(no) on delete cascade,
  conversation_no integer not null references conversation(no) on delete cascade,
  primary key (name_no, conversation_no)
) strict, without rowid;
create index tag_conversation on tag(conversation_no);

create table branch (
  -- A branch follows its parent's path up to fork_key, then its pieces, then its own slots from open_from on.
  -- before_*: sums of everything before the open slots. None of this ever changes.
  no integer primary key autoincrement,
  id blob not null unique,
  conversation_no integer not null references conversation(no) on delete cascade,
  parent_no integer references branch(no) on delete restrict,
  fork_key integer not null,
  open_from integer not null,
  before_depth integer not null,
  before_visible integer not null,
  before_words integer not null,
  before_tokens integer not null,
  why integer not null
) strict;
create index branch_fork on branch(fork_key, conversation_no);
create index branch_parent on branch(parent_no) where parent_no is not null;
create index branch_conversation on branch(conversation_no);

create table piece (
  -- A run that a spliced branch takes by reference, with the sums of the path before it.
  branch_no integer not null references branch(no) on delete cascade,
  ordinal integer not null,
  from_key integer not null,
  to_key integer not null,
  before_depth integer not null,
  before_visible integer not null,
  before_words integer not null,
  before_tokens integer not null,
  primary key (branch_no, ordinal)
) strict, without rowid;
create index piece_from on piece(from_key);

create table message (
  -- What it says. facts: time, status, role and the like, with the digest of the content. *_sum: running sums inside
  -- the branch. Columns of their own have only what is searched by. raw: the source record, if imported.
  key integer primary key,
  id blob not null,
  arrival integer not null,
  visible_sum integer not null,
  words_sum integer not null,
  tokens_sum integer not null,
  author_no integer,
  reply_to blob,
  source_no integer,
  ordinal integer,
  external integer,
  raw blob,
  facts blob not null,
  body blob not null
) strict;
create unique index message_id on message(id);
create index message_reply on message(reply_to) where reply_to is not null;
create index message_author on message(author_no) where author_no is not null;
create index message_external on message(external) where external is not null;

create table chunk (
  -- Deltas of a message that is still streaming.
  key integer not null,
  n integer not null,
  body blob not null,
  primary key (key, n)
) strict, without rowid;
