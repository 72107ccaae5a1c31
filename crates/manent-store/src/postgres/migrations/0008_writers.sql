-- Who wrote what is no message: whoever is erased takes it along.

alter table state add column actor_no bigint;
alter table state add foreign key (tenant, actor_no) references author (tenant, no) on delete set null (actor_no);
create index state_actor on state(tenant, actor_no) where actor_no is not null;

alter table input add column actor_no bigint;
alter table input add foreign key (tenant, actor_no) references author (tenant, no) on delete set null (actor_no);
create index input_actor on input(tenant, actor_no) where actor_no is not null;

-- Of a memory, who wrote what it says now; old values know theirs.
alter table memory add column actor_no bigint;
alter table memory add foreign key (tenant, actor_no) references author (tenant, no) on delete set null (actor_no);
create index memory_actor on memory(tenant, actor_no) where actor_no is not null;
