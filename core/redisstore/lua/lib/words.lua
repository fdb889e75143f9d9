-- The words of a text.
local function words(text)
  local out = {}
  for word in string.gmatch(text, '%S+') do
    out[#out + 1] = word
  end
  return out
end
