-- Who wrote what is no message: whoever is erased takes it along.

alter table state add column actor_no integer references author(no) on delete set null;
create index state_actor on state(actor_no) where actor_no is not null;

alter table input add column actor_no integer references author(no) on delete set null;
create index input_actor on input(actor_no) where actor_no is not null;

-- Of a memory, who wrote what it says now; old values know theirs.
alter table memory add column actor_no integer references author(no) on delete set null;
create index memory_actor on memory(actor_no) where actor_no is not null;
