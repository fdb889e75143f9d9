-- Mark a request as cancelled: a claim then does not run it, its owner stops it.
-- ARGV    1 key, 2 who asks, 3 scope: any, waiting, or waiting in POOL
-- RETURN  {state, pool, priority, owner, vm, token, since, ahead, submitter, when its next try is
--         due, the host it is assigned to} as it was; nil if Redis does not have it or the scope
--         forbids
-- REFUSE  -
-- MOVES   request claimed→cancelling, running→cancelling
-- REPEAT  the first requester stays recorded
local key = ARGV[1]
local found = place(key)
local only = string.match(ARGV[3], '^waiting in (.*)$')
if not found or (ARGV[3] ~= 'any' and found[4] ~= '') or (only and base_of(found[2]) ~= only) then
  return nil
end
ask_stop(key, ARGV[2], found[4], 'cancel')
return found
