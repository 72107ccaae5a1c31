-- Who may do what on a server: tenants, their users and keys, and the log of what was done with them.
-- Times are microseconds since 1970 in UTC; ids are 16 bytes.

create table system_head (
  -- One row: the number of the last tenant, how often a tenant, a user or a key has changed, and the end of the log.
  one integer primary key check (one = 1),
  tenant_no integer not null,
  change integer not null,
  audit_no integer not null,
  audit_digest blob not null
) strict;

create table system_tenant (
  -- no: the tenant's number on a server of PostgreSQL; never used twice. receipt: what its erasure removed.
  no integer primary key,
  id blob not null unique,
  name text not null,
  status integer not null,
  created_at integer not null,
  receipt text
) strict;
create unique index system_tenant_name on system_tenant(name) where name <> '';

create table system_user (
  -- Somebody within a tenant, by the id that the tenant's own system gave them.
  tenant_no integer not null references system_tenant(no) on delete cascade,
  id text not null,
  name text not null,
  created_at integer not null,
  primary key (tenant_no, id)
) strict, without rowid;

create table system_key (
  -- digest: of the secret, which is nowhere. projects: a JSON list of ids. change: when it last changed, in the counting of the head.
  id blob primary key,
  tenant_no integer not null references system_tenant(no) on delete cascade,
  name text not null,
  digest blob not null,
  scopes integer not null,
  user_id text,
  projects text,
  rate integer,
  created_at integer not null,
  expires_at integer,
  revoked_at integer,
  used_at integer,
  change integer not null
) strict, without rowid;
create index system_key_tenant on system_key(tenant_no, id);
create index system_key_change on system_key(change);
create index system_key_user on system_key(tenant_no, user_id) where user_id is not null;

create table system_audit (
  -- Append-only. digest: the chain up to this row. sealed: the digest of the payload with its salt, which stays when payload and
  -- salt are erased. by_user, about_user: the users that the payload names, so that it can be found and erased.
  no integer primary key,
  at integer not null,
  action text not null,
  tenant_id blob,
  actor integer not null,
  key_id blob,
  by_user text,
  about_user text,
  salt blob,
  payload text,
  sealed blob not null,
  digest blob not null
) strict;
create index system_audit_tenant on system_audit(tenant_id, no);
create index system_audit_by on system_audit(tenant_id, by_user) where by_user is not null;
create index system_audit_about on system_audit(tenant_id, about_user) where about_user is not null;
