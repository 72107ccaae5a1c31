-- Open streams: which messages are still being written, and when their writer was last heard of.

create table stream (
  -- One row for each message with the status streaming. `bytes` is the size of what it says, as JSON.
  tenant bigint not null,
  key bigint not null,
  renewed_at bigint not null,
  bytes bigint not null,
  primary key (tenant, key)
);
create index stream_renewed on stream(tenant, renewed_at);
