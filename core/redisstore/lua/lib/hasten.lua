-- Move waiting requests that have become due within the hour to the line of those, some at a time;
-- what has been claimed or has ended meanwhile is only forgotten.
local function hasten(clock)
  local near, moved = redis.call('ZRANGEBYSCORE', K.due, 0, clock, 'LIMIT', 0, 256), 0
  if #near == 0 then
    return
  end
  for i, spec in ipairs(redis.call('HMGET', K.specs, unpack(near))) do
    if moved == 16 then
      break
    end
    redis.call('ZREM', K.due, near[i])
    if spec then
      local pool, priority, submitter, due = spec_head(near[i])
      local line = line_of(priority, due, clock)
      if line ~= priority and unqueue(near[i], pool, priority, submitter) then
        enqueue(pool, line, submitter, { near[i] }, false)
        moved = moved + 1
      end
    end
  end
end
