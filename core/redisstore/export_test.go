package redisstore

// What the tests of the scripts themselves look at.
var (
	ScriptNames = scriptNames
	Assemble    = assemble
	ReadLua     = readLua
	Library     = library
	CallsOf     = callsOf
	KeysUsed    = keysUsed
	LuaKey      = luaKey
	Fault       = fault
)
