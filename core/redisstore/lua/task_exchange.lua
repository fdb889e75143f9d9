-- Finish tasks, prove the owner's life, and claim tasks that are due.
-- ARGV    1 owner, 2 host, 3 epoch, 4 lane, 5 seq, 6 token number, 7 want,
--         8 ms until the next proof of life, 9 number of finishes, then per finish: id, token, outcome
-- RETURN  {verdicts, {id, token, attempts, task, ...}}
-- REFUSE  FENCED STALE
-- MOVES   -
-- REPEAT  the same lane and seq answer the same and act once
local owner, host, epoch = ARGV[1], ARGV[2], ARGV[3]
local lane, seq, want = 'lane' .. ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[7])
local me, slots = K.owner(owner), K.slots(owner)
local mine = redis.call('HMGET', me, 'epoch', lane)
if mine[1] ~= epoch then
  return fail('FENCED', owner)
end
local clock, verdicts, claimed = now(), '', {}
local last, last_verdicts, last_claims = string.match(mine[2] or '0||', '^(%d+)|(.-)|(.*)$')
last = tonumber(last)
if seq < last then
  return fail('STALE', owner)
end
if seq == last then
  verdicts = last_verdicts
  for id in string.gmatch(last_claims, '%S+') do
    claimed[#claimed + 1] = id
  end
else
  -- A first write that frees memory lets the others pass when Redis is full.
  redis.call('HDEL', me, 'full')
  local moved = ''
  if tonumber(ARGV[9]) > 0 then
    local items = {}
    for i = 1, 3 * tonumber(ARGV[9]) do
      items[i] = ARGV[9 + i]
    end
    verdicts, moved = settle(owner, host, items, clock)
  end
  local due = redis.call('ZRANGEBYSCORE', K.tasks_later, 0, clock, 'LIMIT', 0, 64)
  if #due > 0 then
    redis.call('ZREM', K.tasks_later, unpack(due))
    redis.call('RPUSH', K.tasks_queue, unpack(due))
  end
  if want > 0 then
    claimed = redis.call('LPOP', K.tasks_queue, want) or {}
    local fields = {}
    for i, id in ipairs(claimed) do
      fields[2 * i - 1] = id
      fields[2 * i] = '|' .. epoch .. '.' .. ARGV[6] .. '|' .. clock .. '|task'
    end
    if #fields > 0 then
      redis.call('HSET', slots, unpack(fields))
    end
    if redis.call('EXISTS', K.tasks_queue) == 1 then
      ring(K.tasks_bell)
    end
  end
  if #claimed > 0 or moved ~= '' then
    event('tasks', owner, moved .. ' ' .. table.concat(claimed, ' '))
    redis.call('HSET', me, lane, ARGV[5] .. '|' .. verdicts .. '|' .. table.concat(claimed, ' '))
  end
end
redis.call('ZADD', K.owners, 'XX', clock + tonumber(ARGV[8]), owner)
redis.call('ZADD', K.hosts, 'XX', 'GT', clock + tonumber(ARGV[8]), host)
local claims = {}
for _, id in ipairs(claimed) do
  local slot, task = redis.call('HGET', slots, id), redis.call('HGET', K.tasks, id)
  if slot and task then
    local _, token = held(slot)
    local n = #claims
    claims[n + 1], claims[n + 2], claims[n + 4] = id, token, task
    claims[n + 3] = redis.call('HGET', K.attempts, id) or '0'
  end
end
return { verdicts, claims }
