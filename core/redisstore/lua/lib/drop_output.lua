-- Remove live output and its records. Returns the number of bytes it was counted for.
local function drop_output(id)
  local its = R.output(redis.call('HGET', K.outputs_sizes, id))
  redis.call('UNLINK', output_of(id))
  redis.call('ZREM', K.outputs, id)
  redis.call('HDEL', K.outputs_sizes, id)
  if not its then
    return 0
  end
  redis.call('ZREM', K.outputs_of(its.who), id)
  for _, of in ipairs({ '*', its.who }) do
    if redis.call('HINCRBY', K.outputs_sums, of, int(-its.bytes)) == 0 then
      redis.call('HDEL', K.outputs_sums, of)
    end
  end
  return its.bytes
end
