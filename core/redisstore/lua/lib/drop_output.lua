-- Remove live output and what is noted of it. Answers how many bytes it was counted for.
local function drop_output(id)
  local bytes, who = string.match(redis.call('HGET', K.outputs_sizes, id) or '', '^(%d+)|%d+|(.*)$')
  redis.call('UNLINK', K.output(string.match(id, '^(.-):(.*)$')))
  redis.call('ZREM', K.outputs, id)
  redis.call('HDEL', K.outputs_sizes, id)
  if not bytes then
    return 0
  end
  redis.call('ZREM', K.outputs_of(who), id)
  for _, of in ipairs({ '*', who }) do
    if redis.call('HINCRBY', K.outputs_sums, of, int(-bytes)) == 0 then
      redis.call('HDEL', K.outputs_sums, of)
    end
  end
  return tonumber(bytes)
end
