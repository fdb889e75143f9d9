-- How many requests of each of the submitters run, with the priority of a line.
local function running(pool, line, submitters)
  local priority, fields = string.match(line, '^%a+'), {}
  for i = 1, #submitters do
    fields[i] = 'running:' .. pool .. ':' .. priority .. ':' .. submitters[i]
  end
  local out = redis.call('HMGET', K.counts, unpack(fields))
  for i = 1, #out do
    out[i] = tonumber(out[i] or 0)
  end
  return out
end
