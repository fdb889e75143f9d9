-- Return where a request is.
-- ARGV    1 key
-- RETURN  {state, pool, priority, owner, vm, token, since, ahead, submitter, when its next try is
--         due, the host it is assigned to, attempts}, or nil
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local found = place(ARGV[1])
if found then
  found[12] = redis.call('HGET', K.attempts, ARGV[1]) or '0'
end
return found
