-- The only place that ends claims, for every caller: the owner itself, its next epoch, or the
-- overseer. The answer has '1' or '0' per ending (0: the slot is not that token's, nothing moved),
-- the moves, and the VMs that are dirty since, for the event. The outcome of a task's retry or
-- later may contain its delay in ms, as in retry5000; that of a request's retry or release its
-- destination, as in retry>h2. how.late: the host may have been lost since the claim, and VMs that
-- it does not have any more are not listed; how.lost: the owner was lost as well; how.why: for the
-- records; how.probation and how.canary: the host's.
local function settle(owner, host, ends, clock, how)
  local slots, role = K.slots(owner), role_of(owner)
  local canary, tried_end = R.canary(how.canary), nil
  how.tried = canary and canary.owner == owner and canary.key or nil
  local keys = ends.keys
  local found = redis.call('HMGET', slots, unpack(keys))
  local verdict, seen = {}, {}
  local gone, dirty, n = {}, {}, 0
  local done, ndone = {}, 0
  local other, dead = {}, {}
  for i = 1, #keys do
    local key, outcome = keys[i], ends.outcomes[i]
    local its = not seen[key] and holds(found[i], ends.tokens[i])
    if not its then
      verdict[i] = '0'
    else
      verdict[i], seen[key] = '1', true
      if key == how.tried then
        tried_end = outcome
      end
      n = n + 1
      gone[n] = key
      dirty[n] = role == 'vmfactory' and key or its
      if role ~= 'vmfactory' and (outcome == 'done' or outcome == 'dead') then
        ndone = ndone + 1
        done[ndone] = key
        if outcome == 'dead' then
          dead[#dead + 1], dead[#dead + 2] = clock, key
        end
      else
        other[#other + 1] = { key, outcome, dirty[n] }
      end
    end
  end
  if n == 0 then
    return table.concat(verdict), '', {}
  end
  local apart = false
  for _, is in ipairs(role == 'testrunner' and marked(gone) or {}) do
    apart = apart or is
  end
  redis.call('HDEL', slots, unpack(gone))
  if role ~= 'vmfactory' then
    redis.call('HDEL', K.held, unpack(gone))
  end
  if ndone > 0 then
    if role == 'taskrunner' then
      redis.call('HDEL', K.tasks, unpack(done))
    else
      drop_specs(done)
    end
    forget(done, 'finished', clock)
    add_tombstones(done)
  end
  if #dead > 0 and role ~= 'taskrunner' then
    redis.call('ZADD', K.dead, unpack(dead))
  end
  if role == 'taskrunner' then
    let_go(gone, dirty, other)
    if how.late then
      -- Who ends its own claims looks for others itself.
      ring(K.tasks_bell)
    end
    again_tasks(other, clock, how)
  else
    if role ~= 'vmfactory' then
      note_rest(gone, clock)
      again_requests(other, clock, host, how)
      if apart then
        apart_next(host, clock)
      end
    end
    if how.late then
      local known, its = {}, redis.call('HMGET', K.vms(host), unpack(dirty))
      for i = 1, #dirty do
        if its[i] then
          known[#known + 1] = dirty[i]
        end
      end
      dirty = known
    end
    if #dirty > 0 then
      redis.call('RPUSH', K.dirty(host), unpack(dirty))
      ring(K.factory_bell(host))
    end
  end
  if tried_end then
    judge_canary(host, how.probation, tried_end, clock)
  end
  local moved = { table.concat(done, ' ') }
  for i = 1, #other do
    moved[#moved + 1] = other[i][1] .. '=' .. other[i][2]
  end
  return table.concat(verdict), table.concat(moved, ' '), role ~= 'taskrunner' and dirty or {}
end
