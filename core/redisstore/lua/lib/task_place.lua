-- Where a task is, as {state, owner, since when in the slot, when it is due, attempts, done, total
-- and text of its progress}, done -1 if it has none; nil if Redis does not have it. For
-- calls on behalf of people.
local function task_place(key)
  local priority, kind, lane = task_head(key)
  if not priority then
    return nil
  end
  local its = R.progress(redis.call('HGET', K.tasks_progress, key))
  local function is(state, owner, since, due)
    local tries = redis.call('HGET', K.attempts, key) or '0'
    return { state, owner, since, due, tries, its and its.done or -1, its and its.total or 0, its and its.text or '' }
  end
  local owner, text = holder(key)
  local slot = R.slot(text)
  if slot then
    local state = redis.call('HEXISTS', K.cancels, key) == 1 and 'cancelling' or 'running'
    return is(state, owner, its and its.began or slot.since, '0')
  end
  local due = redis.call('ZSCORE', K.tasks_later, key)
  if due then
    return is('delayed', '', '0', int(tonumber(due)))
  end
  if redis.call('LPOS', K.tasks_queue(priority, kind, lane), key) then
    return is('queued', '', '0', '0')
  end
  return nil
end
