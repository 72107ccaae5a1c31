-- Whose conversations are whose: people are limited to their own, and ask for them.

create table participant (
  -- Who made a conversation or takes part in it, by external id: what the conversation says, kept so that it is found by it.
  person text not null,
  conversation_no integer not null references conversation(no) on delete cascade,
  made integer not null,
  takes_part integer not null,
  primary key (person, conversation_no)
) strict, without rowid;
create index participant_conversation on participant(conversation_no);
