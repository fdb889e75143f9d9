-- Move a waiting request to the back of its submitter's queue of another pool or priority. A pause
-- after a fault goes on, and so does running apart; what was to be on one host is no more. was: its
-- pool, priority, submitter and due time so far. Returns false if it does not wait.
local function relocate(key, was, pool, priority, clock, why)
  local function joins()
    enqueue(pool, line_of(priority, was.due, clock), was.submitter, { key }, false)
  end
  if unqueue(key, was.pool, was.priority, was.submitter, was.due) then
    joins()
  elseif pool ~= was.pool and not redis.call('ZSCORE', K.later, key) then
    if redis.call('LREM', K.apart(was.pool), 1, key) == 1 then
      redis.call('RPUSH', K.apart(pool), key)
    else
      local record = redis.call('HGET', K.evacuations, key)
      local its = R.move(record) or {}
      local list = its.state == 'parked' and K.parked(was.pool)
        or its.state == 'scheduled' and K.assigned(its.to, was.pool)
      if not list or redis.call('LREM', list, 1, key) == 0 then
        return false
      end
      evacuated(key, record, 'failed', clock, why)
      joins()
    end
  end
  count(was.pool .. ':' .. was.priority, -1)
  count(pool .. ':' .. priority, 1)
  return true
end
