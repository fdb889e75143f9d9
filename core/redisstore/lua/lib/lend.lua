-- Take up to want preemptible requests of a pool for idle VMs of one of its leased pools, and record
-- to which claim they are lent. A request that met a death while it waited is moved to those that run
-- apart.
local function lend(leased, pool, want, owner, token, out)
  local set, keys, mine = redis.call('HMGET', K.pool(pool), 'paused', 'running'), {}, {}
  if set[1] == '1' then
    return
  end
  local most = tonumber(set[2] or 0)
  share(pool, 'preemptible', want, 0, most, {}, false, keys)
  local apart = marked(keys)
  for i = 1, #keys do
    if apart[i] then
      redis.call('RPUSH', K.apart(pool), keys[i])
      count(pool .. ':preemptible', 1)
    else
      mine[#mine + 1], out[#out + 1] = keys[i], keys[i]
      redis.call('HSET', K.lent, keys[i], W.lent({ pool = leased, owner = owner, token = token }))
    end
  end
  if most > 0 then
    note_running(pool, mine)
  end
end
