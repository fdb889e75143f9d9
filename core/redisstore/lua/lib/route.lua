-- The pool in which a request of a pool waits: that of a lease, if its submitter, or the class of the
-- submission that it grades, holds an open one, else the pool itself. Also returns the pool's own
-- limit of waiting requests per submitter and priority, 0 if it is not there.
local function route(pool, submitter, class)
  local its = redis.call('HMGET', K.pool(pool), 'max_waiting', 'submitter:' .. submitter, 'class:' .. class)
  local one, other = string.match(its[2] or '', '^%S+'), string.match(its[3] or '', '^%S+')
  return one and other and (one < other and one or other) or one or other or pool, tonumber(its[1] or 0)
end
