-- Where a task is, as {state, owner, since when in the slot, when it is due, attempts, its
-- progress}; nil if Redis does not have it. For people's calls.
local function task_place(key, owners)
  local priority, kind, lane = task_head(key)
  if not priority then
    return nil
  end
  local tries = redis.call('HGET', K.attempts, key) or '0'
  local began, progress = string.match(redis.call('HGET', K.tasks_progress, key) or '', '^(%d+)|(.*)$')
  for _, owner in ipairs(owners) do
    local slot = redis.call('HGET', K.slots(owner), key)
    if slot then
      local _, _, since = held(slot)
      local state = redis.call('HEXISTS', K.cancels, key) == 1 and 'cancelling' or 'running'
      return { state, owner, began or since, '0', tries, progress or '' }
    end
  end
  local due = redis.call('ZSCORE', K.tasks_later, key)
  if due then
    return { 'delayed', '', '0', int(tonumber(due)), tries, progress or '' }
  end
  if redis.call('LPOS', K.tasks_queue(priority, kind, lane), key) then
    return { 'queued', '', '0', '0', tries, progress or '' }
  end
  return nil
end
