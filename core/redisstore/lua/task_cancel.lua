-- Mark a task as cancelled: a claim then does not run it, its owner stops it.
-- ARGV    1 key, 2 who asks
-- RETURN  {state, owner, since, due, attempts, done, total, text} as it was; nil if Redis does not have it
-- REFUSE  -
-- MOVES   task running→cancelling
-- REPEAT  the first requester stays recorded
local key = ARGV[1]
local found = task_place(key)
if not found then
  return nil
end
ask_stop(key, ARGV[2], found[2], 'cancel task')
return found
