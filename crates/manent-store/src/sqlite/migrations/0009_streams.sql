-- Open streams: which messages are still being written, and when their writer was last heard of.

create table stream (
  -- One row for each message with the status streaming. `bytes` is the size of what it says, as JSON.
  key integer primary key,
  renewed_at integer not null,
  bytes integer not null
) strict, without rowid;
create index stream_renewed on stream(renewed_at);
