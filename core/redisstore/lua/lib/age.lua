-- How long ago something was that is noted as at, ms, for who may lose by it. The clock may have
-- been set since: what is still to come is as old as that is known, and a silence of everybody
-- begins all anew. Neither makes anything older than it is.
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
