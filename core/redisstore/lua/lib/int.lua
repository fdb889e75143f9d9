-- A whole number as text. Left to Redis, which writes 17 digits, each costs as much as a call.
local function int(number)
  return string.format('%d', number)
end
