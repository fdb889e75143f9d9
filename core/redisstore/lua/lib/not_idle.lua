-- Take a host off the idle lists of the pools list[first] to list[last], because one of its owners
-- is not idle any more. Others of it may be: they are woken, and list it again.
local function not_idle(host, list, first, last)
  for i = first, last do
    redis.call('SREM', K.idle(list[i]), host)
    if redis.call('EXISTS', K.clean(host, list[i])) == 1 then
      ring(K.bell(host))
    end
  end
end
