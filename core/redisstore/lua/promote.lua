-- Let retries go whose pause is over, and delayed tasks that are due, at most 64 of each.
-- ARGV    -
-- RETURN  how many went
-- REFUSE  -
-- MOVES   task delayed→queued; evacuation →scheduled
-- REPEAT  lets those go that are due by then
local clock = now()
local due = promote(clock)
for _, key in ipairs(promote_tasks(clock)) do
  due[#due + 1] = key
end
if #due > 0 then
  event('promote', '-', table.concat(due, ' '))
end
return #due
