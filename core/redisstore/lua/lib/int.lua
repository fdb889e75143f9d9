-- A whole number as text. Redis' own conversion writes 17 digits, and each costs as much as a call.
local function int(number)
  return string.format('%d', number)
end
