-- A slot but for what it holds, which stands before: token, since, phase, and a limit of its own,
-- ms, if it has one. held reads slots.
local function slot_tail(token, since, phase, limit)
  return '|' .. token .. '|' .. since .. '|' .. phase .. (limit and limit ~= '0' and '|' .. limit or '')
end
