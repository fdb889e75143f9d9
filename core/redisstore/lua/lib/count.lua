-- Count n more, or fewer, of what is asked for often: the counts that an audit holds against what is there.
local function count(what, n)
  if n ~= 0 then
    redis.call('HINCRBY', K.counts, what, int(n))
  end
end
