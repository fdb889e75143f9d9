-- The scripts run inside Redis: Lua 5.1 and what Redis adds. A script's keys (P, K),
-- records (R reads, W writes) and shared functions (lua/lib, one a file) are put in front of it by
-- core/redisstore/script.go, so each file sees the others' names.
std = "lua51"
max_line_length = 120
read_globals = { "redis", "KEYS", "ARGV", "K", "P", "R", "W" }

local here = "core/redisstore/lua"
files[here] = { read_globals = {} }
for path in io.popen("ls " .. here .. "/lib"):lines() do
  table.insert(files[here].read_globals, (path:gsub("%.lua$", "")))
end
files[here .. "/lib"] = { ignore = { "211" } } -- a function that this file alone does not use
