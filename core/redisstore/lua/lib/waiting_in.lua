-- How many requests of each priority wait for a pool, in any place, and how many in all.
local function waiting_in(pool)
  local fields, all = {}, 0
  for i, priority in ipairs(priorities()) do
    fields[i] = pool .. ':' .. priority
  end
  local out = redis.call('HMGET', K.counts, unpack(fields))
  for i = 1, #out do
    out[i] = tonumber(out[i] or 0)
    all = all + out[i]
  end
  return out, all, fields
end
