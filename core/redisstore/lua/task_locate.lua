-- Return where tasks are.
-- ARGV    1 key, and perhaps others
-- RETURN  {state, owner, since, due, attempts, done, total, text} each, done -1 before it said how
--         far it is; {} for one that Redis does not have
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out = {}
for i = 1, #ARGV do
  out[i] = task_place(ARGV[i]) or {}
end
return out
