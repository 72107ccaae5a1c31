-- What stands beside conversations: documents, memories, scratch, blobs, and where imported things came from.

create table document (
  -- A small versioned thing by kind and id; body null: deleted.
  tenant bigint not null,
  no bigint not null,
  project_no bigint,
  kind text collate "C" not null,
  id text collate "C" not null,
  version bigint not null,
  at bigint not null,
  withdrawn bigint not null default 0,
  body bytea,
  primary key (tenant, no),
  unique (tenant, kind, id, version),
  foreign key (tenant, project_no) references project (tenant, no) on delete set null (project_no)
);
create index document_project on document(tenant, project_no) where project_no is not null;

create table memory (
  -- A text to be remembered, tied to where it came from.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  collection_no bigint not null,
  project_no bigint,
  conversation_no bigint,
  key bigint,
  external text collate "C",
  withdrawn bigint not null default 0,
  body bytea not null,
  primary key (tenant, no),
  unique (tenant, id),
  foreign key (tenant, collection_no) references name (tenant, no) on delete restrict,
  foreign key (tenant, project_no) references project (tenant, no) on delete set null (project_no),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete set null (conversation_no)
);
create index memory_collection on memory(tenant, collection_no, project_no, no);
create index memory_external on memory(tenant, collection_no, external) where external is not null;
create index memory_project on memory(tenant, project_no) where project_no is not null;
create index memory_conversation on memory(tenant, conversation_no) where conversation_no is not null;
create index memory_key on memory(tenant, key) where key is not null;

create table vector (
  -- The vector of a memory by model; given: it came from outside and cannot be made again.
  tenant bigint not null,
  memory_no bigint not null,
  model_no bigint not null,
  given bigint not null,
  bytes bytea not null,
  primary key (tenant, memory_no, model_no),
  foreign key (tenant, memory_no) references memory (tenant, no) on delete cascade,
  foreign key (tenant, model_no) references name (tenant, no) on delete restrict
);
create index vector_model on vector(tenant, model_no);

create table scratch (
  -- Drafts, read marks, "current" pointers: overwritten, not journalled.
  tenant bigint not null,
  kind text collate "C" not null,
  id text collate "C" not null,
  actor text collate "C" not null,
  at bigint not null,
  body bytea not null,
  primary key (tenant, kind, id, actor)
);

create table blob (
  -- Bytes by their SHA-256; complete once every piece is there. codec: 0 plain, 1 zstd (each piece alone).
  tenant bigint not null,
  no bigint not null,
  sha256 bytea not null,
  size bigint not null,
  codec bigint not null,
  complete bigint not null,
  at bigint not null,
  primary key (tenant, no),
  unique (tenant, sha256)
);

create table blob_piece (
  tenant bigint not null,
  blob_no bigint not null,
  n bigint not null,
  bytes bytea not null,
  primary key (tenant, blob_no, n),
  foreign key (tenant, blob_no) references blob (tenant, no) on delete cascade
);

create table blob_use (
  -- Which message shows which blob.
  tenant bigint not null,
  blob_no bigint not null,
  key bigint not null,
  primary key (tenant, blob_no, key),
  foreign key (tenant, blob_no) references blob (tenant, no) on delete restrict
);
create index blob_use_key on blob_use(tenant, key);

create table source (
  -- An imported file: how it was written, so that it can be written back.
  tenant bigint not null,
  no bigint not null,
  id bytea not null,
  format text collate "C" not null,
  generation text collate "C" not null,
  path text collate "C" not null,
  sha256 text collate "C" not null,
  at bigint not null,
  withdrawn bigint not null default 0,
  style bytea not null,
  primary key (tenant, no),
  unique (tenant, id)
);

create table origin (
  -- What an imported object was in its own program; of everything but messages, which carry theirs.
  tenant bigint not null,
  no bigint not null,
  kind text collate "C" not null,
  object text collate "C" not null,
  source_no bigint not null,
  ordinal bigint not null,
  external text collate "C",
  withdrawn bigint not null default 0,
  raw bytea,
  primary key (tenant, no),
  unique (tenant, kind, object, source_no),
  foreign key (tenant, source_no) references source (tenant, no) on delete cascade
);
create index origin_external on origin(tenant, source_no, external);

create table quarantine (
  -- Bytes of a source that nobody could read.
  tenant bigint not null,
  no bigint not null,
  source_no bigint not null,
  at_byte bigint not null,
  why text collate "C" not null,
  withdrawn bigint not null default 0,
  bytes bytea not null,
  primary key (tenant, no),
  foreign key (tenant, source_no) references source (tenant, no) on delete cascade
);
create index quarantine_source on quarantine(tenant, source_no);
