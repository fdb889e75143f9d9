package config

import (
	"net/url"
	"slices"
	"strings"

	"drover/core"
)

// CellAt says where a cell is.
type CellAt struct {
	Name      string // "" is the first
	Redis     URL
	Namespace string
}

// AllCells lists the cells, the first one first: that of the settings redis and namespace.
func (c *Config) AllCells() []CellAt {
	return append([]CellAt{{Redis: c.Redis, Namespace: c.Namespace}}, c.others...)
}

// OwnCell returns the cell of this process.
func (c *Config) OwnCell() CellAt {
	all := c.AllCells()
	at := slices.IndexFunc(all, func(cell CellAt) bool { return cell.Name == c.Cell })
	return all[max(at, 0)]
}

// CellNames lists the cells beside the first.
func (c *Config) CellNames() []string {
	names := make([]string, len(c.others))
	for i, cell := range c.others {
		names[i] = cell.Name
	}
	return names
}

// readCells reads the setting cells: each is NAME=URL or NAME=URL#NAMESPACE. Its errors quote no URL, which may hold a
// password.
func (c *Config) readCells() error {
	if c.Cell == core.FirstCell {
		c.Cell = ""
	}
	c.others = nil
	for _, text := range c.Cells {
		if text == "" {
			continue
		}
		name, where, _ := strings.Cut(text, "=")
		if err := core.CheckCell(name); err != nil || name == "" {
			return c.problem("cells", "each cell is NAME=URL or NAME=URL#NAMESPACE, and its name 1 to %d of a-z, 0-9 and inner hyphens, not %s", core.MaxNameLen, core.FirstCell)
		}
		parsed, err := url.Parse(where)
		if err != nil || parsed.Scheme == "" {
			return c.problem("cells", "cell %s has no URL of a Redis: write %s=redis://HOST:PORT", name, name)
		}
		if _, has := parsed.User.Password(); has {
			return c.problem("cells", "the URL of cell %s has a password: write it into redis_password_file, which holds that of all cells", name)
		}
		cell := CellAt{Name: name, Namespace: parsed.Fragment}
		parsed.Fragment, parsed.RawFragment = "", ""
		cell.Redis = URL(parsed.String())
		if cell.Namespace == "" {
			cell.Namespace = strings.Trim(c.Namespace, "{}") + "-" + name
			if strings.HasSuffix(parsed.Scheme, "+cluster") {
				cell.Namespace = "{" + cell.Namespace + "}"
			}
		}
		c.others = append(c.others, cell)
	}
	return nil
}

// checkCells checks that the cells are different ones, and where they are.
func (c *Config) checkCells() error {
	all := c.AllCells()
	for i, cell := range all[1:] {
		for _, other := range all[:i+1] {
			switch {
			case other.Name == cell.Name:
				return c.problem("cells", "cell %s is named twice", cell.Name)
			case other.Redis == cell.Redis && other.Namespace == cell.Namespace:
				return c.problem("cells", "%s and %s have the same namespace %s of one Redis: give each its own, %s=URL#NAMESPACE",
					core.CellText(other.Name), core.CellText(cell.Name), cell.Namespace, cell.Name)
			}
		}
		if err := core.CheckName("namespace", strings.TrimSuffix(strings.TrimPrefix(cell.Namespace, "{"), "}")); err != nil {
			return c.problem("cells", "cell %s: %w", cell.Name, err)
		}
		if err := c.checkRedisAt("cells", "cells", cell.Redis, cell.Namespace); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(all, func(cell CellAt) bool { return cell.Name == c.Cell }) {
		return c.problem("cell", "there is no cell %.80q: the setting cells names %s", c.Cell, strings.Join(append([]string{core.FirstCell}, c.CellNames()...), ", "))
	}
	return nil
}
