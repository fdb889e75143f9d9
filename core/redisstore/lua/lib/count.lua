-- Add n to a count, or subtract it. The consistency check compares the counts with the records.
local function count(what, n)
  if n ~= 0 then
    redis.call('HINCRBY', K.counts, what, int(n))
  end
end
