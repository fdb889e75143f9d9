-- The only way out of the queues towards a claim of tasks. Priorities share by weight, the kinds of
-- a priority take turns, and so do the lanes of a kind. A kind that is held back is skipped with
-- all its lanes after a single check; a kind that was checked goes behind the others, so that every
-- one is checked eventually. Returns keys, their kinds, and how long a rate holds back what could
-- have been claimed, µs; nil if none does.
local function pop_task(priority, kind)
  local lanes = K.tasks_lanes(priority, kind)
  for _ = 1, 64 do
    local lane = redis.call('LMOVE', lanes, lanes, 'LEFT', 'RIGHT')
    if not lane then
      return nil, false
    end
    local queue = K.tasks_queue(priority, kind, lane)
    local key = redis.call('LPOP', queue)
    local more = redis.call('EXISTS', queue) == 1
    if not more then
      redis.call('RPOP', lanes)
    end
    if key then
      count('tasks:' .. priority .. ':' .. kind, -1)
      return key, more or redis.call('EXISTS', lanes) == 1
    end
  end
  return nil, true
end
local function take_tasks(priority, want, us, rates, out)
  local kinds = redis.call('LPOP', K.tasks_kinds(priority), 64) or {}
  local known, at, passed = #kinds, 1, 0
  while want > 0 and passed <= #kinds - at do
    local kind = kinds[at]
    at = at + 1
    rates[kind] = rates[kind] or task_rate(kind, us)
    local its = rates[kind]
    local wait, key, more = held_back(its, us), nil, true
    if wait == 0 then
      key, more = pop_task(priority, kind)
    elseif wait > 0 then
      out.wait = math.min(out.wait or wait, wait)
    end
    if more then
      kinds[#kinds + 1] = kind
      passed = passed + 1
    end
    if key then
      out.keys[#out.keys + 1], out.kinds[#out.kinds + 1] = key, kind
      want, passed = want - 1, 0
      its.hand, its.began, its.arrival = its.hand + 1, true, next_arrival(its.arrival, its.every, 1, us)
    end
  end
  for i = known, at, -1 do
    redis.call('LPUSH', K.tasks_kinds(priority), kinds[i])
  end
  for i = math.max(at, known + 1), #kinds do
    redis.call('RPUSH', K.tasks_kinds(priority), kinds[i])
  end
  return want
end
local function dequeue_tasks(want, tickets, clock)
  local out, rates, us = { keys = {}, kinds = {} }, {}, clock * 1000
  by_priority(want, tickets, 1, 1, function(priority, n)
    return take_tasks(priority, n, us, rates, out)
  end)
  for kind, its in pairs(rates) do
    if its.every > 0 and (its.began or its.set_back) then
      redis.call('HSET', K.tasks_arrivals, kind, int(its.arrival))
    end
  end
  return out.keys, out.kinds, out.wait
end
