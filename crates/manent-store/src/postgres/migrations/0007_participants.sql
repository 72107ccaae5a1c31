-- Whose conversations are whose: people are limited to their own, and ask for them.

create table participant (
  -- Who made a conversation or takes part in it, by external id: what the conversation says, kept so that it is found by it.
  tenant bigint not null,
  person text collate "C" not null,
  conversation_no bigint not null,
  made bigint not null,
  takes_part bigint not null,
  primary key (tenant, person, conversation_no),
  foreign key (tenant, conversation_no) references conversation (tenant, no) on delete cascade
);
create index participant_conversation on participant(tenant, conversation_no);
