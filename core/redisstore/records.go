package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// RecordDef describes one kind of record: a text of several parts in a field of a hash or an entry of a list. The
// functions that read and write it, in Lua and in Go, are made from it: its format is defined nowhere else.
type RecordDef struct {
	Name  string // its name in scripts: R.<name>(text) reads a record, or returns nil; W.<name>(parts) writes one
	Parts string // in order; a name that ends in # is a whole number, and the last part may hold any text, or is room
}

// Records returns every kind of record. Times are in ms.
func Records() []RecordDef {
	return []RecordDef{
		{"slot", "what token since# phase limit# room"},
		{"held", "owner room"},
		{"lane", "seq# since# verdicts keys"},
		{"task_lane", "seq# wait# verdicts keys"},
		{"destroy", "call vms"},
		{"hand", "process epoch# only keys"},
		{"failed", "at# by why"},
		{"probation", "from# good# needed# delay# why"},
		{"canary", "key owner"},
		{"move", "state from to scheduled# accepted# why"},
		{"moved", "key state from to scheduled# accepted# ended# why"},
		{"vm", "pool since#"},
		{"promise", "makes# begun# till# since#"},
		{"task_rate", "every# burst# most#"},
		{"progress", "began# done# total# text"},
		{"output", "bytes# pieces# who"},
		{"incarnation", "name since# youth#"},
		{"set_back", "start# seen#"},
		{"overseen", "at# due#"},
		{"gap", "to# ms#"},
		{"planned", "number# at# till#"},
		{"outage", "since# host why"},
		{"holders", "open# class submitters"},
		{"use", "claims# at# rate# rated#"},
	}
}

// room is a last part of spaces. It makes the text longer than 64 bytes, so that the hash that has it is a table for Redis
// from its first field on: up to 512 fields with shorter texts are a list, which each access reads from the start, and
// that was a fifth of the instructions of a job with 100 slots.
var room = strings.Repeat(" ", 50)

// recordParts has the parts of every record by its name.
var recordParts = func() map[string][]string {
	m := make(map[string][]string)
	for _, r := range Records() {
		m[r.Name] = strings.Fields(r.Parts)
	}
	return m
}()

// form returns a record's format as the documents show it.
func form(name string) string {
	return strings.ReplaceAll(strings.Join(recordParts[name], " | "), "#", "")
}

// luaRecord returns the Lua functions that read and write a record.
func luaRecord(name string) string {
	var patterns, locals, fields, writes []string
	for i, part := range recordParts[name] {
		bare, number := strings.CutSuffix(part, "#")
		local := fmt.Sprint("p", i)
		pattern, read, write := `([^|]*)`, local, "its."+bare
		switch {
		case part == "room":
			patterns, writes = append(patterns, " *"), append(writes, "'"+room+"'")
			continue
		case number:
			pattern, read, write = `(%-?%d+)`, "tonumber("+local+")", "string.format('%d',"+write+")"
		case i == len(recordParts[name])-1:
			pattern = `(.*)`
		}
		patterns, locals = append(patterns, pattern), append(locals, local)
		fields, writes = append(fields, bare+"="+read), append(writes, write)
	}
	return fmt.Sprintf("local function R_%s(text) local %s=string.match(text or '','^%s$') if p0 then return {%s} end end"+
		" local function W_%s(its) return %s end", name, strings.Join(locals, ","), strings.Join(patterns, "|"),
		strings.Join(fields, ","), name, strings.Join(writes, "..'|'.."))
}

// readRecord returns the parts of a text that scripts wrote, by name; nil if the text is no such record.
func readRecord(name, text string) map[string]string {
	parts := readParts(name, text)
	if parts == nil {
		return nil
	}
	its := make(map[string]string, len(parts))
	for i, part := range recordParts[name] {
		its[strings.TrimSuffix(part, "#")] = parts[i]
	}
	return its
}

// readParts is readRecord for what is read by the hundred thousand: it returns the parts in the order of the table, see
// partAt.
func readParts(name, text string) []string {
	names := recordParts[name]
	parts := strings.SplitN(text, "|", len(names))
	if len(parts) < len(names) {
		return nil
	}
	for i, part := range names {
		if strings.HasSuffix(part, "#") {
			if _, err := strconv.ParseInt(parts[i], 10, 64); err != nil {
				return nil
			}
		}
	}
	return parts
}

// partAt returns the place of a part in a record.
func partAt(name, part string) int {
	return slices.IndexFunc(recordParts[name], func(p string) bool { return strings.TrimSuffix(p, "#") == part })
}
