-- Finish tasks, prove the owner's life, and claim tasks that are due.
-- ARGV    1 owner, 2 host, 3 epoch, 4 lane, 5 seq, 6 token number, 7 want,
--         8 ms until the next proof of life, 9 number of finishes, then the finishes in
--         runs: token, outcome, count, id, ...
-- RETURN  {verdicts, {id, token, attempts, task, ...}}
-- REFUSE  FENCED STALE
-- MOVES   -
-- REPEAT  the same lane and seq answer the same and act once
local owner, host, epoch = ARGV[1], ARGV[2], ARGV[3]
local lane, seq, want = 'lane' .. ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[7])
local me, slots, token = K.owner(owner), K.slots(owner), epoch .. '.' .. ARGV[6]
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
pass_when_full()
if seq == last then
  verdicts = last_verdicts
  for id in string.gmatch(last_claims, '%S+') do
    claimed[#claimed + 1] = id
  end
else
  local moved = ''
  if tonumber(ARGV[9]) > 0 then
    verdicts, moved = settle(owner, host, endings(10, tonumber(ARGV[9])), clock, {})
  end
  local due = redis.call('ZRANGEBYSCORE', K.tasks_later, 0, clock, 'LIMIT', 0, 64)
  if #due > 0 then
    redis.call('ZREM', K.tasks_later, unpack(due))
    redis.call('RPUSH', K.tasks_queue, unpack(due))
  end
  if want > 0 and redis.call('HGET', K.host(host), 'drain') ~= '1' then
    claimed = redis.call('LPOP', K.tasks_queue, want) or {}
    local fields = {}
    for i, id in ipairs(claimed) do
      fields[2 * i - 1] = id
      fields[2 * i] = '|' .. token .. '|' .. clock .. '|task'
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
  end
  redis.call('HSET', me, lane, ARGV[5] .. '|' .. verdicts .. '|' .. table.concat(claimed, ' '))
end
redis.call('ZADD', K.owners, 'XX', clock + tonumber(ARGV[8]), owner)
redis.call('ZADD', K.hosts, 'XX', 'GT', clock + tonumber(ARGV[8]), host)
local claims = {}
for _, id in ipairs(claimed) do
  local slot, task = redis.call('HGET', slots, id), redis.call('HGET', K.tasks, id)
  -- A slot that was emptied meanwhile, or claimed anew, is not this call's.
  if slot and task and string.find(slot, '|' .. token .. '|', 1, true) then
    local n = #claims
    claims[n + 1], claims[n + 2], claims[n + 4] = id, token, task
    claims[n + 3] = redis.call('HGET', K.attempts, id) or '0'
  end
end
return { verdicts, claims }
