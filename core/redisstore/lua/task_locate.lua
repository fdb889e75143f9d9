-- Return where tasks are. Scans the taskrunners, so it is only for calls on behalf of people.
-- ARGV    1 key, and perhaps others
-- RETURN  {state, owner, since, due, attempts, done, total, text} each, done -1 before it said how
--         far it is; {} for one that Redis does not have
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, owners = {}, owners_of('taskrunner')
for i = 1, #ARGV do
  out[i] = task_place(ARGV[i], owners) or {}
end
return out
