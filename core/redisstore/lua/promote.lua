-- Requeue retries whose pause is over, and queue delayed tasks that are due, at most 64 of each.
-- ARGV    -
-- RETURN  how many were queued
-- REFUSE  -
-- MOVES   task delayed→queued; evacuation →scheduled
-- REPEAT  queues those that are due by then
local clock = now()
local due = promote(clock)
for _, key in ipairs(promote_tasks(clock)) do
  due[#due + 1] = key
end
if #due > 0 then
  event('promote', '-', table.concat(due, ' '))
end
return #due
