-- Count n more, or fewer, of what is asked for often: the counts that a consistency check holds against what is there.
local function count(what, n)
  if n ~= 0 then
    redis.call('HINCRBY', K.counts, what, int(n))
  end
end
