package core

import "cmp"

// FirstCell is what people call the first cell, whose name is "" in records: that of clusters without other cells.
const FirstCell = "first"

// CheckCell returns INVALID for what is no name of a cell; "" is the first.
func CheckCell(name string) error {
	switch name {
	case "":
		return nil
	case FirstCell:
		return Errorf(CodeInvalid, name, "no other cell can be named %s: that is the one of the setting redis", FirstCell)
	}
	return CheckName("cell", name)
}

// CellText names a cell for people.
func CellText(name string) string { return "cell " + cmp.Or(name, FirstCell) }
