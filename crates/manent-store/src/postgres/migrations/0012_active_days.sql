-- Active days of statistics. The sums are derived: they are emptied, and the index is filled again from the journal.

create table stat_active (
  -- How many conversations of a scope have messages on a day, and on no day between it and the previous one.
  tenant bigint not null,
  kind bigint not null,
  no bigint not null,
  day bigint not null,
  previous bigint not null,
  conversations bigint not null,
  primary key (tenant, kind, no, day, previous)
);
drop index stat_cell_day;
truncate stat_conversation, stat_member, stat_cell, stat_total, search_cursor;
