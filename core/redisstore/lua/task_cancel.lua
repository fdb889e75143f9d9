-- Mark a task as not wanted any more: a claim then does not run it, its owner stops it.
-- ARGV    1 key, 2 who asks
-- RETURN  {state, owner, since, due, attempts, progress} as it was; nil if Redis does not have it
-- REFUSE  -
-- MOVES   task running→cancelling
-- REPEAT  the first to ask stays noted
local key = ARGV[1]
local found = task_place(key, taskrunners())
if not found then
  return nil
end
pass_when_full()
if redis.call('HSETNX', K.cancels, key, ARGV[2]) == 1 then
  event('cancel', ARGV[2], key)
end
if found[2] ~= '' then
  ring(K.notice(found[2]))
end
return found
