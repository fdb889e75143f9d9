-- The fields of an event that say in which state VMs are since then: "=state vm vm =state vm".
local function vms_now(dirty, claimed)
  local parts = {}
  if #dirty > 0 then
    parts[1] = '=dirty ' .. table.concat(dirty, ' ')
  end
  if #claimed > 0 then
    parts[#parts + 1] = '=claimed ' .. table.concat(claimed, ' ')
  end
  if #parts > 0 then
    return 'vms', table.concat(parts, ' ')
  end
end
