-- Put accepted requests into their queues, each behind its submitter's others; or only ask whether they could be.
-- Those of a lease's holders go to the lease's pool.
-- ARGV    1 most requests in all, 2 most bytes of specs, 3 whether it only asks (1 or 0), 4 number of requests,
--         then per request: key, pool, priority, submitter, when it is due, ms; 0: at no time, class of the
--         submission that it grades; empty: none, spec
-- RETURN  per request: ok, have (Redis has it), ended, nopool, full-total, full-bytes, full-submitter
-- REFUSE  -
-- MOVES   request →queued
-- REPEAT  the second run returns have
local most, most_bytes, asks, n = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])
local keys = {}
for i = 0, n - 1 do
  keys[i + 1] = ARGV[5 + 7 * i]
end
local have = redis.call('HMGET', K.specs, unpack(keys))
local ended = has_tombstone(keys)
local total, before = redis.call('HLEN', K.specs), tonumber(redis.call('HGET', K.counts, 'bytes') or 0)
local bytes = before
local verdict, groups, order, limits, seen, sums, near = {}, {}, {}, {}, {}, {}, {}
local ways, clock = {}, now()
local function limit(pool)
  limits[pool] = limits[pool] or tonumber(redis.call('HGET', K.pool(pool), 'max_waiting') or 0)
  return limits[pool]
end
local function way(pool, submitter, class)
  local name = pool .. ' ' .. submitter .. ' ' .. class
  if not ways[name] then
    ways[name], limits[pool] = route(pool, submitter, class)
  end
  return ways[name]
end
for i = 0, n - 1 do
  local at = 5 + 7 * i
  local key, pool, priority, submitter, spec = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 6]
  local goes = way(pool, submitter, ARGV[at + 5])
  if goes ~= pool and limits[pool] > 0 and limit(goes) > 0 then
    pool, spec = goes, in_pool(spec, goes)
  end
  local due, line = ARGV[at + 4], priority
  local sum = pool .. ':' .. priority .. ':' .. submitter
  local name = sum
  if due ~= '0' then
    due = tonumber(due)
    line = line_of(priority, due, clock)
    name = pool .. ':' .. line .. ':' .. submitter
  end
  local group = groups[name]
  if have[i + 1] or seen[key] then
    verdict[i + 1] = 'have'
  elseif ended[i + 1] == 1 then
    verdict[i + 1] = 'ended'
  elseif limits[pool] == 0 then
    verdict[i + 1] = 'nopool'
  elseif bytes + weight(key, #spec) > most_bytes then
    verdict[i + 1] = 'full-bytes'
  elseif total >= most then
    verdict[i + 1] = 'full-total'
  else
    group = group or { pool, line, submitter, {}, {}, priority }
    sums[sum] = sums[sum] or waiting_of(pool, priority, submitter)
    if sums[sum] >= limits[pool] then
      verdict[i + 1] = 'full-submitter'
    else
      if #group[4] == 0 then
        groups[name], order[#order + 1] = group, group
      end
      group[4][#group[4] + 1] = key
      group[5][#group[5] + 1] = key
      group[5][#group[5] + 1] = spec
      sums[sum], total, seen[key] = sums[sum] + 1, total + 1, true
      bytes = bytes + weight(key, #spec)
      if due ~= '0' and line == priority and due > clock then
        near[#near + 1] = int(due - 3600000)
        near[#near + 1] = key
      end
      verdict[i + 1] = 'ok'
    end
  end
end
if asks then
  -- A write that changes nothing: a Redis that is full refuses it, as it would refuse the rest.
  redis.call('HINCRBY', K.counts, 'bytes', 0)
end
if asks or #order == 0 then
  return verdict
end
local added, pools = {}, {}
for i = 1, #order do
  local group = order[i]
  redis.call('HSET', K.specs, unpack(group[5]))
  enqueue(group[1], group[2], group[3], group[4], false)
  count(group[1] .. ':' .. group[6], #group[4])
  pools[group[1]] = (pools[group[1]] or 0) + #group[4]
  added[i] = table.concat(group[4], ' ')
end
if #near > 0 then
  redis.call('ZADD', K.due, unpack(near))
end
count('bytes', bytes - before)
for pool, count in pairs(pools) do
  wake(pool, count, clock)
end
event('enqueue', '-', table.concat(added, ' '))
return verdict
