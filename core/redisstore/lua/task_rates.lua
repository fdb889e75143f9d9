-- Set the rates of all kinds of task; those not named have none.
-- ARGV    1 number of kinds, then per kind: its name, every (µs)|burst|most
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  changes nothing: what is known of the rhythm of a kind that keeps a rate stays
redis.call('DEL', K.tasks_rates)
for i = 1, tonumber(ARGV[1]) do
  redis.call('HSET', K.tasks_rates, ARGV[2 * i], ARGV[2 * i + 1])
end
for _, kind in ipairs(redis.call('HKEYS', K.tasks_arrivals)) do
  if task_rate(kind, 0).every == 0 then
    redis.call('HDEL', K.tasks_arrivals, kind)
  end
end
-- What was held back may go.
ring(K.tasks_bell)
return 1
