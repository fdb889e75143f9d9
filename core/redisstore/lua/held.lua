-- Tell what an owner holds.
-- ARGV    1 owner
-- RETURN  key, slot, attempts, who cancelled, pool, owners that died with it, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
return left(ARGV[1])
