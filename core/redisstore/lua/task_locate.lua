-- Say where tasks are. Looks through the taskrunners: for people's calls.
-- ARGV    1 key, and perhaps others
-- RETURN  {state, owner, since, due, attempts, done|total|text} each; {} for one that Redis does not have
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, owners = {}, taskrunners()
for i = 1, #ARGV do
  out[i] = task_place(ARGV[i], owners) or {}
end
return out
