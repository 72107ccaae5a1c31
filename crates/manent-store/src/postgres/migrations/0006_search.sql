-- The index: which words a text has. It can be made again from the rest, and no backup holds it.

create table search_cursor (
  -- How far the journal has been taken in; whoever indexes holds the row.
  tenant bigint not null,
  name text collate "C" not null,
  value bytea not null,
  primary key (tenant, name)
);

create table search_doc (
  -- key: what it stands for; part of parts: a text of very many words has several rows. Tokens have no places and no weights.
  -- No policy: comparing tokens is not leakproof, so a policy would keep the index of tokens from being used. Every statement
  -- names the tenant, and what is found is shown only by way of message, conversation and fold, which have one.
  tenant bigint not null,
  key bigint not null,
  part bigint not null,
  parts bigint not null,
  at bigint not null,
  arrival bigint not null,
  tokens tsvector not null,
  primary key (tenant, key, part)
);
create index search_doc_tokens on search_doc using gin (tokens);
create index search_doc_time on search_doc(tenant, at, arrival, key);
