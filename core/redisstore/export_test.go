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

// Born is when the life of the server began that the store is connected to, ms.
func (s *Store) Born() int64 { return s.born() }
