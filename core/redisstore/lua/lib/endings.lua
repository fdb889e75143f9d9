-- The n endings of claims in ARGV from first on, in runs of one token and outcome: token, outcome,
-- count, key, key, ... A batch has few runs, and each argument costs time.
local function endings(first, n)
  local keys, tokens, outcomes = {}, {}, {}
  local at, i = first, 0
  while i < n do
    local token, outcome = ARGV[at], ARGV[at + 1]
    for j = 1, tonumber(ARGV[at + 2]) do
      i = i + 1
      keys[i], tokens[i], outcomes[i] = ARGV[at + 2 + j], token, outcome
    end
    at = at + 3 + tonumber(ARGV[at + 2])
  end
  return { keys = keys, tokens = tokens, outcomes = outcomes }
end
