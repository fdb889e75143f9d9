-- Priority, kind and lane of a task; nil if Redis does not have it. They precede its JSON, in which
-- user input comes first.
local function task_head(key)
  local text = redis.call('HGET', K.tasks, key)
  if text then
    return string.match(text, '^(%S+) (%S+) (%S+) ')
  end
end
