-- What stands beside conversations: documents, memories, scratch, blobs, and where imported things came from.

create table document (
  -- A small versioned thing by kind and id; body null: deleted.
  no integer primary key,
  project_no integer references project(no) on delete set null,
  kind text not null,
  id text not null,
  version integer not null,
  at integer not null,
  withdrawn integer not null default 0,
  body blob,
  unique (kind, id, version)
) strict;
create index document_project on document(project_no) where project_no is not null;

create table memory (
  -- A text to be remembered, tied to where it came from.
  no integer primary key,
  id blob not null unique,
  collection_no integer not null references name(no) on delete restrict,
  project_no integer references project(no) on delete set null,
  conversation_no integer references conversation(no) on delete set null,
  key integer,
  external text,
  withdrawn integer not null default 0,
  body blob not null
) strict;
create index memory_collection on memory(collection_no, project_no, no);
create index memory_external on memory(collection_no, external) where external is not null;
create index memory_project on memory(project_no) where project_no is not null;
create index memory_conversation on memory(conversation_no) where conversation_no is not null;
create index memory_key on memory(key) where key is not null;

create table vector (
  -- The vector of a memory by model; given: it came from outside and cannot be made again.
  memory_no integer not null references memory(no) on delete cascade,
  model_no integer not null references name(no) on delete restrict,
  given integer not null,
  bytes blob not null,
  primary key (memory_no, model_no)
) strict, without rowid;
create index vector_model on vector(model_no);

create table scratch (
  -- Drafts, read marks, "current" pointers: overwritten, not journalled.
  kind text not null,
  id text not null,
  actor text not null,
  at integer not null,
  body blob not null,
  primary key (kind, id, actor)
) strict, without rowid;

create table blob (
  -- Bytes by their SHA-256; complete once every piece is there. codec: 0 plain, 1 zstd (each piece alone).
  no integer primary key,
  sha256 blob not null unique,
  size integer not null,
  codec integer not null,
  complete integer not null,
  at integer not null
) strict;

create table blob_piece (
  blob_no integer not null references blob(no) on delete cascade,
  n integer not null,
  bytes blob not null,
  primary key (blob_no, n)
) strict;

create table blob_use (
  -- Which message shows which blob.
  blob_no integer not null references blob(no) on delete restrict,
  key integer not null,
  primary key (blob_no, key)
) strict, without rowid;
create index blob_use_key on blob_use(key);

create table source (
  -- An imported file: how it was written, so that it can be written back.
  no integer primary key,
  id blob not null unique,
  format text not null,
  generation text not null,
  path text not null,
  sha256 text not null,
  at integer not null,
  withdrawn integer not null default 0,
  style blob not null
) strict;

create table origin (
  -- What an imported object was in its own program; of everything but messages, which carry theirs.
  no integer primary key,
  kind text not null,
  object text not null,
  source_no integer not null references source(no) on delete cascade,
  ordinal integer not null,
  external text,
  withdrawn integer not null default 0,
  raw blob,
  unique (kind, object, source_no)
) strict;
create index origin_external on origin(source_no, external);

create table quarantine (
  -- Bytes of a source that nobody could read.
  no integer primary key,
  source_no integer not null references source(no) on delete cascade,
  at_byte integer not null,
  why text not null,
  withdrawn integer not null default 0,
  bytes blob not null
) strict;
create index quarantine_source on quarantine(source_no);
