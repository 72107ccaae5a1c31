-- The rows of a small store as a program of schema 9 wrote them: one conversation named "old" with the messages "one" and
-- "two". Every older schema has these tables and columns. They go into a file whose tables are empty.
delete from meta;
insert into meta (name, value)
values ('beside', x'000000000000000000000000000000000000000000000000');
insert into meta (name, value)
values ('digest_key', x'50b2d9bfa052bbd7dbcea5566cc1e29e46fc206c7037164e886932a03d32db4a');
insert into name (no, kind, value)
values (1, 0, 'user');
insert into name (no, kind, value)
values (2, 0, 'assistant');
insert into conversation (no, id, external_id, project_no, kind, status, withdrawn, title, pinned, creator_no, created_at, active_at, listed_at, trashed_at, version, head_branch_no, head_key, messages, words, tokens, event_cursor, last_pos, digest, continued_from, forked_from, seal, body)
values (1, x'01a1ed5e747a10fc9a512987c5997fb6', null, null, 0, 0, 0, 'old', 0, null, 1794983752826190, 1794983752915622, 1794983700000000, null, 3, 1, 16777218, 2, 2, 0, 0, 3, x'8e6c39eb161ec6d970033f5b145aca1f', null, null, x'7b794c6ec5ae89c8', null);
insert into branch (no, id, conversation_no, parent_no, fork_key, open_from, before_depth, before_visible, before_words, before_tokens, why)
values (1, x'01a1ed5e747a10fc9a512987c5997fb7', 1, null, 0, 1, 0, 0, 0, 0, 0);
insert into message (key, id, arrival, visible_sum, words_sum, tokens_sum, author_no, reply_to, source_no, ordinal, external, raw, facts, body)
values (16777217, x'01a1ed5e74b44edf83678d5c1ad132f5', 2, 1, 1, 0, null, null, null, null, null, null, x'010081e2f73887600600010000000000017eadb1353687026f160a24f3683880200000', x'5b7b2274797065223a2274657874222c2274657874223a226f6e65227d5d');
insert into message (key, id, arrival, visible_sum, words_sum, tokens_sum, author_no, reply_to, source_no, ordinal, external, raw, facts, body)
values (16777218, x'01a1ed5e74d351db24bd555e8bf6b201', 3, 2, 2, 0, null, null, null, null, null, null, x'01008c5af83887600600020000000000015f6b4f5bf7e08196da539bdf6c4096170000', x'5b7b2274797065223a2274657874222c2274657874223a2274776f227d5d');
insert into journal (pos, first, prev, count, at, kind, conversation_no, key, actor_no, undoes, before, digest)
values (1, 1, 0, 1, 1794983752826190, 1, 1, null, null, null, x'010101000201', x'f33f759e70b13f925f447c256336fc8c');
insert into journal (pos, first, prev, count, at, kind, conversation_no, key, actor_no, undoes, before, digest)
values (2, 2, 1, 1, 1794983752884941, 3, 1, 16777217, null, null, x'0101000202009cf5b78fe7a1b006', x'77afe2a757dc7c38e21441e4bfd8f68b');
insert into journal (pos, first, prev, count, at, kind, conversation_no, key, actor_no, undoes, before, digest)
values (3, 3, 2, 1, 1794983752915622, 3, 1, 16777218, null, null, x'0101000202828080109a8bbf8fe7a1b006', x'8e6c39eb161ec6d970033f5b145aca1f');
