-- Set what the field leases of a pool says of one of its leased pools, in order of their names; nil:
-- nothing any more. Each begins with a word <leased pool>><class>, and its submitters follow.
local function set_route(pool, leased, its)
  local all, names, last = {}, {}, nil
  for _, word in ipairs(words(redis.call('HGET', K.pool(pool), 'leases') or '')) do
    local name = string.match(word, '^(.-)>')
    if name then
      last, names[#names + 1], all[name] = name, name, word
    elseif last then
      all[last] = all[last] .. ' ' .. word
    end
  end
  if not all[leased] then
    names[#names + 1] = leased
  end
  all[leased] = its
  table.sort(names)
  local out = {}
  for _, name in ipairs(names) do
    out[#out + 1] = all[name]
  end
  if #out > 0 then
    redis.call('HSET', K.pool(pool), 'leases', table.concat(out, ' '))
  else
    redis.call('HDEL', K.pool(pool), 'leases')
  end
end
