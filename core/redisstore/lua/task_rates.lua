-- Set the rates of all kinds of tasks; kinds not listed have none.
-- ARGV    1 number of kinds, then per kind: its name, every (µs), burst, most
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  changes nothing: the state of a kind that keeps its rate stays
redis.call('DEL', K.tasks_rates)
for i = 1, tonumber(ARGV[1]) do
  local every, burst, most = tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i]), tonumber(ARGV[4 * i + 1])
  redis.call('HSET', K.tasks_rates, ARGV[4 * i - 2], W.task_rate({ every = every, burst = burst, most = most }))
end
drop_arrivals()
-- What was held back may go.
ring(K.tasks_bell)
return 1
