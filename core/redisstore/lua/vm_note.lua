-- Record the state of a host's pools, providers and images, in place of the former record. The outage
-- of a pool that is not broken there any more ends.
-- ARGV    1 owner, 2 epoch, 3 host, 4 the broken pools with their reasons, 5 the providers, 6 the
--         pools whose images are fetched, 7 the pools that it serves, all as JSON, 8 most VMs, 9 ms that VMs
--         took to make, by pool, as JSON; empty for none
-- RETURN  1
-- REFUSE  FENCED
-- MOVES   -
-- REPEAT  records it again
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local since, words, clock = {}, {}, now()
for pool, ms in string.gmatch(redis.call('HGET', K.host(host), 'broken_since') or '', '([a-z0-9-]+):(%d+)') do
  since[pool] = ms
end
for pool in string.gmatch(ARGV[4], '"([a-z0-9-]+)":"') do
  words[#words + 1] = pool .. ':' .. (since[pool] or int(clock))
end
pass_when_full()
local function note(field, text)
  if text == '' then
    redis.call('HDEL', K.host(host), field)
  else
    redis.call('HSET', K.host(host), field, text)
  end
end
-- In JSON, quotes within the reasons are escaped.
for pool in string.gmatch(redis.call('HGET', K.host(host), 'broken') or '', '"([a-z0-9-]+)":"') do
  if not string.find(ARGV[4], '"' .. pool .. '":"', 1, true) then
    end_outage(pool)
  end
end
note('broken', ARGV[4])
note('broken_since', table.concat(words, ' '))
note('providers', ARGV[5])
note('fetching', ARGV[6])
note('serves', ARGV[7])
note('max_vms', ARGV[8])
note('takes', ARGV[9])
return 1
