-- Requeue retries whose pause is over, and queue delayed tasks that are due, some dozens at a time. Requests that
-- have become due within the hour get their turns sooner.
-- ARGV    -
-- RETURN  how many were queued
-- REFUSE  -
-- MOVES   task delayed→queued; evacuation →scheduled
-- REPEAT  queues those that are due by then
local clock = now()
local due, tasks = promote(clock), promote_tasks(clock)
hasten(clock)
if #due > 0 then
  event('promote', '-', table.concat(due, ' '))
end
if #tasks > 0 then
  event('wake', '-', table.concat(tasks, ' '))
end
return #due + #tasks
