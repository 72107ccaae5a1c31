-- Who may do what on a server: tenants, their users and keys, and the log of what was done with them.
-- Times are microseconds since 1970 in UTC; ids are 16 bytes.

create table system_head (
  -- One row: the number of the last tenant, how often a tenant, a user or a key has changed, and the end of the log.
  one bigint primary key check (one = 1),
  tenant_no bigint not null,
  change bigint not null,
  audit_no bigint not null,
  audit_digest bytea not null
);

create table system_tenant (
  -- no: the tenant's number on a server of PostgreSQL; never used twice. receipt: what its erasure removed.
  no bigint primary key,
  id bytea not null unique,
  name text collate "C" not null,
  status bigint not null,
  created_at bigint not null,
  receipt text collate "C"
);
create unique index system_tenant_name on system_tenant(name) where name <> '';

create table system_user (
  -- Somebody within a tenant, by the id that the tenant's own system gave them.
  tenant_no bigint not null references system_tenant(no) on delete cascade,
  id text collate "C" not null,
  name text collate "C" not null,
  created_at bigint not null,
  primary key (tenant_no, id)
);

create table system_key (
  -- digest: of the secret, which is nowhere. projects: a JSON list of ids. change: when it last changed, in the counting of the head.
  id bytea primary key,
  tenant_no bigint not null references system_tenant(no) on delete cascade,
  name text collate "C" not null,
  digest bytea not null,
  scopes bigint not null,
  user_id text collate "C",
  projects text collate "C",
  rate bigint,
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint,
  used_at bigint,
  change bigint not null
);
create index system_key_tenant on system_key(tenant_no, id);
create index system_key_change on system_key(change);
create index system_key_user on system_key(tenant_no, user_id) where user_id is not null;

create table system_audit (
  -- Append-only. digest: the chain up to this row. sealed: the digest of the payload with its salt, which stays when payload and
  -- salt are erased. by_user, about_user: the users that the payload names, so that it can be found and erased.
  no bigint primary key,
  at bigint not null,
  action text collate "C" not null,
  tenant_id bytea,
  actor bigint not null,
  key_id bytea,
  by_user text collate "C",
  about_user text collate "C",
  salt bytea,
  payload text collate "C",
  sealed bytea not null,
  digest bytea not null
);
create index system_audit_tenant on system_audit(tenant_id, no);
create index system_audit_by on system_audit(tenant_id, by_user) where by_user is not null;
create index system_audit_about on system_audit(tenant_id, about_user) where about_user is not null;
