-- Mark a request as not wanted any more: a claim then does not run it, its owner stops it.
-- ARGV    1 key, 2 who asks, 3 scope: any or waiting
-- RETURN  {state, pool, priority, owner, vm, token, since, ahead, submitter, when its next try is
--         due, the host it is assigned to} as it was; nil if Redis does not have it or the scope
--         forbids
-- REFUSE  -
-- MOVES   request claimed→cancelling, running→cancelling
-- REPEAT  the first to ask stays noted
local key = ARGV[1]
local found = place(key)
if not found or (ARGV[3] == 'waiting' and found[4] ~= '') then
  return nil
end
pass_when_full()
if redis.call('HSETNX', K.cancels, key, ARGV[2]) == 1 then
  event('cancel', ARGV[2], key)
end
if found[4] ~= '' then
  ring(K.notice(found[4]))
end
return found
