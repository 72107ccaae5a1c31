-- The ground: conversations, their branches, their messages, and the journal that orders every change.
-- key = branch_no << 24 | slot; no = local number, never used twice; id = 16 bytes, public. Times are microseconds since 1970 in UTC.

create table meta (
  -- What this file is: the digest key, when it was made.
  tenant bigint not null,
  name text collate "C" not null,
  value bytea not null,
  primary key (tenant, name)
);

create table counter (
  -- The next number of each table, and the next position of the journal. Whoever writes for a tenant holds the row of the
  -- journal, so commits of a tenant follow each other and positions are in the order of commits.
  tenant bigint not null,
  name text collate "C" not null,
  next bigint not null,
  primary key (tenant, name)
);

create table journal (
  -- The append-only order of all changes. A row owns the positions pos .. pos + count - 1; a commit is the rows with the same first.
  -- before: the old values, for undo (empty where erased); digest: the chain of the conversation up to this row.
  tenant bigint not null,
  pos bigint not null,
  first bigint not null,
  prev bigint not null,
  count bigint not null,
  at bigint not null,
  kind bigint not null,
  conversation_no bigint,
  key bigint,
  actor_no bigint,
  undoes bigint,
  before bytea,
  digest bytea not null,
  primary key (tenant, pos)
);

create table request (
  -- Idempotency: what a key asked for and what was answered.
  tenant bigint not null,
  key bytea not null,
  digest bytea not null,
  answer bytea not null,
  at bigint not null,
  primary key (tenant, key)
);
create index request_at on request(tenant, at);

create table name (
  -- Words that repeat: roles, models, tags, state names, channels, collections.
  tenant bigint not null,
  no bigint not null,
  kind bigint not null,
  value text collate "C" not null,
  primary key (tenant, no),
  unique (tenant, kind, value)
);

create table author (
  -- Who speaks. The same external id with another name is another row; erase empties both.
  tenant bigint not null,
  no bigint not null,
  external_id text collate "C" not null,
  name text collate "C" not null,
  primary key (tenant, no),
  unique (tenant, external_id, name)
);

create table project (
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  version bigint not null,
  withdrawn bigint not null default 0,
  body bytea not null,
  primary key (tenant, no),
  unique (tenant, id)
);

create table conversation (
  -- seal covers title, external_id and body; messages, words and tokens are of the path that ends at the head.
  -- listed_at: active_at without its seconds. The lists are indexed by it, so that an append seldom moves an entry; with room
  -- in its page, a row is then replaced without touching any index.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  external_id text collate "C",
  project_no bigint,
  kind bigint not null,
  status bigint not null,
  withdrawn bigint not null default 0,
  title text collate "C" not null,
  pinned bigint not null default 0,
  creator_no bigint,
  created_at bigint not null,
  active_at bigint not null,
  listed_at bigint not null,
  trashed_at bigint,
  version bigint not null,
  head_branch_no bigint not null,
  head_key bigint not null,
  messages bigint not null default 0,
  words bigint not null default 0,
  tokens bigint not null default 0,
  event_cursor bigint not null default 0,
  last_pos bigint not null,
  digest bytea not null,
  continued_from bytea,
  forked_from bytea,
  seal bytea not null,
  body bytea,
  primary key (tenant, no),
  unique (tenant, id),
  foreign key (tenant, project_no) references project (tenant, no) on delete set null (project_no),
  foreign key (tenant, creator_no) references author (tenant, no) on delete set null (creator_no)
) with (fillfactor = 80);
create unique index conversation_external on conversation(tenant, external_id) where external_id is not null;
create index conversation_list on conversation(tenant, pinned desc, listed_at desc);
create index conversation_project on conversation(tenant, project_no, listed_at desc) where project_no is not null;
create index conversation_creator on conversation(tenant, creator_no) where creator_no is not null;

create table tag (
  tenant bigint not null,
  name_no bigint not null,
  conversation_no bigint not null,
  primary key (tenant, name_no, conversation_no),
  foreign key (tenant, name_no) references name (tenant, no) on delete cascade,
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade
);
create index tag_conversation on tag(tenant, conversation_no);

create table branch (
  -- A branch follows its parent's path up to fork_key, then its pieces, then its own slots from open_from on.
  -- before_*: sums of everything before the open slots. None of this ever changes.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  conversation_no bigint not null,
  parent_no bigint,
  fork_key bigint not null,
  open_from bigint not null,
  before_depth bigint not null,
  before_visible bigint not null,
  before_words bigint not null,
  before_tokens bigint not null,
  why bigint not null,
  primary key (tenant, no),
  unique (tenant, id),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade,
  foreign key (tenant, parent_no) references branch (tenant, no) on delete restrict
);
create index branch_fork on branch(tenant, fork_key, conversation_no);
create index branch_parent on branch(tenant, parent_no) where parent_no is not null;
create index branch_conversation on branch(tenant, conversation_no);

create table piece (
  -- A run that a spliced branch takes by reference, with the sums of the path before it.
  tenant bigint not null,
  branch_no bigint not null,
  ordinal bigint not null,
  from_key bigint not null,
  to_key bigint not null,
  before_depth bigint not null,
  before_visible bigint not null,
  before_words bigint not null,
  before_tokens bigint not null,
  primary key (tenant, branch_no, ordinal),
  foreign key (tenant, branch_no) references branch (tenant, no) on delete cascade
);
create index piece_from on piece(tenant, from_key);

create table message (
  -- What it says. facts: time, status, role and the like, with the digest of the content. *_sum: running sums inside
  -- the branch. Columns of their own have only what is searched by. raw: the source record, if imported.
  tenant bigint not null,
  key bigint not null,
  id bytea not null,
  arrival bigint not null,
  visible_sum bigint not null,
  words_sum bigint not null,
  tokens_sum bigint not null,
  author_no bigint,
  reply_to bytea,
  source_no bigint,
  ordinal bigint,
  external bigint,
  raw bytea,
  facts bytea not null,
  body bytea not null,
  primary key (tenant, key)
);
create unique index message_id on message(tenant, id);
create index message_reply on message(tenant, reply_to) where reply_to is not null;
create index message_author on message(tenant, author_no) where author_no is not null;
create index message_external on message(tenant, external) where external is not null;

create table chunk (
  -- Deltas of a message that is still streaming.
  tenant bigint not null,
  key bigint not null,
  n bigint not null,
  body bytea not null,
  primary key (tenant, key, n)
);
