create virtual table wordSLOT using fts5(
  tokens, content = '', detail = none, columnsize = 0,
  tokenize = "ascii tokenchars '!""#$%&''''()*+,-./:;<=>?@[\]^_`{|}~'"
);
insert into wordSLOT(wordSLOT, rank) values ('secure-delete', 1);
insert into wordSLOT(wordSLOT, rank) values ('hashsize', 8388608);
insert into wordSLOT(wordSLOT, rank) values ('pgsz', 4000);
