-- Where things came from is asked by their ids in other programs, whatever the file.

create index origin_named on origin(external) where external is not null;
