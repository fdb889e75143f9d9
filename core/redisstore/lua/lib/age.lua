-- How long ago a recorded time at was, ms, when the caller decides against somebody by it. The
-- clock may have been set since: the age of a time in the future counts from when the setting was
-- noticed, and the end of a silence of all owners restarts every age. Neither makes an age greater
-- than it is.
local function age(at, clock, meta)
  local silent, back = tonumber(meta[1] or 0), tonumber(meta[2] or clock)
  if at > clock then
    at = math.min(back, clock)
  end
  if silent <= clock then
    at = math.max(at, silent)
  end
  return clock - at
end
