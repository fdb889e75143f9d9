-- Return what an owner holds, in the given epoch or in its current one.
-- ARGV    1 owner, 2 epoch, 0: any
-- RETURN  key, slot, attempts, who cancelled, pool, deaths that it met, the change that it runs
--         with, ...
-- REFUSE  FENCED
-- MOVES   -
-- REPEAT  reads only
if ARGV[2] ~= '0' and redis.call('HGET', K.owner(ARGV[1]), 'epoch') ~= ARGV[2] then
  return fail('FENCED', ARGV[1])
end
return left(ARGV[1])
