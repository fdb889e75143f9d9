-- Queue a delayed task at once.
-- ARGV    1 key
-- RETURN  1, or 0 if it is not delayed
-- REFUSE  -
-- MOVES   task delayed→queued
-- REPEAT  if it is not delayed any more, returns 0
if unpause_task(ARGV[1]) == 0 then
  return 0
end
enqueue_task(ARGV[1], false)
event('wake', '-', ARGV[1])
return 1
