-- The pool that a leased pool is of; any other one is its own.
local function base_of(pool)
  return redis.call('HGET', K.pool(pool), 'of') or pool
end
